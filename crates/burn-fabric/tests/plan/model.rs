//! What is planned.

use burn::module::{Module, Param};
use burn::nn::{Embedding, EmbeddingConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor};
use burn_fabric::burn_materialize::{DefaultDTypes, Materialize, Meta, ResetParameters};

pub const TOKENS: usize = 300;
pub const WIDTH: usize = 64;
pub const LENGTH: usize = 16;
/// Elements of its parameters, the tie once: the embedding, the norm, the mixer.
pub const PARAMETERS: u64 = (TOKENS * WIDTH + 2 * WIDTH + WIDTH * WIDTH + WIDTH) as u64;

/// A model of language without much: its head is tied to the embedding.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Model {
    pub embedding: Embedding,
    pub norm: LayerNorm,
    pub mixer: Linear,
    pub head: Param<Tensor<2>>,
    pub mask: Tensor<2>,
}

impl Model {
    pub fn new(device: &Device) -> Self {
        let embedding = EmbeddingConfig::new(TOKENS, WIDTH).init(device);
        Self {
            head: embedding.weight.clone(),
            embedding,
            norm: LayerNormConfig::new(WIDTH).init(device),
            mixer: LinearConfig::new(WIDTH, WIDTH).init(device),
            mask: Tensor::ones([LENGTH, LENGTH], device).tril(0),
        }
    }

    pub fn forward(&self, tokens: Tensor<2, Int>) -> Tensor<3> {
        let x = self.embedding.forward(tokens);
        let x = self.mask.clone().unsqueeze::<3>().matmul(x);
        let x = self.mixer.forward(self.norm.forward(x)).tanh();
        x.matmul(self.head.val().transpose().unsqueeze())
    }
}

pub fn meta() -> Meta<Model> {
    Meta::build_with(DefaultDTypes::default(), Model::new).unwrap()
}

pub fn forward(model: &Model, device: &Device, batch: usize) -> Tensor<3> {
    model.forward(Tensor::zeros([batch, LENGTH], device))
}

pub fn loss(model: &Model, device: &Device, batch: usize) -> Tensor<1> {
    forward(model, device, batch).powi_scalar(2).mean()
}
