//! The curve of the losses, the dtype of everything, and a resume.

use std::path::Path;

use burn::optim::AdamWConfig;
use burn::tensor::DType;
use burn_fabric::Clip;
use burn_fabric::prelude::*;

use super::model::{Model, batch};
use super::{child, fabric, job};
use crate::support::values;

#[derive(TrainingState)]
struct Training {
    model: FabricModule<Model>,
    optimizer: FabricOptimizer,
    rng: DeviceRng,
}

const RATE: f64 = 1e-2;

/// Adam's mean of squares has no small numbers in f16: with the usual epsilon the first steps are many
/// times too long there.
fn adam_w() -> AdamWConfig {
    AdamWConfig::new().with_epsilon(1e-3)
}

impl Training {
    fn new(fabric: &Fabric) -> Self {
        let meta = fabric.init_module(Model::new).unwrap();
        let (model, optimizer) = fabric.setup_with_optimizer(meta, adam_w()).unwrap();
        let rng = fabric.device_rng();
        Self {
            model,
            optimizer,
            rng,
        }
    }

    fn step(&mut self, fabric: &Fabric, step: usize) -> f64 {
        self.rng.begin_step();
        let loss = self.model.loss(batch(step, fabric.device()));
        let shown: f64 = loss.clone().into_scalar();
        let mut gradients = fabric.backward(loss, &self.model).unwrap();
        fabric
            .clip_gradients(&self.model, &mut gradients, Clip::Norm(1.0))
            .unwrap();
        let report = self
            .optimizer
            .step(RATE, &mut self.model, gradients)
            .unwrap();
        assert!(!report.is_skipped() && report.updated > 0);
        shown
    }
}

fn dtypes(model: &Model, precision: Precision) {
    let half = DType::from(precision.float_dtype());
    for (path, data) in values(model) {
        // Burn computes a layer norm in f32 where its input is f16.
        let is_wide = path.starts_with("layer_norm") && half == DType::F16;
        let expected = if is_wide { DType::F32 } else { half };
        assert_eq!(data.dtype(), expected, "{precision}: {path}");
    }
}

const STEPS: usize = 60;
const TRAIN: &str = "train::losses_follow_those_of_f32_and_a_resume_is_exact";

fn train(precision: Precision, folder: &Path) {
    let Some(fabric) = fabric(precision) else {
        return;
    };
    let meta = fabric.init_module(Model::new).unwrap();
    // What is shown before anything is allocated is what it becomes.
    let planned: Vec<_> = meta
        .inventory()
        .iter()
        .map(|entry| (entry.path.clone(), entry.dtype))
        .collect();
    let mut training = Training::new(&fabric);
    let real = training.model.inventory().unwrap();
    let real: Vec<_> = real
        .iter()
        .map(|entry| (entry.path.clone(), entry.dtype))
        .collect();
    assert_eq!(planned, real);
    dtypes(&training.model, precision);
    let mut losses = Vec::new();
    for step in 0..STEPS / 2 {
        losses.push(training.step(&fabric, step));
    }
    dtypes(&training.model, precision);
    fabric.save(folder, &training).unwrap();
    let mut resumed = Training::new(&fabric);
    fabric.load(folder, &mut resumed).unwrap();
    let masters = |training: &Training| training.optimizer.master_weights().count();
    assert_eq!(masters(&training), masters(&resumed));
    let expected = match precision {
        Precision::MixedBf16 => training.optimizer.paths().count(),
        Precision::MixedF16 => training.optimizer.paths().count() - 2, // of the layer norm
        _ => 0,
    };
    assert_eq!(masters(&training), expected);
    let [mut one, mut other] = [Vec::new(), Vec::new()];
    for step in STEPS / 2..STEPS {
        one.push(training.step(&fabric, step));
        other.push(resumed.step(&fabric, step));
    }
    assert_eq!(one, other);
    assert_eq!(values(&*training.model), values(&*resumed.model));
    let paths = ["embedding.weight", "head"].map(|path| values(&*training.model)[path].clone());
    assert_eq!(paths[0], paths[1]);
    losses.extend(one);
    println!("losses {}", serde_json::to_string(&losses).unwrap());
}

/// The mean difference over the curve, as a share of the first loss: the docs promise these.
const TOLERANCES: [(Precision, f64); 4] = [
    (Precision::Bf16, 0.01),
    (Precision::F16, 0.01),
    (Precision::MixedBf16, 0.005),
    (Precision::MixedF16, 0.001),
];

#[test]
fn losses_follow_those_of_f32_and_a_resume_is_exact() {
    if let Some((precision, folder)) = job(TRAIN) {
        return train(precision, Path::new(&folder));
    }
    let losses = |precision| -> Option<Vec<f64>> {
        let folder = tempfile::tempdir().unwrap();
        let text = child(TRAIN, precision, folder.path())?;
        let line = text
            .lines()
            .find_map(|line| Some(line.split_once("losses ")?.1));
        Some(serde_json::from_str(line.expect(&text)).unwrap())
    };
    let f32 = losses(Precision::F32).unwrap();
    assert!(f32[STEPS - 1] < 0.5 * f32[0], "{f32:?}");
    for (precision, tolerance) in TOLERANCES {
        let Some(found) = losses(precision) else {
            continue;
        };
        let apart = f32
            .iter()
            .zip(&found)
            .map(|(one, other)| (one - other).abs());
        let apart = apart.sum::<f64>() / f32.len() as f64 / f32[0];
        println!("{precision}: {apart:.5} of {tolerance}");
        assert!(apart < tolerance, "{precision}: {apart} {f32:?} {found:?}");
        // In another precision it is another curve.
        assert_ne!(found, f32, "{precision}");
    }
}
