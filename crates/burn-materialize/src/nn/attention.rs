//! Attention.

use std::collections::BTreeMap;

use burn::nn::LinearConfig;
use burn::nn::attention::{
    CrossAttention, CrossAttentionConfig, MultiHeadAttention, MultiHeadAttentionConfig,
};
use burn::tensor::Shape;

use super::fields;
use crate::{InitPlan, Materialize, Pass, ResetParameters, Site, Slot, Traversal, traverse};

fields!(MultiHeadAttention {
    query,
    key,
    value,
    output,
    dropout
});

impl ResetParameters for MultiHeadAttention {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let config = MultiHeadAttentionConfig::new(self.d_model, self.n_heads);
        plan.inheriting(config.initializer, |plan| {
            plan.child("query", &self.query);
            plan.child("key", &self.key);
            plan.child("value", &self.value);
            plan.child("output", &self.output);
        });
    }
}

impl Materialize for CrossAttention {
    fn traverse(self, traversal: &mut Traversal<'_>) -> Self {
        // Its fields are private.
        traversal.mapped(self)
    }
}

/// Its default depends on the width of a head, which is private, and so are its layers: the
/// traversal shows their shapes, and `Debug` the width.
impl ResetParameters for CrossAttention {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let shapes = Shapes::of(self);
        let [d_model, d_query] = shapes.weight("query");
        let [d_context, d_key] = shapes.weight("key");
        if plan.names_initializer() {
            for name in ["query", "key", "value", "output"] {
                let [d_input, d_output] = shapes.weight(name);
                let config = LinearConfig::new(d_input, d_output);
                plan.within(name, |plan| {
                    plan.layer(config.initializer.clone(), |device, initializer| {
                        config.with_initializer(initializer).init(device)
                    });
                });
            }
        } else if let Some(d_head) = d_head(self) {
            let (n_heads, n_heads_kv) = (d_query / d_head, d_key / d_head);
            let config = CrossAttentionConfig::new(d_model, d_context, n_heads, n_heads_kv, d_head);
            plan.fixed_layer(|device| config.init(device));
        }
    }
}

/// The width of a head.
fn d_head(attention: &CrossAttention) -> Option<usize> {
    let fields = format!("{attention:?}");
    let (_, value) = fields.split_once("d_head: ")?;
    value.split(',').next()?.parse().ok()
}

/// The shape of every tensor, by path.
#[derive(Default)]
struct Shapes(BTreeMap<String, Shape>);

impl Shapes {
    fn of(attention: &CrossAttention) -> Self {
        let mut shapes = Self::default();
        traverse(attention.clone(), &mut shapes);
        shapes
    }

    /// `[d_input, d_output]` of one of the four layers, which all have a bias.
    fn weight(&self, layer: &str) -> [usize; 2] {
        self.0[&format!("{layer}.weight")].dims()
    }
}

impl Pass for Shapes {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        self.0.insert(site.path().to_owned(), slot.shape());
    }
}
