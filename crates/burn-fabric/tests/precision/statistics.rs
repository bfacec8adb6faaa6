//! Running statistics, which are kept in the dtype of what they are of.

use std::path::Path;

use burn::nn::BatchNormConfig;
use burn::tensor::{DType, Tensor, TensorData};
use burn_fabric::prelude::*;

use super::{child, fabric, job};

const CHANNELS: usize = 64;
const STEPS: usize = 200;

const NAME: &str = "statistics::running_statistics_stop_near_what_they_are_of";

/// Each channel has two values in every batch, so that its statistics are known.
fn run(precision: Precision) {
    let Some(fabric) = fabric(precision) else {
        return;
    };
    let config = BatchNormConfig::new(CHANNELS);
    let meta = fabric.init_module(|device| config.init(device)).unwrap();
    let norm = fabric.setup(meta).unwrap();
    let half = DType::from(precision.float_dtype());
    let mean = |channel: usize| 1.0 + channel as f32 / 16.0;
    let batch: Vec<f32> = [-1.0, 1.0]
        .into_iter()
        .flat_map(|sign| (0..CHANNELS).map(move |channel| mean(channel) * (1.0 + sign / 2.0)))
        .collect();
    let batch = TensorData::new(batch, [2, CHANNELS]);
    let batch = Tensor::<2>::from_data(batch, fabric.device());
    // What the dtype has of it.
    let exact = batch.clone().into_data().convert::<f32>();
    let exact: Vec<f32> = exact.try_to_vec().unwrap();
    for _ in 0..STEPS {
        norm.forward(batch.clone());
    }
    let apart = |found: Tensor<1>, expected: &dyn Fn(f32, f32) -> f32| {
        assert_eq!(found.dtype(), half, "{precision}");
        let found: Vec<f32> = found.into_data().convert::<f32>().try_to_vec().unwrap();
        let apart = found.iter().enumerate().map(|(channel, found)| {
            let expected = expected(exact[channel], exact[CHANNELS + channel]);
            ((found - expected) / expected).abs()
        });
        apart.fold(0.0, f32::max)
    };
    let mean = apart(norm.running_mean.value_sync(), &|a, b| f32::midpoint(a, b));
    let variance = apart(norm.running_var.value_sync(), &|a, b| {
        // Burn divides by the number of samples.
        (b - a) * (b - a) / 4.0
    });
    println!("apart {mean} {variance}");
}

#[test]
fn running_statistics_stop_near_what_they_are_of() {
    if let Some((precision, _)) = job(NAME) {
        return run(precision);
    }
    for (precision, most) in [
        (Precision::F32, 1e-5),
        (Precision::F16, 0.01),
        (Precision::Bf16, 0.08),
        (Precision::MixedF16, 0.01),
        (Precision::MixedBf16, 0.08),
    ] {
        let Some(text) = child(NAME, precision, Path::new("")) else {
            continue;
        };
        let line = text
            .lines()
            .find_map(|line| Some(line.split_once("apart ")?.1));
        let numbers: Vec<f32> = line
            .expect(&text)
            .split(' ')
            .map(|number| number.parse().unwrap())
            .collect();
        println!("{precision}: {numbers:?}");
        let apart = numbers.iter().copied().fold(0.0, f32::max);
        assert!(apart < most, "{precision}: {numbers:?}");
        // They do stop before they are there; where they do not any more, the docs are to be changed.
        assert!(
            precision == Precision::F32 || apart > most / 8.0,
            "{precision}: {numbers:?}"
        );
    }
}
