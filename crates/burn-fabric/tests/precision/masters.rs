//! Weights in f32 beside a model in half precision.

use std::path::Path;

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::SgdConfig;
use burn::tensor::{FloatDType, Tensor};
use burn_fabric::burn_materialize::{SaveOptions, save};
use burn_fabric::prelude::*;

use super::{child, fabric, job};
use crate::support::data;

const NAME: &str = "masters::what_half_precision_rounds_away_adds_up_in_a_master";

fn linear(fabric: &Fabric) -> (FabricModule<Linear>, FabricOptimizer) {
    let config = LinearConfig::new(4, 4).with_bias(false);
    let meta = fabric.init_module(|device| config.init(device)).unwrap();
    let (mut model, optimizer) = fabric.setup_with_optimizer(meta, SgdConfig::new()).unwrap();
    // Where the next number in half precision is far.
    model.map(all(1.0)).unwrap();
    (model, optimizer)
}

fn all(value: f64) -> impl FnOnce(Linear) -> Linear {
    move |mut linear: Linear| {
        linear.weight = linear.weight.map(|weight| weight.full_like(value));
        linear
    }
}

/// Every gradient is 1.
fn step(
    fabric: &Fabric,
    model: &mut FabricModule<Linear>,
    optimizer: &mut FabricOptimizer,
) -> Vec<f64> {
    let output = model.forward(Tensor::<2>::ones([1, 4], fabric.device()));
    let gradients = fabric
        .backward(output.cast(FloatDType::F32).sum(), &*model)
        .unwrap();
    optimizer.step(1e-4, model, gradients).unwrap();
    data(model.weight.val()).iter::<f64>().collect()
}

fn run(precision: Precision, folder: &Path) {
    let Some(fabric) = fabric(precision) else {
        return;
    };
    let (mut model, mut optimizer) = linear(&fabric);
    let mut last = Vec::new();
    for _ in 0..100 {
        last = step(&fabric, &mut model, &mut optimizer);
    }
    let near = |found: &[f64], expected: f64| {
        assert!(
            found.iter().all(|one| (one - expected).abs() < 4e-3),
            "{found:?} {expected}"
        );
    };
    if !precision.is_mixed() {
        let expected = if precision == Precision::F32 {
            0.99
        } else {
            1.0
        };
        return match precision {
            Precision::F32 => near(&last, expected),
            // Not one step of a hundred left a trace.
            _ => assert_eq!(last, vec![expected; 16]),
        };
    }
    near(&last, 0.99);
    assert!(last.iter().all(|one| *one < 1.0), "{last:?}");

    // Another weight in its place makes another master: by a function, ...
    model.map(all(2.0)).unwrap();
    near(&step(&fabric, &mut model, &mut optimizer), 2.0);
    // ... by a file, ...
    let file = folder.join("three.safetensors");
    let (mut other, _) = linear(&fabric);
    other.map(all(3.0)).unwrap();
    save(other.module().unwrap(), &file, &SaveOptions::new()).unwrap();
    model.load(&Weights::open(&file).unwrap()).unwrap();
    near(&step(&fabric, &mut model, &mut optimizer), 3.0);
    // ... by a reset; ...
    model.reset_parameters(9).unwrap();
    let reset: Vec<f64> = data(model.weight.val()).iter::<f64>().collect();
    let stepped = step(&fabric, &mut model, &mut optimizer);
    for (one, other) in reset.iter().zip(&stepped) {
        assert!((one - other).abs() < 4e-3, "{reset:?} {stepped:?}");
    }
    // ... and one that stays, of a function that leaves it alone, keeps what rounding hides.
    model.map(all(1.0)).unwrap();
    for _ in 0..100 {
        model.map(|linear| linear).unwrap();
        last = step(&fabric, &mut model, &mut optimizer);
    }
    assert!(last.iter().all(|one| *one < 1.0), "{last:?}");
    // Forgotten with the state.
    optimizer.reset_state(|_| true);
    assert_eq!(optimizer.master_weights().count(), 0);
    assert_eq!(model.weight.val().dtype(), precision.float_dtype().into());
    let plain = model.into_inner().unwrap();
    assert_eq!(plain.num_params(), 16);
}

#[test]
fn what_half_precision_rounds_away_adds_up_in_a_master() {
    if let Some((precision, folder)) = job(NAME) {
        return run(precision, Path::new(&folder));
    }
    for precision in Precision::ALL {
        let folder = tempfile::tempdir().unwrap();
        child(NAME, precision, folder.path());
    }
}
