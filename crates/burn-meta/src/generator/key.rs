//! From a draw's name to its stream of random words.

use sha2::{Digest, Sha256};

use super::philox::{self, LANES, Words};

/// Separates these digests from every other use of SHA-256; the version would change with the bits.
const DOMAIN: &[u8] = b"burn-fabric/generator/v1";

/// The stream of random words of one draw.
///
/// Different `(seed, path, draw)` triples give streams that are independent for all practical
/// purposes: a collision needs two SHA-256 digests with the same first 128 bits.
///
/// ```
/// use burn_meta::generator::DrawKey;
///
/// let key = DrawKey::new(42, "encoder.layer.0.weight", 0);
/// assert_eq!(key, DrawKey::new(42, "encoder.layer.0.weight", 0));
/// assert_ne!(key, DrawKey::new(42, "encoder.layer.0.weight", 1));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DrawKey {
    /// The Philox key, low word first.
    key: [u32; 2],
    /// Words 2 and 3 of every counter, low word first.
    counter_high: [u32; 2],
}

impl DrawKey {
    /// Makes the key of draw number `draw` of the tensor at `path`, under the user's `seed`.
    ///
    /// The digest is SHA-256 over a domain tag, `seed` (8 bytes), the length of `path` in bytes
    /// (8 bytes), `path` and `draw` (4 bytes), all numbers little-endian.
    pub fn new(seed: u64, path: &str, draw: u32) -> Self {
        let digest = Sha256::new()
            .chain_update(DOMAIN)
            .chain_update(seed.to_le_bytes())
            .chain_update((path.len() as u64).to_le_bytes())
            .chain_update(path.as_bytes())
            .chain_update(draw.to_le_bytes())
            .finalize();
        let word = |at: usize| {
            u32::from_le_bytes([digest[at], digest[at + 1], digest[at + 2], digest[at + 3]])
        };
        Self {
            key: [word(0), word(4)],
            counter_high: [word(8), word(12)],
        }
    }

    /// The 64 words of a group: `[w][l]` is word `w` of block `16 * group + l`.
    #[inline(always)]
    pub(super) fn words(&self, group: u64) -> Words {
        philox::group(
            group.wrapping_mul(LANES as u64),
            self.counter_high,
            self.key,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_follow_the_documented_digest_and_counter() {
        let mut message = DOMAIN.to_vec();
        message.extend(7u64.to_le_bytes());
        message.extend(3u64.to_le_bytes());
        message.extend(b"a.b");
        message.extend(2u32.to_le_bytes());
        let digest = Sha256::digest(&message);
        let word = |at: usize| u32::from_le_bytes(digest[at..at + 4].try_into().unwrap());

        // Block 2^32 + 16 + 5 lies in group 2^28 + 1.
        let words = DrawKey::new(7, "a.b", 2).words((1 << 28) + 1);
        let counter = [16 + 5, 1, word(8), word(12)];
        let block = philox::block(counter, [word(0), word(4)]);
        assert_eq!([0, 1, 2, 3].map(|w| words[w][5]), block);
    }

    #[test]
    fn the_path_cannot_be_confused_with_its_neighbours() {
        let keys = [
            DrawKey::new(0, "", 0),
            DrawKey::new(0, "\0", 0),
            DrawKey::new(0, "\0\0\0\0", 0),
            DrawKey::new(0, "a", 0),
            DrawKey::new(0, "a", 1),
            DrawKey::new(1, "a", 0),
            DrawKey::new(1 << 32, "a", 0),
        ];
        for (i, a) in keys.iter().enumerate() {
            for b in &keys[i + 1..] {
                assert!(a.key != b.key && a.counter_high != b.counter_high);
            }
        }
    }
}
