//! Bernoulli draws: one with a given probability, else zero.

use super::{
    philox::Words,
    sampler::{PER_GROUP_32, Sampler},
};
use burn::tensor::Element;

/// `one` where `word * 2^-32 < probability`, else zero.
///
/// All 32 bits of the word take part whatever the dtype, so a draw gives the same mask in every
/// dtype. The probability met is `probability` rounded up to a multiple of 2^-32: never for 0,
/// always for 1.
pub(super) struct Bernoulli<T> {
    /// Words below this give one.
    threshold: u64,
    one: T,
}

impl<T> Bernoulli<T> {
    /// `None` unless `0 <= probability <= 1`.
    pub(super) fn new(probability: f64, one: T) -> Option<Self> {
        let threshold = (probability * (1u64 << 32) as f64).ceil() as u64;
        (0.0..=1.0)
            .contains(&probability)
            .then_some(Self { threshold, one })
    }
}

impl<T: Element> Sampler<PER_GROUP_32> for Bernoulli<T> {
    type Stored = T;

    #[inline(always)]
    fn sample(&self, words: &Words, out: &mut [T; PER_GROUP_32]) {
        for (value, &x) in out.iter_mut().zip(words.as_flattened()) {
            *value = if u64::from(x) < self.threshold {
                self.one
            } else {
                T::default()
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::philox::LANES;

    fn draw(probability: f64, word: u32) -> u8 {
        let mut out = [9; PER_GROUP_32];
        Bernoulli::new(probability, 1u8)
            .unwrap()
            .sample(&[[word; LANES]; 4], &mut out);
        out[0]
    }

    #[test]
    fn the_threshold_is_exact() {
        assert_eq!(
            [draw(0.0, 0), draw(-0.0, 0), draw(f64::MIN_POSITIVE, 0)],
            [0, 0, 1]
        );
        assert_eq!([draw(0.5, (1 << 31) - 1), draw(0.5, 1 << 31)], [1, 0]);
        assert_eq!(
            [draw(1.0, u32::MAX), draw(1f64.next_down(), u32::MAX)],
            [1, 1]
        );
        assert_eq!(draw(1.0 - 2f64.powi(-32), u32::MAX), 0);
    }

    #[test]
    fn what_is_no_probability_is_refused() {
        for probability in [f64::NAN, -1e-9, 1f64.next_up(), f64::INFINITY] {
            assert!(Bernoulli::new(probability, 1u8).is_none());
        }
    }
}
