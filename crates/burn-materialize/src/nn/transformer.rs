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
use crate::{InitPlan, ResetParameters};

fields! {
    TransformerEncoder { layers }
    TransformerEncoderLayer { mha, pwff, norm_1, norm_2, dropout }
    TransformerDecoder { layers }
    TransformerDecoderLayer { cross_attn, self_attn, pwff, norm_1, norm_2, norm_3, dropout }
    // Burn skips the activation, which may hold tensors.
    PositionWiseFeedForward { linear_inner, linear_outer, dropout, activation }
}

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
