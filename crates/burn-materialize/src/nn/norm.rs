//! Normalisations: ones and zeros, whatever initialiser a field names.

use burn::nn::norm::Normalization;
use burn::nn::{
    BatchNorm, BatchNormConfig, GroupNorm, GroupNormConfig, InstanceNorm, InstanceNormConfig,
    LayerNorm, LayerNormConfig, LocalResponseNorm, RmsNorm, RmsNormConfig,
};

use super::{fields, variants};
use crate::leaves::no_tensor;
use crate::{InitPlan, ResetParameters};

fields! {
    BatchNorm { gamma, beta, training, running_mean, running_var }
    GroupNorm { gamma, beta }
    InstanceNorm { gamma, beta }
    LayerNorm { gamma, beta }
    RmsNorm { gamma }
}

variants!(Normalization {
    Identity,
    Batch,
    Group,
    Instance,
    Layer,
    Rms
});

no_tensor!(LocalResponseNorm);

impl ResetParameters for BatchNorm {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let [num_features] = self.gamma.lazy_shape().dims();
        plan.fixed_layer(|device| BatchNormConfig::new(num_features).init(device));
    }
}

impl ResetParameters for GroupNorm {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let config = GroupNormConfig::new(self.num_groups, self.num_channels)
            .with_affine(self.gamma.is_some());
        plan.fixed_layer(|device| config.init(device));
    }
}

impl ResetParameters for InstanceNorm {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let config = InstanceNormConfig::new(self.num_channels).with_affine(self.gamma.is_some());
        plan.fixed_layer(|device| config.init(device));
    }
}

impl ResetParameters for LayerNorm {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let [d_model] = self.gamma.lazy_shape().dims();
        let config = LayerNormConfig::new(d_model).with_bias(self.beta.is_some());
        plan.fixed_layer(|device| config.init(device));
    }
}

impl ResetParameters for RmsNorm {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let [d_model] = self.gamma.lazy_shape().dims();
        plan.fixed_layer(|device| RmsNormConfig::new(d_model).init(device));
    }
}
