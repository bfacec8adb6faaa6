//! The model.

use burn::module::Module;
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{Dropout, DropoutConfig, Embedding, EmbeddingConfig, LayerNorm, LayerNormConfig};
use burn::tensor::{Device, Int, Tensor};
use burn_fabric::prelude::*;

use crate::{Batch, BertConfig};

/// A BERT whose last layer is averaged over the tokens of a sentence.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct MiniLm {
    /// From tokens to vectors.
    pub embeddings: Embeddings,
    /// Burn's own encoder computes what BERT's does.
    pub encoder: TransformerEncoder,
}

/// What a token is, where it stands, and in which segment.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Embeddings {
    /// Of each token.
    pub word: Embedding,
    /// Of each place.
    pub position: Embedding,
    /// Of each segment.
    pub token_type: Embedding,
    /// Of the sum of the three.
    pub norm: LayerNorm,
    /// While training.
    pub dropout: Dropout,
}

impl MiniLm {
    /// Build it on `device`.
    pub fn new(config: &BertConfig, device: &Device) -> Self {
        let encoder = TransformerEncoderConfig::new(
            config.hidden_size,
            config.intermediate_size,
            config.num_attention_heads,
            config.num_hidden_layers,
        );
        Self {
            embeddings: Embeddings::new(config, device),
            encoder: encoder
                .with_dropout(config.hidden_dropout_prob)
                .with_layer_norm_eps(config.layer_norm_eps)
                .init(device),
        }
    }

    /// The last layer's vectors, padding included: `[sentences, tokens, hidden]`.
    pub fn forward(&self, batch: &Batch, device: &Device) -> Tensor<3> {
        let embedded = self.embeddings.forward(batch.ids(device));
        let input = TransformerEncoderInput::new(embedded).mask_pad(batch.padding(device));
        self.encoder.forward(input)
    }

    /// One vector of length 1 for each sentence: `[sentences, hidden]`. The scalar product of two is
    /// the cosine of the angle between them.
    pub fn embed(&self, batch: &Batch, device: &Device) -> Tensor<2> {
        let hidden = self.forward(batch, device);
        let [sentences, tokens, width] = hidden.dims();
        let padding = batch.padding(device).reshape([sentences, tokens, 1]);
        let sum = hidden.mask_fill(padding.expand([sentences, tokens, width]), 0.0);
        // The mean's divisor would be scaled away again.
        let sum = sum.sum_dim(1).reshape([sentences, width]);
        let length = sum.clone().powi_scalar(2).sum_dim(1).sqrt();
        sum / length
    }
}

impl Embeddings {
    fn new(config: &BertConfig, device: &Device) -> Self {
        let table = |rows| EmbeddingConfig::new(rows, config.hidden_size).init(device);
        Self {
            word: table(config.vocab_size),
            position: table(config.max_position_embeddings),
            token_type: table(config.type_vocab_size),
            norm: LayerNormConfig::new(config.hidden_size)
                .with_epsilon(config.layer_norm_eps)
                .init(device),
            dropout: DropoutConfig::new(config.hidden_dropout_prob).init(),
        }
    }

    fn forward(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        let ([_, tokens], device) = (ids.dims(), ids.device());
        let places = Tensor::arange(0..tokens as i64, &device).reshape([1, tokens]);
        // Single sentences are all in the first segment.
        let segment = Tensor::zeros([1, 1], &device);
        let sum = self.word.forward(ids)
            + self.position.forward(places)
            + self.token_type.forward(segment);
        self.dropout.forward(self.norm.forward(sum))
    }
}
