//! A transformer of about ten million parameters.

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor};
use burn_fabric::prelude::*;

const VOCABULARY: usize = 256;
const WIDTH: usize = 384;
const LAYERS: usize = 6;
const SEQUENCE: usize = 32;

/// Embedding, encoder, head.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Transformer {
    embedding: Embedding,
    encoder: TransformerEncoder,
    head: Linear,
}

impl Transformer {
    /// Build it on `device`.
    pub fn new(device: &Device) -> Self {
        // Dropout draws from a generator that both sides would share.
        let encoder = TransformerEncoderConfig::new(WIDTH, 4 * WIDTH, 6, LAYERS).with_dropout(0.0);
        Self {
            embedding: EmbeddingConfig::new(VOCABULARY, WIDTH).init(device),
            encoder: encoder.init(device),
            head: LinearConfig::new(WIDTH, VOCABULARY).init(device),
        }
    }

    /// The mean cross-entropy of predicting `tokens` from themselves.
    pub fn loss(&self, tokens: Tensor<2, Int>) -> Tensor<1> {
        let embedded = self.embedding.forward(tokens.clone());
        let encoded = self.encoder.forward(TransformerEncoderInput::new(embedded));
        let scores = self.head.forward(encoded).flatten::<2>(0, 1);
        let criterion = CrossEntropyLossConfig::new().init(&scores.device());
        criterion.forward(scores, tokens.flatten(0, 1))
    }
}

/// `[batch, sequence]` tokens that follow from `step`.
pub fn tokens(step: usize, batch: usize, device: &Device) -> Tensor<2, Int> {
    let count = (batch * SEQUENCE) as i64;
    let numbers = Tensor::<1, Int>::arange(0..count, device);
    let numbers = numbers.mul_scalar(7919 * (step as i64 + 1));
    numbers
        .remainder_scalar(VOCABULARY as i64)
        .reshape([batch, SEQUENCE])
}
