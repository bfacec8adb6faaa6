//! Gradients that leave f16.

use std::path::Path;

use burn::nn::{Linear, LinearConfig};
use burn::optim::AdamConfig;
use burn::tensor::{FloatDType, Tensor};
use burn_fabric::Clip;
use burn_fabric::prelude::*;

use super::{child, fabric_of, job};
use crate::support::values;

const NAME: &str = "overflow::a_step_that_overflows_is_left_out_and_the_scale_halved";

#[derive(TrainingState)]
struct Training {
    model: FabricModule<Linear>,
    optimizer: FabricOptimizer,
}

fn training(fabric: &Fabric) -> Training {
    let meta = fabric
        .init_module(|device| LinearConfig::new(4, 2).init(device))
        .unwrap();
    let (model, optimizer) = fabric
        .setup_with_optimizer(meta, AdamConfig::new())
        .unwrap();
    Training { model, optimizer }
}

fn loss(fabric: &Fabric, model: &Linear, factor: f64) -> Tensor<1> {
    let output = model.forward(Tensor::<2>::ones([1, 4], fabric.device()));
    output.cast(FloatDType::F32).mul_scalar(factor).sum()
}

fn run(folder: &Path) {
    let mixed = |interval| {
        fabric_of(Precision::MixedF16, |builder| {
            builder.loss_scale(1024.0).loss_scale_interval(interval)
        })
    };
    let Some(fabric) = mixed(2) else {
        return;
    };
    let mut all = training(&fabric);
    let scale = || fabric.loss_scale().unwrap();
    let step = |all: &mut Training, factor: f64| {
        let gradients = fabric
            .backward(loss(&fabric, &all.model, factor), &all.model)
            .unwrap();
        all.optimizer.step(1e-2, &mut all.model, gradients)
    };

    // What the scale is does not show in the gradients, f32 or below f16's least number.
    let gradients = fabric
        .backward(loss(&fabric, &all.model, 1e-8), &all.model)
        .unwrap();
    let gradient = gradients
        .get::<1>(all.model.bias.as_ref().unwrap().id)
        .unwrap();
    assert_eq!(gradient.dtype(), burn::tensor::DType::F32);
    for value in gradient.into_data().iter::<f64>() {
        assert!((value / 1e-8 - 1.0).abs() < 2e-2, "{value}");
    }

    // Two steps double it.
    for expected in [1024.0, 2048.0] {
        let report = step(&mut all, 1.0).unwrap();
        assert_eq!((report.updated, report.is_skipped()), (2, false));
        assert_eq!(scale().scale, expected);
    }
    // 2048 * 1000 is too much for f16; nothing changes but the scale.
    let before = values(&*all.model);
    let report = step(&mut all, 1000.0).unwrap();
    assert_eq!(report.overflowed, ["weight", "bias"]);
    assert!(report.is_skipped() && report.updated == 0);
    assert_eq!(values(&*all.model), before);
    assert_eq!((scale().scale, scale().skipped), (1024.0, 1));

    // Clipping measures what cannot be measured, and leaves the rest to the step.
    let mut gradients = fabric
        .backward(loss(&fabric, &all.model, 1000.0), &all.model)
        .unwrap();
    let clipped = fabric
        .clip_gradients(&all.model, &mut gradients, Clip::Norm(1.0))
        .unwrap();
    assert!(!clipped.is_skipped() && !clipped.norm.is_finite());
    assert_eq!(clipped.non_finite, ["weight", "bias"]);
    let report = all.optimizer.step(1e-2, &mut all.model, gradients).unwrap();
    assert!(report.is_skipped());
    assert_eq!(scale().scale, 512.0);

    // One micro-batch of a group is enough.
    let mut accumulation = fabric.accumulate(3).unwrap();
    for (factor, batch) in accumulation.groups([1.0, 1e6, 1.0]) {
        let gradients = fabric
            .backward(loss(&fabric, &all.model, factor), &all.model)
            .unwrap();
        if let Some(gradients) = accumulation.add(batch, &all.model, gradients).unwrap() {
            let report = all.optimizer.step(1e-2, &mut all.model, gradients).unwrap();
            assert!(report.is_skipped());
        }
    }
    assert_eq!((scale().scale, scale().skipped), (256.0, 3));
    assert_eq!(values(&*all.model), before);

    // The scale is in the optimizer's checkpoint.
    step(&mut all, 1.0).unwrap();
    assert_eq!(scale().steady, 1);
    fabric.save(folder, &all).unwrap();
    let other = mixed(7).unwrap();
    let mut resumed = training(&other);
    assert_ne!(other.loss_scale(), fabric.loss_scale());
    other.load(folder, &mut resumed).unwrap();
    assert_eq!(other.loss_scale(), fabric.loss_scale());

    // What no scale mends is an error in the end, and changes nothing.
    let before = values(&*all.model);
    let mut steps = 0;
    let error = loop {
        match step(&mut all, f64::INFINITY) {
            Ok(report) => assert!(report.is_skipped()),
            Err(error) => break error,
        }
        steps += 1;
    };
    assert_eq!(steps, 8); // 256 = 2^8
    assert!(
        matches!(&error, FabricError::LossScale { parameters } if parameters[..] == ["weight", "bias"]),
        "{error}"
    );
    assert_eq!(values(&*all.model), before);
    assert_eq!(scale().scale, 1.0);
}

#[test]
fn a_step_that_overflows_is_left_out_and_the_scale_halved() {
    if let Some((_, folder)) = job(NAME) {
        return run(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    child(NAME, Precision::MixedF16, folder.path());
}
