//! Transformers.
//!
//! Their configurations share the default initialiser of the layers they are made of, so that the
//! layers' own hooks are enough.

use burn::nn::transformer::{
    PositionWiseFeedForward, PositionWiseFeedForwardConfig, TransformerDecoder,
    TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer,
};

use super::linear::features;
use super::{children, fields};
use crate::{InitPlan, Materialize, ResetParameters, Traversal};

fields! {
    TransformerEncoder { layers }
    TransformerDecoder { layers }
    // Burn skips the activation, which may hold tensors.
    PositionWiseFeedForward { linear_inner, linear_outer, dropout, activation }
}

/// Go through the fields of a layer. Its norms are numbered by where they act when norms come last,
/// and `torch.nn` numbers them by the order they act in: it calls them otherwise when they come
/// first.
macro_rules! layer {
    ($layer:ident { $($field:ident),+ } norms { $($norm:ident: $last:literal, $first:literal),+ }) => {
        impl Materialize for $layer {
            fn traverse(mut self, traversal: &mut Traversal<'_>) -> Self {
                const CONTAINER: &str = concat!("Struct:", stringify!($layer));
                $(self.$field = traversal.field(stringify!($field), CONTAINER, self.$field);)+
                $(
                    let torch = if self.norm_first { $first } else { $last };
                    let name = stringify!($norm);
                    self.$norm = traversal.field_called(name, torch, CONTAINER, self.$norm);
                )+
                self.dropout = traversal.field("dropout", CONTAINER, self.dropout);
                self
            }
        }
    };
}

layer!(TransformerEncoderLayer { mha, pwff } norms {
    norm_1: "norm1", "norm2",
    norm_2: "norm2", "norm1"
});

layer!(TransformerDecoderLayer { cross_attn, self_attn, pwff } norms {
    norm_1: "norm1", "norm2",
    norm_2: "norm2", "norm3",
    norm_3: "norm3", "norm1"
});

children! {
    TransformerEncoder { layers }
    TransformerEncoderLayer { mha, pwff, norm_1, norm_2 }
    TransformerDecoder { layers }
    TransformerDecoderLayer { cross_attn, self_attn, pwff, norm_1, norm_2, norm_3 }
}

impl ResetParameters for PositionWiseFeedForward {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let [d_model, d_ff] = features(&self.linear_inner);
        let config = PositionWiseFeedForwardConfig::new(d_model, d_ff);
        plan.inheriting(config.initializer, |plan| {
            plan.child("linear_inner", &self.linear_inner);
            plan.child("linear_outer", &self.linear_outer);
        });
        plan.child("activation", &self.activation);
    }
}
