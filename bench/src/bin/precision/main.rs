//! What a model of 67 million parameters takes in each precision, weights, gradients, master weights
//! and moments, against the table in `Precision`'s documentation; and the time of a step.
//!
//! Burn fixes the default dtype for the process, so each precision is measured in one of its own.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::AdamWConfig;
use burn::tensor::{FloatDType, Tensor};
use burn_fabric::prelude::*;
use burn_fabric_bench::memory::resident_mib;
use serde::{Deserialize, Serialize};

const WIDTH: usize = 4096;
const LAYERS: usize = 4;
const PARAMETERS: f64 = (LAYERS * WIDTH * WIDTH) as f64;
const STEPS: u32 = 3;
/// How far above the documented bytes the resident ones may be.
const GOAL: f64 = 1.05;

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Layers {
    layers: Vec<Linear>,
}

/// Bytes of a parameter.
#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    weight: f64,
    with_gradient: f64,
    between_steps: f64,
    step_ms: f64,
}

/// The table: weight, gradient, and weight with master and moments.
fn documented(precision: Precision) -> [f64; 3] {
    match precision {
        Precision::F32 => [4.0, 4.0, 12.0],
        Precision::Bf16 | Precision::F16 => [2.0, 2.0, 6.0],
        Precision::MixedBf16 | Precision::MixedF16 => [2.0, 4.0, 14.0],
    }
}

fn measure(precision: Precision) -> Result<Measured> {
    let fabric = Fabric::builder()
        .accelerator(Accelerator::Flex)
        .precision(precision)
        .build()?;
    let config = LinearConfig::new(WIDTH, WIDTH).with_bias(false);
    let meta = fabric.init_module(|device| Layers {
        layers: (0..LAYERS).map(|_| config.init(device)).collect(),
    })?;
    let before = resident_mib()?;
    let bytes = || -> Result<f64> { Ok((resident_mib()? - before) * 1024.0 * 1024.0 / PARAMETERS) };
    let mut model = fabric.setup(meta)?;
    let weight = bytes()?;
    let mut optimizer = fabric.setup_optimizer(&model, AdamWConfig::new())?;
    let (mut with_gradient, mut step_ms) = (0.0, 0.0);
    for step in 0..STEPS {
        let x = Tensor::<2>::ones([1, WIDTH], fabric.device());
        let outputs = model
            .layers
            .iter()
            .map(|layer| layer.forward(x.clone()).cast(FloatDType::F32).sum());
        let loss = outputs.reduce(|a, b| a + b).context("there are layers")?;
        let gradients = fabric.backward(loss, &model)?;
        if step == 0 {
            with_gradient = bytes()?;
        }
        let begun = Instant::now();
        optimizer.step(1e-3, &mut model, gradients)?;
        step_ms = begun.elapsed().as_secs_f64() * 1e3;
    }
    Ok(Measured {
        weight,
        with_gradient,
        between_steps: bytes()?,
        step_ms,
    })
}

fn main() -> Result<()> {
    if let Some(name) = std::env::args().nth(1) {
        println!("{}", serde_json::to_string(&measure(name.parse()?)?)?);
        return Ok(());
    }
    println!("bytes of a parameter, measured (documented), and the third step");
    let mut worst: f64 = 0.0;
    let mut results = serde_json::Map::new();
    for precision in Precision::ALL {
        let output = Command::new(std::env::current_exe()?)
            .arg(precision.to_string())
            .output()?;
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let measured: Measured = serde_json::from_slice(&output.stdout)?;
        let [weight, gradient, between] = documented(precision);
        println!(
            "{precision:<11} weight {:5.2} ({weight:2})   and gradient {:5.2} ({:2})   between steps {:5.2} ({between:2})   step {:5.0} ms",
            measured.weight,
            measured.with_gradient,
            weight + gradient,
            measured.between_steps,
            measured.step_ms
        );
        for (found, documented) in [
            (measured.weight, weight),
            (measured.with_gradient, weight + gradient),
            (measured.between_steps, between),
        ] {
            worst = worst.max(found / documented);
        }
        results.insert(precision.to_string(), serde_json::to_value(measured)?);
    }
    println!(
        "{}",
        serde_json::json!({"bench": "precision", "worst_over_documented": (worst * 1e3).round() / 1e3, "precisions": results})
    );
    ensure!(
        worst <= GOAL,
        "a precision takes {worst:.3} of its documented bytes; the goal is {GOAL}"
    );
    Ok(())
}
