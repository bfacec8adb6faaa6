use burn::nn::norm::{Normalization, NormalizationConfig};
use burn::nn::{
    BatchNormConfig, GroupNormConfig, InstanceNormConfig, LayerNormConfig, LocalResponseNormConfig,
    RmsNormConfig,
};

use crate::support::{check, flat, input};

#[test]
fn module_batch_norm() {
    let config = BatchNormConfig::new(12)
        .with_epsilon(1e-3)
        .with_momentum(0.3);
    check(
        |device| config.init(device),
        |norm, device| flat(norm.forward(input([4, 12, 5], device))),
    );
}

#[test]
fn module_group_norm() {
    for affine in [true, false] {
        let config = GroupNormConfig::new(3, 12).with_affine(affine);
        check(
            |device| config.init(device),
            |norm, device| flat(norm.forward(input([4, 12, 5], device))),
        );
    }
}

#[test]
fn module_instance_norm() {
    for affine in [true, false] {
        let config = InstanceNormConfig::new(12).with_affine(affine);
        check(
            |device| config.init(device),
            |norm, device| flat(norm.forward(input([4, 12, 5], device))),
        );
    }
}

#[test]
fn module_layer_norm() {
    for bias in [true, false] {
        let config = LayerNormConfig::new(12).with_bias(bias).with_epsilon(1e-3);
        check(
            |device| config.init(device),
            |norm, device| flat(norm.forward(input([4, 12], device))),
        );
    }
}

#[test]
fn module_rms_norm() {
    let config = RmsNormConfig::new(12).with_epsilon(1e-3);
    check(
        |device| config.init(device),
        |norm, device| flat(norm.forward(input([4, 12], device))),
    );
}

#[test]
fn module_local_response_norm() {
    let config = LocalResponseNormConfig::new(3);
    check(
        |_| config.init(),
        |norm, device| flat(norm.forward(input([2, 6, 4], device))),
    );
}

#[test]
fn module_normalization() {
    let configs: [NormalizationConfig; 6] = [
        NormalizationConfig::Identity,
        BatchNormConfig::new(12).into(),
        GroupNormConfig::new(4, 12).into(),
        InstanceNormConfig::new(12).into(),
        LayerNormConfig::new(12).into(),
        RmsNormConfig::new(12).into(),
    ];
    for config in configs {
        check(
            |device| config.init(device),
            |norm: &Normalization, device| flat(norm.forward(input([4, 12, 12], device))),
        );
    }
}
