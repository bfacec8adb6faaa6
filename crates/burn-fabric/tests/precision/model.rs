//! A model with one of everything whose dtype could go wrong: a tie, norms, running statistics, a
//! buffer, dropout, a convolution.

use burn::module::{Module, Param};
use burn::nn::conv::{Conv1d, Conv1dConfig};
use burn::nn::{
    BatchNorm, BatchNormConfig, Dropout, DropoutConfig, Embedding, EmbeddingConfig, LayerNorm,
    LayerNormConfig, Linear, LinearConfig, PositionalEncoding, PositionalEncodingConfig, RmsNorm,
    RmsNormConfig,
};
use burn::tensor::{Device, FloatDType, Int, Tensor, activation::log_softmax};
use burn_fabric::prelude::*;

#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Model {
    pub embedding: Embedding,
    pub positions: PositionalEncoding,
    pub mix: Conv1d,
    pub batch_norm: BatchNorm,
    pub layer_norm: LayerNorm,
    pub rms_norm: RmsNorm,
    pub linear: Linear,
    pub dropout: Dropout,
    /// The embedding's weight.
    pub head: Param<Tensor<2>>,
}

pub const SYMBOLS: usize = 11;
const WIDTH: usize = 16;
const LENGTH: usize = 12;
pub const BATCH: usize = 16;

impl Model {
    pub fn new(device: &Device) -> Self {
        let embedding = EmbeddingConfig::new(SYMBOLS, WIDTH).init(device);
        Self {
            head: embedding.weight.clone(),
            embedding,
            positions: PositionalEncodingConfig::new(WIDTH)
                .with_max_sequence_size(LENGTH)
                .init(device),
            mix: Conv1dConfig::new(WIDTH, WIDTH, 1).init(device),
            batch_norm: BatchNormConfig::new(WIDTH).init(device),
            layer_norm: LayerNormConfig::new(WIDTH).init(device),
            rms_norm: RmsNormConfig::new(WIDTH).init(device),
            linear: LinearConfig::new(WIDTH, WIDTH).init(device),
            dropout: DropoutConfig::new(0.1).init(),
        }
    }

    pub fn logits(&self, symbols: Tensor<2, Int>) -> Tensor<3> {
        let x = self
            .positions
            .forward(self.embedding.forward(symbols).mul_scalar(0.3));
        let x = self
            .batch_norm
            .forward(self.mix.forward(x.swap_dims(1, 2)))
            .swap_dims(1, 2);
        let x = self.layer_norm.forward(x);
        let x = self.linear.forward(self.dropout.forward(x)).tanh();
        let x = self.rms_norm.forward(x);
        x.matmul(self.head.val().transpose().unsqueeze())
    }

    /// Of the symbols shifted by one, in f32.
    pub fn loss(&self, symbols: Tensor<2, Int>) -> Tensor<1> {
        let logits = self.logits(symbols.clone()).cast(FloatDType::F32);
        let target = symbols.add_scalar(1).remainder_scalar(SYMBOLS as i64);
        let chosen = log_softmax(logits, 2).gather(2, target.unsqueeze_dim(2));
        chosen.mean().neg()
    }
}

/// The symbols of a step.
pub fn batch(step: usize, device: &Device) -> Tensor<2, Int> {
    let n = BATCH * LENGTH;
    let values: Vec<i32> = (0..n)
        .map(|i| ((i * 7 + step * 13 + (i * i + step * step) % 5) % SYMBOLS) as i32)
        .collect();
    Tensor::<1, Int>::from_ints(values.as_slice(), device).reshape([BATCH, LENGTH])
}
