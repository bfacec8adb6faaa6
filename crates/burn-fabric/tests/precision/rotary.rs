//! A table that a constructor computes: exact to the dtype, wherever it is.

use std::path::Path;

use burn::nn::{RotaryEncoding, RotaryEncodingConfig};
use burn_fabric::prelude::*;

use super::{child, fabric, job};

const PLACES: usize = 1001;
const FEATURES: usize = 16;

/// The greatest distance from sines and cosines of angles in f64.
fn apart(rotary: &RotaryEncoding) -> f64 {
    let table = rotary.freq_complex.to_data().convert::<f32>();
    let table: Vec<f32> = table.try_to_vec().unwrap();
    assert_eq!(table.len(), PLACES * FEATURES * 2);
    let pairs = table.chunks(2).enumerate().map(|(index, pair)| {
        let (place, feature) = (index / FEATURES, index % FEATURES);
        let exponent = (feature / 2 * 2) as f64 / FEATURES as f64;
        let angle = place as f64 / 10_000_f64.powf(exponent);
        let apart = |found: f32, expected: f64| (f64::from(found) - expected).abs();
        apart(pair[0], angle.cos()).max(apart(pair[1], angle.sin()))
    });
    pairs.fold(0.0, f64::max)
}

const NAME: &str = "rotary::the_table_is_rounded_and_the_angles_are_not";

fn table(precision: Precision) {
    let Some(fabric) = fabric(precision) else {
        return;
    };
    let config = RotaryEncodingConfig::new(PLACES, FEATURES);
    let meta = fabric.init_module(|device| config.init(device)).unwrap();
    let mut rotary = fabric.setup(meta).unwrap();
    assert_eq!(
        rotary.freq_complex.dtype(),
        precision.float_dtype().into(),
        "{precision}"
    );
    let recorded = apart(&rotary);
    rotary.reset_parameters(1).unwrap();
    assert_eq!(apart(&rotary), recorded, "{precision}");
    // As Burn computes it, at once and in the default dtype.
    let at_once = apart(&config.init(&fabric.inference_device()));
    println!("apart {recorded} {at_once}");
}

#[test]
fn the_table_is_rounded_and_the_angles_are_not() {
    if let Some((precision, _)) = job(NAME) {
        return table(precision);
    }
    // f32 rounds angles of up to a thousand; then half a unit in the last place of numbers below 1.
    let angles = 5e-4;
    for (precision, rounding) in [
        (Precision::F32, 0.0),
        (Precision::Bf16, 1.0 / 512.0),
        (Precision::MixedF16, 1.0 / 4096.0),
        (Precision::MixedBf16, 1.0 / 512.0),
    ] {
        let Some(text) = child(NAME, precision, Path::new("")) else {
            continue;
        };
        let line = text
            .lines()
            .find_map(|line| Some(line.split_once("apart ")?.1));
        let numbers: Vec<f64> = line
            .expect(&text)
            .split(' ')
            .map(|number| number.parse().unwrap())
            .collect();
        println!("{precision}: {numbers:?}");
        assert!(numbers[0] <= rounding + angles, "{precision}: {numbers:?}");
        // What it would be, were it not recorded.
        match precision {
            Precision::F32 => assert!(numbers[1] <= angles, "{numbers:?}"),
            _ => assert!(numbers[1] > 0.1, "{precision}: {numbers:?}"),
        }
    }
}
