//! Integers: the whole range of a type, uniform in `[low, high)`, and rounded normal.

use std::marker::PhantomData;

use burn::tensor::Element;

use super::{
    normal::NormalF64,
    philox::{LANES, Words},
    sampler::{PER_GROUP_32, PER_GROUP_64, PER_GROUP_128, Sampler, join},
};

/// An integer type, seen from its bits.
pub(super) trait Integer: Element {
    /// The lowest bits of `bits`, as this type.
    fn from_low_bits(bits: u64) -> Self;

    /// The value extended to 64 bits, with its sign where it has one.
    fn extend(self) -> u64;

    /// The number without its fraction; `None` if that is outside the type's range.
    fn checked(x: f64) -> Option<Self>;

    /// The number without its fraction, or the nearest end of the type's range.
    fn saturating(x: f64) -> Self;
}

macro_rules! integer {
    ($($type:ty),*) => {$(
        impl Integer for $type {
            #[inline(always)]
            fn from_low_bits(bits: u64) -> Self {
                bits as $type
            }

            #[inline(always)]
            fn extend(self) -> u64 {
                self as u64
            }

            fn checked(x: f64) -> Option<Self> {
                // Saturates far outside of every type here, and a NaN is refused first.
                if x.is_nan() { None } else { (x as i128).try_into().ok() }
            }

            #[inline(always)]
            fn saturating(x: f64) -> Self {
                x as $type
            }
        }
    )*};
}

integer!(i8, i16, i32, i64, u8, u16, u32, u64);

/// The low bits of a word: every value of a type of at most 32 bits.
pub(super) struct WholeRange32<T>(pub(super) PhantomData<T>);

impl<T: Integer> Sampler<PER_GROUP_32> for WholeRange32<T> {
    type Stored = T;

    #[inline(always)]
    fn sample(&self, words: &Words, out: &mut [T; PER_GROUP_32]) {
        for (value, &x) in out.iter_mut().zip(words.as_flattened()) {
            *value = T::from_low_bits(u64::from(x));
        }
    }
}

/// Two words: every value of a type of 64 bits.
pub(super) struct WholeRange64<T>(pub(super) PhantomData<T>);

impl<T: Integer> Sampler<PER_GROUP_64> for WholeRange64<T> {
    type Stored = T;

    #[inline(always)]
    fn sample(&self, words: &Words, out: &mut [T; PER_GROUP_64]) {
        for half in 0..2 {
            for l in 0..LANES {
                let x = join(words[2 * half][l], words[2 * half + 1][l]);
                out[half * LANES + l] = T::from_low_bits(x);
            }
        }
    }
}

/// Integers in `[low, high)` by a multiplication and a shift.
///
/// A random number of `b` bits times the width of the range, shifted right by `b`, is uniform up to
/// a relative error of `width / 2^b` in the probability of a value (D. Lemire, "Fast random integer
/// generation in an interval", 2019, without its rejection, which would draw a varying number of
/// words). `b` is at least twice the bits of the type, so the error is below 2^-32 for types of up
/// to 32 bits, and below 2^-64 for those of 64.
pub(super) struct UniformInteger<T> {
    low: u64,
    /// `high - low`, at least 1.
    width: u64,
    element: PhantomData<T>,
}

impl<T: Integer> UniformInteger<T> {
    /// Drops the fractions of the bounds; `None` unless both fit the type and `low < high`.
    pub(super) fn new(low: f64, high: f64) -> Option<Self> {
        let (first, end) = (T::checked(low)?, T::checked(high)?);
        // Both are integers of the same type by now: their order is that of the whole numbers.
        (low.trunc() < high.trunc()).then(|| Self {
            low: first.extend(),
            width: end.extend().wrapping_sub(first.extend()),
            element: PhantomData,
        })
    }
}

impl<T: Integer> Sampler<PER_GROUP_64> for UniformInteger<T> {
    type Stored = T;

    /// For types of at most 32 bits.
    #[inline(always)]
    fn sample(&self, words: &Words, out: &mut [T; PER_GROUP_64]) {
        // Nothing is lost, and the compiler sees that no product overflows.
        let width = u64::from(self.width as u32);
        for half in 0..2 {
            for l in 0..LANES {
                let low = u64::from(words[2 * half][l]) * width;
                let high = u64::from(words[2 * half + 1][l]) * width;
                let offset = (high + (low >> 32)) >> 32;
                out[half * LANES + l] = T::from_low_bits(self.low.wrapping_add(offset));
            }
        }
    }
}

impl<T: Integer> Sampler<PER_GROUP_128> for UniformInteger<T> {
    type Stored = T;

    /// For types of 64 bits.
    #[inline(always)]
    fn sample(&self, words: &Words, out: &mut [T; PER_GROUP_128]) {
        for l in 0..LANES {
            let width = u128::from(self.width);
            let low = u128::from(join(words[0][l], words[1][l])) * width;
            let high = u128::from(join(words[2][l], words[3][l])) * width;
            let offset = ((high + (low >> 64)) >> 64) as u64;
            out[l] = T::from_low_bits(self.low.wrapping_add(offset));
        }
    }
}

/// Normal `f64` values without their fraction, held inside the type's range.
pub(super) struct NormalInteger<T> {
    normal: NormalF64,
    element: PhantomData<T>,
}

impl<T> NormalInteger<T> {
    /// Takes its values from `normal`.
    pub(super) fn new(normal: NormalF64) -> Self {
        Self {
            normal,
            element: PhantomData,
        }
    }
}

impl<T: Integer> Sampler<PER_GROUP_64> for NormalInteger<T> {
    type Stored = T;

    #[inline(always)]
    fn sample(&self, words: &Words, out: &mut [T; PER_GROUP_64]) {
        let mut floats = [0.0; PER_GROUP_64];
        self.normal.sample(words, &mut floats);
        for (value, &x) in out.iter_mut().zip(&floats) {
            *value = T::saturating(x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first and the last value of a range.
    fn ends<T: Integer, const N: usize>(low: f64, high: f64) -> [T; 2]
    where
        UniformInteger<T>: Sampler<N, Stored = T>,
    {
        let sampler = UniformInteger::<T>::new(low, high).unwrap();
        [0, u32::MAX].map(|word| {
            let mut out = [T::default(); N];
            sampler.sample(&[[word; LANES]; 4], &mut out);
            out[N - 1]
        })
    }

    #[test]
    fn the_extreme_words_give_the_ends_of_the_range() {
        assert_eq!(ends::<i8, PER_GROUP_64>(-128.0, 127.0), [-128, 126]);
        assert_eq!(ends::<u8, PER_GROUP_64>(0.0, 255.0), [0, 254]);
        assert_eq!(ends::<i16, PER_GROUP_64>(-3.9, 2.9), [-3, 1]);
        assert_eq!(ends::<u16, PER_GROUP_64>(-0.9, 1.0), [0, 0]);
        assert_eq!(
            ends::<i32, PER_GROUP_64>(-2147483648.0, 2147483647.0),
            [i32::MIN, i32::MAX - 1]
        );
        assert_eq!(
            ends::<u32, PER_GROUP_64>(4294967294.0, 4294967295.0),
            [u32::MAX - 1; 2]
        );
        let below = 2f64.powi(63).next_down();
        assert_eq!(
            ends::<i64, PER_GROUP_128>(-(2f64.powi(63)), below),
            [i64::MIN, i64::MAX - 1024]
        );
        let below = 2f64.powi(64).next_down();
        assert_eq!(ends::<u64, PER_GROUP_128>(0.0, below), [0, u64::MAX - 2048]);
    }

    #[test]
    fn unusable_bounds_are_refused() {
        for (low, high) in [
            (5.0, 5.0),
            (5.1, 5.9),
            (6.0, 5.0),
            (f64::NAN, 5.0),
            (0.0, f64::INFINITY),
            (-129.0, 0.0),
            (0.0, 128.0),
        ] {
            assert!(UniformInteger::<i8>::new(low, high).is_none());
        }
        assert!(UniformInteger::<i64>::new(0.0, 2f64.powi(63)).is_none());
        assert!(UniformInteger::<u64>::new(-1.0, 5.0).is_none());
    }

    #[test]
    fn normal_values_are_cut_and_held() {
        let draw = |mean, std| {
            let mut out = [0; PER_GROUP_64];
            NormalInteger::<i8>::new(NormalF64::new(mean, std).unwrap())
                .sample(&[[0; LANES]; 4], &mut out);
            out[0]
        };
        assert_eq!([draw(-1.7, 0.0), draw(1.7, 0.0)], [-1, 1]);
        assert_eq!([draw(0.0, 1e9), draw(-1e9, 0.0)], [127, -128]);
    }
}
