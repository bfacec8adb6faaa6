//! Philox4x32-10, the counter-based generator.
//!
//! J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2,
//! 3", Proceedings of SC11, 2011. <https://doi.org/10.1145/2063384.2063405>

/// Blocks in a group: enough for every vector width, and one vector of 16 words with AVX-512.
pub(super) const LANES: usize = 16;

/// The words of a group, `[word][block]`.
pub(super) type Words = [[u32; LANES]; 4];

const ROUNDS: usize = 10;
const MULTIPLIERS: [u64; 2] = [0xd251_1f53, 0xcd9e_8d57];
/// Added to the key before each round but the first: fractions of the golden ratio and of sqrt(3).
const WEYL: [u32; 2] = [0x9e37_79b9, 0xbb67_ae85];
const LOW: u64 = 0xffff_ffff;

/// The four words of the block at `counter`, both with the low word first.
///
/// Words travel in the low halves of 64-bit lanes: the product of two words then needs neither
/// widening nor narrowing, which is what a vector multiplication offers.
#[inline(always)]
pub(super) fn block(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let mut c = counter.map(u64::from);
    let mut key = key;
    for _ in 0..ROUNDS {
        let product_0 = MULTIPLIERS[0] * c[0];
        let product_1 = MULTIPLIERS[1] * c[2];
        c = [
            (product_1 >> 32) ^ c[1] ^ u64::from(key[0]),
            product_1 & LOW,
            (product_0 >> 32) ^ c[3] ^ u64::from(key[1]),
            product_0 & LOW,
        ];
        key = [key[0].wrapping_add(WEYL[0]), key[1].wrapping_add(WEYL[1])];
    }
    c.map(|word| word as u32)
}

/// The words of the 16 blocks from `first`, a multiple of 16.
#[inline(always)]
pub(super) fn group(first: u64, counter_high: [u32; 2], key: [u32; 2]) -> Words {
    let mut words = [[0; LANES]; 4];
    // No carry out of the low word: `first` is a multiple of 16.
    for l in 0..LANES {
        let low = first as u32 | l as u32;
        let counter = [low, (first >> 32) as u32, counter_high[0], counter_high[1]];
        for (word, value) in words.iter_mut().zip(block(counter, key)) {
            word[l] = value;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The known answers published with Random123.
    #[test]
    fn known_answers() {
        assert_eq!(
            block([0; 4], [0; 2]),
            [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]
        );
        assert_eq!(
            block([u32::MAX; 4], [u32::MAX; 2]),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
        assert_eq!(
            block(
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0]
            ),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn a_group_is_sixteen_consecutive_blocks() {
        let (high, key) = ([3, 4], [5, 6]);
        for first in [0, 16, u64::from(u32::MAX) - 15, u64::MAX - 15] {
            let words = group(first, high, key);
            for (l, index) in (first..=first + 15).enumerate() {
                let counter = [index as u32, (index >> 32) as u32, high[0], high[1]];
                assert_eq!([0, 1, 2, 3].map(|w| words[w][l]), block(counter, key));
            }
        }
    }
}
