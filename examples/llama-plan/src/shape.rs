//! The sizes of a model.

use serde::Serialize;

/// The sizes of a model, by the names of "The Llama 3 Herd of Models" (2024), table 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shape {
    /// Blocks.
    pub layers: usize,
    /// Elements of a token between them.
    pub width: usize,
    /// Elements of a token within a feed-forward layer.
    pub hidden: usize,
    /// Heads that ask.
    pub heads: usize,
    /// Heads of keys and values, each for `heads / key_heads` that ask.
    pub key_heads: usize,
    /// Tokens there are.
    pub vocabulary: usize,
}

impl Shape {
    /// Llama 3 8B.
    pub const B8: Self = Self {
        layers: 32,
        width: 4096,
        hidden: 14_336,
        heads: 32,
        key_heads: 8,
        vocabulary: 128_256,
    };

    /// Llama 3 70B.
    pub const B70: Self = Self {
        layers: 80,
        width: 8192,
        hidden: 28_672,
        heads: 64,
        key_heads: 8,
        vocabulary: 128_256,
    };

    /// Of the same form, and small enough to be run and trained in seconds.
    pub const TINY: Self = Self {
        layers: 2,
        width: 32,
        hidden: 96,
        heads: 4,
        key_heads: 2,
        vocabulary: 64,
    };

    /// Elements of a head.
    pub const fn head(&self) -> usize {
        self.width / self.heads
    }

    /// Parameters, counted by hand: the embedding and the head, which are two here, the norms, and of
    /// each block query and output, key and value, and three linear layers.
    pub const fn parameters(&self) -> u64 {
        let keys = 2 * self.width * self.key_heads * self.head();
        let block = 2 * self.width * self.width + keys + 3 * self.width * self.hidden;
        let norms = (2 * self.layers + 1) * self.width;
        (2 * self.vocabulary * self.width + self.layers * block + norms) as u64
    }

    /// Floating-point operations of the products of a forward pass over `batch` sequences of `length`
    /// tokens, counted by hand: two for each weight of a linear layer and token, and for the attention
    /// two for each element of a head, pair of tokens and product of the two. All pairs are counted,
    /// those that are masked too, since they are computed.
    pub const fn flops(&self, batch: u64, length: u64) -> u64 {
        let embedding = (self.vocabulary * self.width) as u64;
        let norms = ((2 * self.layers + 1) * self.width) as u64;
        let weights = self.parameters() - embedding - norms;
        let attention = (self.layers * 2 * self.width) as u64;
        let attention = attention.saturating_mul(length).saturating_mul(length);
        let of_one = weights.saturating_mul(length).saturating_add(attention);
        of_one.saturating_mul(2).saturating_mul(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_those_that_are_published() {
        assert_eq!(Shape::B8.parameters(), 8_030_261_248);
        assert_eq!(Shape::B70.parameters(), 70_553_706_496);
    }
}
