//! Activations.

use burn::nn::activation::{
    Activation, Celu, Elu, GLU, Gelu, HardShrink, HardSigmoid, HardSwish, Hardtanh, LeakyRelu,
    LogSigmoid, Mish, PRelu, PReluConfig, RRelu, Relu, Relu6, Selu, Shrink, SiLU, Sigmoid,
    SoftShrink, Softplus, Softsign, SwiGlu, SwiGluConfig, Tanh, Tanhshrink, Threshold,
    ThresholdedRelu,
};

use super::linear::features;
use super::{fields, variants};
use crate::leaves::{no_hook, no_tensor};
use crate::{InitPlan, ResetParameters};

fields! {
    PRelu { alpha }
    SwiGlu { linear_inner, linear_outer }
    RRelu { training }
}

no_hook!([] RRelu);

no_tensor!(
    Celu,
    Elu,
    GLU,
    Gelu,
    HardShrink,
    HardSigmoid,
    HardSwish,
    Hardtanh,
    LeakyRelu,
    LogSigmoid,
    Mish,
    Relu,
    Relu6,
    Selu,
    Shrink,
    SiLU,
    Sigmoid,
    SoftShrink,
    Softplus,
    Softsign,
    Tanh,
    Tanhshrink,
    Threshold,
    ThresholdedRelu,
);

variants!(Activation {
    Identity,
    Gelu,
    PRelu,
    Relu,
    LeakyRelu,
    SwiGlu,
    Selu,
    Sigmoid,
    Tanh,
    HardSigmoid,
    HardSwish,
    Softplus,
    Softsign,
    Elu,
    Celu,
    ThresholdedRelu,
    HardShrink,
    SoftShrink,
    Shrink,
});

impl ResetParameters for PRelu {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let [num_parameters] = self.alpha.lazy_shape().dims();
        let config = PReluConfig::new()
            .with_num_parameters(num_parameters)
            .with_alpha(self.alpha_value);
        plan.fixed_layer(|device| config.init(device));
    }
}

impl ResetParameters for SwiGlu {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let [d_input, d_output] = features(&self.linear_inner);
        plan.inheriting(SwiGluConfig::new(d_input, d_output).initializer, |plan| {
            plan.child("linear_inner", &self.linear_inner);
            plan.child("linear_outer", &self.linear_outer);
        });
    }
}
