//! The model.

use burn::module::{Module, Param};
use burn::nn::attention::generate_autoregressive_mask;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::transformer::{PositionWiseFeedForward, PositionWiseFeedForwardConfig};
use burn::nn::{
    Embedding, EmbeddingConfig, Initializer, LayerNorm, LayerNormConfig, Linear, LinearConfig,
    RotaryEncoding, RotaryEncodingConfig,
};
use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Device, FloatDType, Int, Tensor};
use burn_fabric::prelude::*;

use crate::{Batch, Shape};

/// A transformer over characters.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Transformer {
    /// From a symbol.
    pub embedding: Embedding,
    /// Where in the window it stands.
    pub rotary: RotaryEncoding,
    /// One after another.
    pub blocks: Vec<Block>,
    /// Before the head.
    pub norm: LayerNorm,
    /// To a score for each symbol.
    pub head: Head,
}

/// What precedes looked at, and each place thought about; both added to what comes in.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Block {
    /// Before the attention.
    pub attention_norm: LayerNorm,
    /// To what precedes.
    pub attention: Attention,
    /// Before the feed-forward layers.
    pub feed_forward_norm: LayerNorm,
    /// At each place alone.
    pub feed_forward: PositionWiseFeedForward,
}

/// Attention of each place to itself and to those before it.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Attention {
    /// Query, key and value, side by side.
    pub input: Linear,
    /// From all heads.
    pub output: Linear,
    heads: usize,
}

/// The embedding read backwards: its one weight, standing here a second time.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Head {
    /// `[symbols, width]`.
    pub weight: Param<Tensor<2>>,
}

impl Attention {
    fn new(shape: &Shape, device: &Device) -> Self {
        let linear = |to| LinearConfig::new(shape.width, to).with_bias(false);
        Self {
            input: linear(3 * shape.width).init(device),
            output: linear(shape.width).init(device),
            heads: shape.heads,
        }
    }

    fn forward(&self, x: Tensor<3>, rotary: &RotaryEncoding, later: Tensor<4, Bool>) -> Tensor<3> {
        let [batch, length, width] = x.dims();
        let size = width / self.heads;
        let parts = self.input.forward(x);
        let part = |number: usize| {
            let part = parts.clone().narrow(2, number * width, width);
            let heads = part.reshape([batch, length, self.heads, size]);
            heads.swap_dims(1, 2)
        };
        // Scores then depend on how far apart two places are, and on nothing else of where they are.
        let query = rotary.forward(part(0));
        let key = rotary.forward(part(1));
        let scores = query
            .matmul(key.transpose())
            .div_scalar((size as f64).sqrt());
        // Infinity, which every dtype has.
        let scores = scores.mask_fill(later, f32::NEG_INFINITY);
        let mixed = softmax(scores, 3).matmul(part(2));
        self.output
            .forward(mixed.swap_dims(1, 2).reshape([batch, length, width]))
    }
}

impl Block {
    fn new(shape: &Shape, device: &Device) -> Self {
        let norm = || LayerNormConfig::new(shape.width).init(device);
        let feed_forward = PositionWiseFeedForwardConfig::new(shape.width, 4 * shape.width);
        Self {
            attention_norm: norm(),
            attention: Attention::new(shape, device),
            feed_forward_norm: norm(),
            feed_forward: feed_forward.with_dropout(0.0).init(device),
        }
    }

    fn forward(&self, x: Tensor<3>, rotary: &RotaryEncoding, later: Tensor<4, Bool>) -> Tensor<3> {
        let normed = self.attention_norm.forward(x.clone());
        let x = x + self.attention.forward(normed, rotary, later);
        let normed = self.feed_forward_norm.forward(x.clone());
        x + self.feed_forward.forward(normed)
    }
}

impl Transformer {
    /// Build it on `device`, for so many symbols.
    pub fn new(symbols: usize, shape: &Shape, device: &Device) -> Self {
        let initializer = Initializer::Normal {
            mean: 0.0,
            std: 0.02,
        };
        let embedding = EmbeddingConfig::new(symbols, shape.width);
        let embedding = embedding.with_initializer(initializer).init(device);
        Self {
            rotary: RotaryEncodingConfig::new(shape.context, shape.width / shape.heads)
                .init(device),
            blocks: (0..shape.layers)
                .map(|_| Block::new(shape, device))
                .collect(),
            norm: LayerNormConfig::new(shape.width).init(device),
            head: Head {
                // The same parameter, not a copy of it: one id, one tensor.
                weight: embedding.weight.clone(),
            },
            embedding,
        }
    }

    /// `[samples, characters]` to `[samples, characters, symbols]`: scores of what comes next.
    pub fn forward(&self, symbols: Tensor<2, Int>) -> Tensor<3> {
        let [_, length] = symbols.dims();
        // `[1, 1, length, length]`: for every sample and every head.
        let later = generate_autoregressive_mask(1, length, &symbols.device()).unsqueeze_dim(1);
        let mut x = self.embedding.forward(symbols);
        for block in &self.blocks {
            x = block.forward(x, &self.rotary, later.clone());
        }
        let weight = self.head.weight.val().transpose();
        self.norm.forward(x).matmul(weight.unsqueeze())
    }

    /// The mean cross-entropy of a batch, in nats a character; in `f32` whatever the model computes
    /// in, since a half-precision sum of thousands of terms would be no mean.
    pub fn loss(&self, batch: Batch) -> Tensor<1> {
        let scores = self.forward(batch.symbols).flatten::<2>(0, 1);
        let scores = scores.cast(FloatDType::F32);
        let criterion = CrossEntropyLossConfig::new().init(&scores.device());
        criterion.forward(scores, batch.next.flatten(0, 1))
    }
}
