//! Linear and embedding layers.

use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig, LinearLayout};

use super::fields;
use crate::{InitPlan, ResetParameters};

fields! {
    Linear { weight, bias }
    Embedding { weight }
}

impl ResetParameters for Linear {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        // Finding the layout takes time, and most hooks run where nothing is to be declared.
        if !plan.wants_layers() {
            return;
        }
        let layout = layout(self);
        let [d_input, d_output] = features(self);
        let config = LinearConfig::new(d_input, d_output)
            .with_bias(self.bias.is_some())
            .with_layout(layout);
        plan.layer(config.initializer.clone(), |device, initializer| {
            config.with_initializer(initializer).init(device)
        });
    }
}

/// `[d_input, d_output]`.
pub(super) fn features(linear: &Linear) -> [usize; 2] {
    let shape = linear.weight.lazy_shape().dims();
    match layout(linear) {
        // A lazy parameter says the shape before its transposition.
        LinearLayout::Col if !linear.weight.is_initialized() => [shape[1], shape[0]],
        _ => shape,
    }
}

/// How the weight is held. Only a column layout gives the weight a load mapper; the mapper is
/// private, and the parameter's `Debug` says whether there is one.
fn layout(linear: &Linear) -> LinearLayout {
    if format!("{:?}", linear.weight).contains("load: true") {
        LinearLayout::Col
    } else {
        LinearLayout::Row
    }
}

impl ResetParameters for Embedding {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let [n_embedding, d_model] = self.weight.lazy_shape().dims();
        let config = EmbeddingConfig::new(n_embedding, d_model);
        plan.layer(config.initializer.clone(), |device, initializer| {
            config.with_initializer(initializer).init(device)
        });
    }
}
