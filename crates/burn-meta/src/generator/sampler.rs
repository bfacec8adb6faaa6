//! What every distribution has in common: it turns the words of a group into elements.

use burn::tensor::Element;

use super::{
    key::DrawKey,
    philox::{LANES, Words},
};

/// Elements per group of a distribution that spends a word on each.
pub(super) const PER_GROUP_32: usize = 4 * LANES;
/// Elements per group of a distribution that spends two words on each.
pub(super) const PER_GROUP_64: usize = 2 * LANES;
/// Elements per group of a distribution that spends a block on each.
pub(super) const PER_GROUP_128: usize = LANES;

/// Turns the words of a group into `N` elements.
///
/// Implementations are plain loops over fixed arrays, always inlined, so that the caller decides
/// for which instruction set the compiler vectorises them.
pub(super) trait Sampler<const N: usize>: Sync {
    /// The element as it lies in memory; 16-bit floats are their bits.
    type Stored: Element;

    /// Writes the elements of the group whose words are given.
    fn sample(&self, words: &Words, out: &mut [Self::Stored; N]);
}

/// Fills `out` with the elements from the first one of group `first`.
#[inline(always)]
pub(super) fn fill_groups<const N: usize, S: Sampler<N>>(
    sampler: &S,
    key: &DrawKey,
    first: u64,
    out: &mut [S::Stored],
) {
    let (groups, tail) = out.as_chunks_mut::<N>();
    let mut index = first;
    for group in groups {
        sampler.sample(&key.words(index), group);
        index += 1;
    }
    if !tail.is_empty() {
        let mut last = [S::Stored::default(); N];
        sampler.sample(&key.words(index), &mut last);
        tail.copy_from_slice(&last[..tail.len()]);
    }
}

/// Joins two words to the 64 bits they stand for.
#[inline(always)]
pub(super) fn join(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
