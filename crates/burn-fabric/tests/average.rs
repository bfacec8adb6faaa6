//! Moving averages of weights.

mod support;

use burn::module::Param;
use burn::nn::{Linear, LinearConfig};
use burn::optim::SgdConfig;
use burn::tensor::{DType, FloatDType, Tensor};
use burn_fabric::MovingAverage;
use burn_fabric::prelude::*;
use support::{Mlp, builder, fabric, input, model};

#[test]
fn a_moving_average_follows_the_weights() {
    let fabric = fabric();
    let mut model = model(&fabric);
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let decay = 0.75;
    let mut average = MovingAverage::new(&model, decay).unwrap();
    let weights = |model: &Mlp| {
        model
            .output
            .weight
            .to_data()
            .iter::<f64>()
            .collect::<Vec<_>>()
    };
    let mut expected = weights(&model);
    for _ in 0..4 {
        let gradients = fabric
            .backward(model.loss(&input(fabric.device())), &model)
            .unwrap();
        optimizer.step(1.0, &mut model, gradients).unwrap();
        average.update(&model).unwrap();
        for (average, weight) in expected.iter_mut().zip(weights(&model)) {
            *average = decay * *average + (1.0 - decay) * weight;
        }
    }
    let averaged = average.module(&model).unwrap();
    assert!(!averaged.output.weight.val().is_autodiff());
    let found = averaged.output.weight.to_data();
    for (found, expected) in found.iter::<f64>().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    assert_ne!(found, model.output.weight.to_data());
    let error = MovingAverage::new(&model, 1.0).unwrap_err();
    assert!(matches!(error, FabricError::Settings { .. }), "{error}");
    // Of this module and no other.
    let other = support::model(&fabric);
    for error in [
        average.update(&other).unwrap_err(),
        average.module(&other).unwrap_err(),
    ] {
        assert!(matches!(error, FabricError::OtherModule), "{error}");
    }
    assert_eq!(
        average.module(&model).unwrap().output.weight.to_data(),
        found
    );
}

#[test]
fn a_moving_average_of_half_precision_is_kept_in_single() {
    let device = Accelerator::Device(device_under_test::device_with(FloatDType::BF16));
    let fabric = builder().accelerator(device).build().unwrap();
    let half = LinearConfig::new(3, 3)
        .with_bias(false)
        .init(&fabric.inference_device());
    let weight = Tensor::<2>::full([3, 3], 1.0, &fabric.inference_device());
    let half = Linear {
        weight: Param::from_tensor(weight.cast(FloatDType::BF16)),
        ..half
    };
    let mut model = fabric.setup(half).unwrap();
    let mut average = MovingAverage::new(&model, 0.999).unwrap();
    average.update(&model).unwrap();
    // A thousandth of a thousandth is lost in bf16, and a thousand of them are not in f32.
    model
        .map(|mut linear| {
            linear.weight = linear
                .weight
                .map(|weight| weight.mul_scalar(1.0 + 1.0 / 128.0));
            linear
        })
        .unwrap();
    for _ in 0..1000 {
        average.update(&model).unwrap();
    }
    let averaged = average.module(&model).unwrap();
    assert_eq!(averaged.weight.val().dtype(), DType::BF16);
    let value: f32 = averaged.weight.to_data().iter::<f32>().next().unwrap();
    assert!((value - 1.0078).abs() < 1e-3, "{value}");
}
