//! The 16-bit floats: `f32` values rounded to nearest, ties to even.
//!
//! The arithmetic on bits is selections without branches, so that it vectorises on every
//! instruction set. None of the values is a NaN.

use std::marker::PhantomData;

use super::{
    philox::Words,
    sampler::{PER_GROUP_32, Sampler},
};

/// A 16-bit float format.
pub(super) trait Format: Sync {
    /// Bits of the value nearest to a number that is no NaN.
    fn round(x: f32) -> u16;
}

/// Truncated single precision: 8 bits of exponent, 7 of significand.
pub(super) struct Bf16;

impl Format for Bf16 {
    #[inline(always)]
    fn round(x: f32) -> u16 {
        let bits = x.to_bits();
        // Just below half of the last place kept, or exactly half if the last place is odd.
        (bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16
    }
}

/// IEEE 754 binary16: 5 bits of exponent, 10 of significand.
pub(super) struct F16;

impl Format for F16 {
    #[inline(always)]
    fn round(x: f32) -> u16 {
        /// 65536, beyond which all is infinite.
        const INFINITE: u32 = (127 + 16) << 23;
        /// 2^-14, the least normal number.
        const NORMAL: u32 = (127 - 14) << 23;
        /// The number whose last place is 2^-24, the least subnormal number: adding it rounds.
        const ALIGN: u32 = (127 - 1) << 23;

        let bits = x.to_bits();
        let sign = bits >> 16 & 0x8000;
        let size = bits & 0x7fff_ffff;
        let subnormal = (f32::from_bits(size) + f32::from_bits(ALIGN))
            .to_bits()
            .wrapping_sub(ALIGN);
        let rebiased = size.wrapping_sub((127 - 15) << 23);
        let normal = rebiased.wrapping_add(0x0fff + (size >> 13 & 1)) >> 13;
        let finite = if size < NORMAL { subnormal } else { normal };
        let rounded = if size < INFINITE { finite } else { 0x7c00 };
        (sign | rounded) as u16
    }
}

/// The values of an `f32` sampler, rounded to a 16-bit format.
pub(super) struct Rounded<S, F> {
    sampler: S,
    format: PhantomData<F>,
}

impl<S, F> Rounded<S, F> {
    /// Rounds what `sampler` gives.
    pub(super) fn new(sampler: S) -> Self {
        Self {
            sampler,
            format: PhantomData,
        }
    }
}

impl<S, F> Sampler<PER_GROUP_32> for Rounded<S, F>
where
    S: Sampler<PER_GROUP_32, Stored = f32>,
    F: Format,
{
    type Stored = u16;

    #[inline(always)]
    fn sample(&self, words: &Words, out: &mut [u16; PER_GROUP_32]) {
        let mut wide = [0.0; PER_GROUP_32];
        self.sampler.sample(words, &mut wide);
        for (narrow, &x) in out.iter_mut().zip(&wide) {
            *narrow = F::round(x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{bf16, f16};

    #[test]
    fn rounding_equals_the_reference_conversions() {
        // Every value of the upper half of the bits with the lower halves that decide a rounding.
        for high in 0..=u16::MAX {
            for low in [
                0, 1, 0x0fff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x7fff, 0x8000, 0x8001, 0xffff,
            ] {
                let x = f32::from_bits(u32::from(high) << 16 | low);
                if !x.is_nan() {
                    assert_eq!(Bf16::round(x), bf16::from_f32(x).to_bits(), "{x:e}");
                    assert_eq!(F16::round(x), f16::from_f32(x).to_bits(), "{x:e}");
                }
            }
        }
    }
}
