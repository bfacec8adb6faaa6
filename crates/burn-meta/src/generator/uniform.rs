//! Uniform floats in `[low, high)`.

use super::{
    philox::{LANES, Words},
    sampler::{PER_GROUP_32, PER_GROUP_64, Sampler, join},
};

/// `low + (high - low) * u` with `u` a multiple of 2^-24 in `[0, 1)`, all in `f32`.
pub(super) struct UniformF32 {
    low: f32,
    width: f32,
    /// The largest value below `high`; rounding may otherwise reach `high` itself.
    last: f32,
}

impl UniformF32 {
    /// Rounds the bounds to `f32`; `None` unless they and their distance are finite and
    /// `low < high`.
    pub(super) fn new(low: f64, high: f64) -> Option<Self> {
        let (low, high) = (low as f32, high as f32);
        let width = high - low;
        (low < high && width.is_finite()).then(|| Self {
            low,
            width,
            last: high.next_down(),
        })
    }
}

impl Sampler<PER_GROUP_32> for UniformF32 {
    type Stored = f32;

    #[inline(always)]
    fn sample(&self, words: &Words, out: &mut [f32; PER_GROUP_32]) {
        for (word, x) in out.iter_mut().zip(words.as_flattened()) {
            let unit = (x >> 8) as f32 * (1.0 / (1u32 << 24) as f32);
            let value = self.low + self.width * unit;
            *word = if value > self.last { self.last } else { value };
        }
    }
}

/// `low + (high - low) * u` with `u` a multiple of 2^-53 in `[0, 1)`, all in `f64`.
pub(super) struct UniformF64 {
    low: f64,
    width: f64,
    /// The largest value below `high`.
    last: f64,
}

impl UniformF64 {
    /// `None` unless the bounds and their distance are finite and `low < high`.
    pub(super) fn new(low: f64, high: f64) -> Option<Self> {
        let width = high - low;
        (low < high && width.is_finite()).then(|| Self {
            low,
            width,
            last: high.next_down(),
        })
    }
}

impl Sampler<PER_GROUP_64> for UniformF64 {
    type Stored = f64;

    #[inline(always)]
    fn sample(&self, words: &Words, out: &mut [f64; PER_GROUP_64]) {
        for half in 0..2 {
            for l in 0..LANES {
                let x = join(words[2 * half][l], words[2 * half + 1][l]);
                let unit = (x >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
                let value = self.low + self.width * unit;
                out[half * LANES + l] = if value > self.last { self.last } else { value };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extreme_words_stay_inside_the_bounds() {
        // 16777216 + 1 * u rounds up to the upper bound for most u.
        for (low, high) in [
            (0.0, 1.0),
            (16_777_214.0, 16_777_216.0),
            (-1e-45, 1e-45),
            (-3.0, 7.5),
        ] {
            let mut out = [0.0; PER_GROUP_32];
            let sampler = UniformF32::new(low, high).unwrap();
            sampler.sample(&[[u32::MAX; LANES]; 4], &mut out);
            assert!(out[0] < high as f32 && out[0] > low as f32);
            sampler.sample(&[[0; LANES]; 4], &mut out);
            assert_eq!(out, [low as f32; PER_GROUP_32]);

            let mut out = [0.0; PER_GROUP_64];
            let sampler = UniformF64::new(low, high).unwrap();
            sampler.sample(&[[u32::MAX; LANES]; 4], &mut out);
            assert!(out[0] < high && out[0] > low);
            sampler.sample(&[[0; LANES]; 4], &mut out);
            assert_eq!(out, [low; PER_GROUP_64]);
        }
    }

    #[test]
    fn the_high_word_gives_the_leading_bits_of_f64() {
        let mut words = [[0; LANES]; 4];
        words[1][3] = 1 << 31;
        words[2][4] = 1 << 11;
        let mut out = [0.0; PER_GROUP_64];
        UniformF64::new(0.0, 1.0).unwrap().sample(&words, &mut out);
        assert_eq!(out[3], 0.5);
        assert_eq!(out[LANES + 4], 2f64.powi(-53));
    }

    #[test]
    fn unusable_bounds_are_refused() {
        for (low, high) in [
            (1.0, 1.0),
            (2.0, 1.0),
            (f64::NAN, 1.0),
            (0.0, f64::NAN),
            (0.0, f64::INFINITY),
            (f64::NEG_INFINITY, 0.0),
            (f64::MIN, f64::MAX),
        ] {
            assert!(UniformF32::new(low, high).is_none());
            assert!(UniformF64::new(low, high).is_none());
        }
        // Distinct in f64, equal in f32.
        assert!(UniformF32::new(1.0, 1.0 + 1e-12).is_none());
    }
}
