//! Normal floats by the Box-Muller transform.
//!
//! G. E. P. Box, M. E. Muller, "A note on the generation of random normal deviates", Annals of
//! Mathematical Statistics 29, 1958. <https://doi.org/10.1214/aoms/1177706645>
//!
//! Rejection methods such as the ziggurat draw a varying number of words per element, so an
//! element's bits would depend on its predecessors; Box-Muller draws exactly one.

use super::{
    math32, math64,
    philox::{LANES, Words},
    sampler::{PER_GROUP_32, PER_GROUP_64, Sampler, join},
};

/// `mean + std * z` in `f32`, `|z| < 6.77`.
pub(super) struct NormalF32 {
    mean: f32,
    std: f32,
}

impl NormalF32 {
    /// Rounds the parameters to `f32`; `None` unless they are finite and `std >= 0`.
    pub(super) fn new(mean: f64, std: f64) -> Option<Self> {
        let (mean, std) = (mean as f32, std as f32);
        (mean.is_finite() && std.is_finite() && std >= 0.0).then_some(Self { mean, std })
    }
}

impl Sampler<PER_GROUP_32> for NormalF32 {
    type Stored = f32;

    #[inline(always)]
    fn sample(&self, words: &Words, out: &mut [f32; PER_GROUP_32]) {
        const SCALE: f32 = 1.0 / (1u64 << 32) as f32;
        for pair in 0..2 {
            for l in 0..LANES {
                // The middle of the word's cell: in (0, 1], so the logarithm is finite.
                let unit = words[2 * pair][l] as f32 * SCALE + 0.5 * SCALE;
                let radius = (-2.0 * math32::ln(unit)).sqrt();
                let (cos, sin) = math32::cos_sin(words[2 * pair + 1][l]);
                out[2 * pair * LANES + l] = self.mean + self.std * (radius * cos);
                out[(2 * pair + 1) * LANES + l] = self.mean + self.std * (radius * sin);
            }
        }
    }
}

/// `mean + std * z` in `f64`, `|z| < 9.5`.
pub(super) struct NormalF64 {
    mean: f64,
    std: f64,
}

impl NormalF64 {
    /// `None` unless the parameters are finite and `std >= 0`.
    pub(super) fn new(mean: f64, std: f64) -> Option<Self> {
        (mean.is_finite() && std.is_finite() && std >= 0.0).then_some(Self { mean, std })
    }
}

impl Sampler<PER_GROUP_64> for NormalF64 {
    type Stored = f64;

    #[inline(always)]
    fn sample(&self, words: &Words, out: &mut [f64; PER_GROUP_64]) {
        for l in 0..LANES {
            let unit = math64::open_unit(join(words[0][l], words[1][l]));
            let radius = (-2.0 * math64::ln(unit)).sqrt();
            let (cos, sin) = math64::cos_sin(join(words[2][l], words[3][l]));
            out[l] = self.mean + self.std * (radius * cos);
            out[LANES + l] = self.mean + self.std * (radius * sin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extreme_words_give_finite_values() {
        let standard = NormalF32::new(0.0, 1.0).unwrap();
        let mut out = [0.0; PER_GROUP_32];
        standard.sample(&[[0; LANES]; 4], &mut out);
        assert!(out[0] > 6.76 && out[0] < 6.77);
        assert_eq!(out[LANES], 0.0);
        standard.sample(&[[u32::MAX; LANES]; 4], &mut out);
        assert_eq!(out, [0.0; PER_GROUP_32]);

        let standard = NormalF64::new(0.0, 1.0).unwrap();
        let mut out = [0.0; PER_GROUP_64];
        standard.sample(&[[0; LANES]; 4], &mut out);
        assert!(out[0] > 9.49 && out[0] < 9.5);
        standard.sample(&[[u32::MAX; LANES]; 4], &mut out);
        assert_eq!(out, [0.0; PER_GROUP_64]);
    }

    #[test]
    fn a_pair_lies_on_its_circle() {
        let mut words = [[0; LANES]; 4];
        words[2][7] = 0x1234_5678;
        words[3][7] = 0x2000_0000;
        let mut out = [0.0; PER_GROUP_32];
        NormalF32::new(0.0, 1.0).unwrap().sample(&words, &mut out);
        let radius = (-2.0 * (f64::from(0x1234_5678u32) / 2f64.powi(32)).ln()).sqrt();
        let found = f64::from(out[2 * LANES + 7]).hypot(f64::from(out[3 * LANES + 7]));
        assert!((found - radius).abs() < 1e-6);
        assert!((out[2 * LANES + 7] - out[3 * LANES + 7]).abs() < 1e-6);
    }

    #[test]
    fn unusable_parameters_are_refused() {
        for (mean, std) in [
            (f64::NAN, 1.0),
            (f64::INFINITY, 1.0),
            (0.0, f64::NAN),
            (0.0, f64::INFINITY),
            (0.0, -1.0),
        ] {
            assert!(NormalF32::new(mean, std).is_none());
            assert!(NormalF64::new(mean, std).is_none());
        }
        // Finite in f64 only.
        assert!(NormalF32::new(1e39, 1.0).is_none() && NormalF32::new(0.0, 1e39).is_none());
        assert!(NormalF32::new(3.0, 0.0).is_some());
    }
}
