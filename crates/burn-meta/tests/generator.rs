//! The generator's values have the distributions asked for, and different streams are independent.
//!
//! Keys are fixed, so every test gives the same figures at every run. The bounds are about five
//! standard deviations wide, or at one in a thousand for the tests of goodness of fit.

use burn::tensor::{DType, Distribution, Shape};
use burn_meta::generator::{DrawKey, fill};

const N: usize = 1 << 20;
const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];
const INTEGERS: [DType; 8] = [
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
];

fn draw(key: &DrawKey, distribution: Distribution, dtype: DType, n: usize) -> Vec<f64> {
    fill(key, distribution, dtype, Shape::new([n]))
        .unwrap()
        .iter::<f64>()
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let m = mean(values);
    values.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / values.len() as f64
}

/// Pearson's coefficient, for zipped streams of equal length.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let covariance: f64 = a
        .iter()
        .zip(b)
        .map(|(x, y)| (x - mean_a) * (y - mean_b))
        .sum();
    covariance / (a.len() as f64 * (variance(a) * variance(b)).sqrt())
}

/// Five standard deviations of the correlation of `n` independent pairs.
fn independent(n: usize) -> f64 {
    5.0 / (n as f64).sqrt()
}

/// Checks mean and variance; `fourth` is the fourth central moment, which the latter's error needs.
fn assert_moments(values: &[f64], mu: f64, sigma2: f64, fourth: f64, what: &str) {
    let n = values.len() as f64;
    let (m, v) = (mean(values), variance(values));
    assert!(
        (m - mu).abs() < 5.0 * (sigma2 / n).sqrt(),
        "{what}: mean {m}, expected {mu}"
    );
    // The second term is the square of the mean's own deviation.
    let spread = 5.0 * ((fourth - sigma2 * sigma2) / n).sqrt() + 25.0 * sigma2 / n;
    assert!(
        (v - sigma2).abs() < spread,
        "{what}: variance {v}, expected {sigma2}"
    );
}

/// Kolmogorov-Smirnov at a significance of one in a thousand.
fn assert_distributed(mut values: Vec<f64>, cdf: impl Fn(f64) -> f64, what: &str) {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let distance = values.iter().enumerate().fold(0f64, |worst, (i, &x)| {
        let p = cdf(x);
        worst.max(p - i as f64 / n).max((i + 1) as f64 / n - p)
    });
    let statistic = distance * n.sqrt();
    assert!(statistic < 1.95, "{what}: Kolmogorov-Smirnov {statistic}");
}

/// Cumulative standard normal, within 1e-7 (Abramowitz and Stegun, 7.1.26).
fn normal_cdf(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let sum = 1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429);
    let sum = t * (0.254_829_592 + t * (-0.284_496_736 + t * sum));
    let tail = 0.5 * sum * (-x * x).exp();
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// Pearson's statistic of the counts against equal expectations.
fn chi_square(counts: &[usize]) -> f64 {
    let expected = counts.iter().sum::<usize>() as f64 / counts.len() as f64;
    counts
        .iter()
        .map(|&c| (c as f64 - expected).powi(2) / expected)
        .sum()
}

#[test]
fn default_floats_are_uniform_on_the_unit_interval() {
    for dtype in FLOATS {
        let values = draw(
            &DrawKey::new(1, "default", 0),
            Distribution::Default,
            dtype,
            N,
        );
        assert_moments(&values, 0.5, 1.0 / 12.0, 1.0 / 80.0, dtype.name());
        if matches!(dtype, DType::F32 | DType::F64) {
            assert!(values.iter().all(|x| (0.0..1.0).contains(x)));
            assert_distributed(values, |x| x, dtype.name());
        }
    }
}

#[test]
fn uniform_floats_fill_their_interval() {
    let (low, high) = (-3.0, 5.0);
    for dtype in FLOATS {
        let distribution = Distribution::Uniform(low, high);
        let values = draw(&DrawKey::new(2, "uniform", 0), distribution, dtype, N);
        let width: f64 = high - low;
        let (sigma2, fourth) = (width.powi(2) / 12.0, width.powi(4) / 80.0);
        assert_moments(&values, 1.0, sigma2, fourth, dtype.name());
        if matches!(dtype, DType::F32 | DType::F64) {
            assert!(values.iter().all(|x| (low..high).contains(x)));
            assert_distributed(values, |x| (x - low) / width, dtype.name());
        }
    }
}

#[test]
fn normal_floats_are_normal() {
    let (mu, sigma) = (1.5, 2.0);
    for dtype in FLOATS {
        let distribution = Distribution::Normal(mu, sigma);
        let values = draw(&DrawKey::new(3, "normal", 0), distribution, dtype, N);
        let (sigma2, fourth) = (sigma * sigma, 3.0 * sigma.powi(4));
        assert_moments(&values, mu, sigma2, fourth, dtype.name());

        let scaled: Vec<f64> = values.iter().map(|x| (x - mu) / sigma).collect();
        let n = N as f64;
        let skewness = mean(&scaled.iter().map(|z| z.powi(3)).collect::<Vec<_>>());
        assert!(
            skewness.abs() < 5.0 * (15.0 / n).sqrt(),
            "skewness {skewness}"
        );
        let kurtosis = mean(&scaled.iter().map(|z| z.powi(4)).collect::<Vec<_>>());
        assert!(
            (kurtosis - 3.0).abs() < 5.0 * (96.0 / n).sqrt(),
            "kurtosis {kurtosis}"
        );
        let tail = scaled.iter().filter(|z| z.abs() > 4.0).count() as f64;
        let expected = 6.334e-5 * n;
        assert!(
            (tail - expected).abs() < 5.0 * expected.sqrt(),
            "{tail} beyond four sigma"
        );
        if matches!(dtype, DType::F32 | DType::F64) {
            assert_distributed(scaled, normal_cdf, dtype.name());
        }
    }
}

#[test]
fn a_normal_without_spread_is_its_mean() {
    for dtype in FLOATS {
        let values = draw(
            &DrawKey::new(3, "flat", 0),
            Distribution::Normal(0.25, 0.0),
            dtype,
            1000,
        );
        assert!(values.iter().all(|&x| x == 0.25));
    }
}

#[test]
fn bernoulli_is_one_with_its_probability_in_every_dtype() {
    let key = DrawKey::new(4, "bernoulli", 0);
    for p in [0.5, 0.1, 0.997] {
        let masks = FLOATS.into_iter().chain(INTEGERS).map(|dtype| {
            let values = draw(&key, Distribution::Bernoulli(p), dtype, N);
            assert!(values.iter().all(|&x| x == 0.0 || x == 1.0));
            let q = 1.0 - p;
            assert_moments(&values, p, p * q, p * q * (1.0 - 3.0 * p * q), dtype.name());
            values
        });
        let masks: Vec<_> = masks.collect();
        assert!(
            masks.iter().all(|mask| mask == &masks[0]),
            "the mask depends on the dtype"
        );
    }
    for dtype in FLOATS.into_iter().chain(INTEGERS) {
        assert!(
            draw(&key, Distribution::Bernoulli(0.0), dtype, 1000)
                .iter()
                .all(|&x| x == 0.0)
        );
        assert!(
            draw(&key, Distribution::Bernoulli(1.0), dtype, 1000)
                .iter()
                .all(|&x| x == 1.0)
        );
    }
}

#[test]
fn uniform_integers_hit_every_value_equally() {
    for dtype in INTEGERS {
        let (low, high) = if dtype.is_uint() {
            (5.0, 15.0)
        } else {
            (-3.0, 7.0)
        };
        let distribution = Distribution::Uniform(low, high);
        let mut counts = [0; 10];
        for x in draw(&DrawKey::new(5, "integers", 0), distribution, dtype, N) {
            counts[(x - low) as usize] += 1;
        }
        let statistic = chi_square(&counts);
        assert!(statistic < 27.9, "{}: chi-square {statistic}", dtype.name());
    }
}

#[test]
fn default_integers_use_every_bit() {
    for dtype in INTEGERS {
        let key = DrawKey::new(6, "whole range", 0);
        let data = fill(&key, Distribution::Default, dtype, Shape::new([N])).unwrap();
        for byte in 0..dtype.size() {
            let mut counts = [0; 256];
            for element in data.as_bytes().chunks_exact(dtype.size()) {
                counts[usize::from(element[byte])] += 1;
            }
            let statistic = chi_square(&counts);
            assert!(
                statistic < 330.5,
                "{} byte {byte}: chi-square {statistic}",
                dtype.name()
            );
        }
    }
}

#[test]
fn normal_integers_follow_the_normal_cut_toward_zero() {
    for dtype in [
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U16,
        DType::U32,
        DType::U64,
    ] {
        let (mu, sigma) = (10_000.0, 1000.0);
        let key = DrawKey::new(7, "normal integers", 0);
        let values = draw(&key, Distribution::Normal(mu, sigma), dtype, N);
        let (sigma2, fourth) = (sigma * sigma, 3.0 * sigma.powi(4));
        // Cutting takes half a unit off on average.
        assert_moments(&values, mu - 0.5, sigma2, fourth, dtype.name());
    }
}

#[test]
fn different_keys_give_independent_streams() {
    let mut keys = Vec::new();
    for seed in [0, 1, 1 << 32] {
        for path in ["", "layer.0.weight", "layer.1.weight", "layer.0.bias"] {
            keys.extend([0, 1].map(|draw| DrawKey::new(seed, path, draw)));
        }
    }
    let n = 1 << 16;
    let streams: Vec<_> = keys
        .iter()
        .map(|key| draw(key, Distribution::Default, DType::F32, n))
        .collect();
    for (i, a) in streams.iter().enumerate() {
        for (j, b) in streams.iter().enumerate().skip(i + 1) {
            assert_ne!(a[..64], b[..64]);
            let r = correlation(a, b);
            assert!(
                r.abs() < independent(n),
                "streams {i} and {j}: correlation {r}"
            );
        }
    }
}

#[test]
fn a_stream_is_independent_of_itself_at_every_lag() {
    let key = DrawKey::new(8, "lags", 0);
    let uniform = draw(&key, Distribution::Default, DType::F32, N);
    let normal = draw(&key, Distribution::Normal(0.0, 1.0), DType::F32, N);
    let squares: Vec<f64> = normal.iter().map(|z| z * z).collect();
    for stream in [&uniform, &normal, &squares] {
        for lag in (1..=66).chain([127, 128, 129, 1024, 1 << 16]) {
            let r = correlation(&stream[..N - lag], &stream[lag..]);
            assert!(r.abs() < independent(N - lag), "lag {lag}: correlation {r}");
        }
    }
}

#[test]
fn the_two_normals_of_a_pair_are_independent() {
    for (dtype, words) in [(DType::F32, 4), (DType::F64, 2)] {
        let key = DrawKey::new(9, "pairs", 0);
        let values = draw(&key, Distribution::Normal(0.0, 1.0), dtype, N);
        let (mut cos, mut sin) = (Vec::new(), Vec::new());
        for group in values.chunks_exact(16 * words) {
            for pair in group.chunks_exact(32) {
                cos.extend_from_slice(&pair[..16]);
                sin.extend_from_slice(&pair[16..]);
            }
        }
        let n = cos.len();
        for power in [1, 2, 3] {
            let raise = |values: &[f64]| values.iter().map(|z| z.powi(power)).collect::<Vec<_>>();
            let r = correlation(&raise(&cos), &raise(&sin));
            assert!(r.abs() < independent(n), "power {power}: correlation {r}");
        }
        let pairs = || cos.iter().zip(&sin);
        let turns = pairs()
            .map(|(c, s)| s.atan2(*c) / std::f64::consts::TAU + 0.5)
            .collect();
        assert_distributed(turns, |x| x, "angle");
        let energy = pairs().map(|(c, s)| 0.5 * (c * c + s * s)).collect();
        assert_distributed(energy, |x| 1.0 - (-x).exp(), "radius");
    }
}
