use burn::nn::LinearLayout;
use burn::nn::activation::{
    Activation, ActivationConfig, CeluConfig, EluConfig, GLU, Gelu, HardShrinkConfig,
    HardSigmoidConfig, HardSwish, HardtanhConfig, LeakyReluConfig, LogSigmoid, Mish, PReluConfig,
    RReluConfig, Relu, Relu6, Selu, ShrinkConfig, SiLU, Sigmoid, SoftShrinkConfig, SoftplusConfig,
    Softsign, SwiGluConfig, Tanh, Tanhshrink, ThresholdConfig, ThresholdedReluConfig,
};

use crate::support::{FAN_IN, FANS, NO_FANS, check, check_initializers, flat, input};

/// Activations without a tensor.
macro_rules! activations {
    ($($test:ident => $activation:expr,)+) => {$(
        #[test]
        fn $test() {
            check(|_| $activation, |activation, device| {
                flat(activation.forward(input([4, 12], device).mul_scalar(3.0)))
            });
        }
    )+};
}

activations! {
    module_celu => CeluConfig::new().with_alpha(0.5).init(),
    module_elu => EluConfig::new().with_alpha(0.5).init(),
    module_gelu => Gelu::new_approximate(),
    module_glu => GLU::new(1),
    module_hard_shrink => HardShrinkConfig::new().with_lambda(0.2).init(),
    module_hard_sigmoid => HardSigmoidConfig::new().with_alpha(0.3).init(),
    module_hard_swish => HardSwish::new(),
    module_hardtanh => HardtanhConfig::new().with_max_val(0.5).init(),
    module_leaky_relu => LeakyReluConfig::new().with_negative_slope(0.3).init(),
    module_log_sigmoid => LogSigmoid::new(),
    module_mish => Mish::new(),
    module_r_relu => RReluConfig::new().with_lower(0.2).init(),
    module_relu => Relu::new(),
    module_relu6 => Relu6::new(),
    module_selu => Selu::new(),
    module_shrink => ShrinkConfig::new().with_bias(0.1).init(),
    module_si_lu => SiLU::new(),
    module_sigmoid => Sigmoid::new(),
    module_soft_shrink => SoftShrinkConfig::new().with_lambda(0.2).init(),
    module_softplus => SoftplusConfig::new().with_beta(2.0).init(),
    module_softsign => Softsign::new(),
    module_tanh => Tanh::new(),
    module_tanhshrink => Tanhshrink::new(),
    module_threshold => ThresholdConfig::new(0.1, 7.0).init(),
    module_thresholded_relu => ThresholdedReluConfig::new().with_alpha(0.3).init(),
}

#[test]
fn module_p_relu() {
    let config = PReluConfig::new().with_num_parameters(12).with_alpha(0.1);
    check(
        |device| config.init(device),
        |activation, device| flat(activation.forward(input([4, 12], device))),
    );
}

#[test]
fn module_swi_glu() {
    for layout in [LinearLayout::Row, LinearLayout::Col] {
        let config = SwiGluConfig::new(160, 70)
            .with_bias(true)
            .with_layout(layout);
        check(
            |device| config.init(device),
            |activation, device| flat(activation.forward(input([3, 160], device))),
        );
        for initializers in [NO_FANS, FAN_IN, FANS] {
            check_initializers(initializers, |device, initializer| {
                config.clone().with_initializer(initializer).init(device)
            });
        }
    }
}

#[test]
fn module_activation() {
    let configs: [ActivationConfig; 20] = [
        ActivationConfig::Identity,
        ActivationConfig::Gelu,
        ActivationConfig::GeluApproximate,
        PReluConfig::new().with_num_parameters(12).into(),
        ActivationConfig::Relu,
        LeakyReluConfig::new().into(),
        SwiGluConfig::new(12, 20).with_bias(true).into(),
        ActivationConfig::Selu,
        ActivationConfig::Sigmoid,
        ActivationConfig::Tanh,
        HardSigmoidConfig::new().into(),
        ActivationConfig::HardSwish,
        SoftplusConfig::new().into(),
        ActivationConfig::Softsign,
        EluConfig::new().into(),
        CeluConfig::new().into(),
        ActivationConfig::ThresholdedRelu(ThresholdedReluConfig::new()),
        HardShrinkConfig::new().into(),
        SoftShrinkConfig::new().into(),
        ShrinkConfig::new().into(),
    ];
    for config in configs {
        check(
            |device| config.init(device),
            |activation: &Activation, device| flat(activation.forward(input([4, 12], device))),
        );
    }
}
