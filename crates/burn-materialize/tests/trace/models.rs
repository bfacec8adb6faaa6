//! Small models that several tests trace.

use burn::module::{Module, Param};
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::{
    BatchNorm, BatchNormConfig, Dropout, DropoutConfig, Embedding, EmbeddingConfig, LayerNorm,
    LayerNormConfig, Linear, LinearConfig, PaddingConfig2d,
};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Int, Tensor};
use burn_materialize::{Materialize, ResetParameters};

/// Two layers and a buffer.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Mlp {
    pub hidden: Linear,
    pub output: Linear,
    pub scale: Tensor<1>,
}

impl Mlp {
    pub fn new(device: &Device) -> Self {
        Self {
            hidden: LinearConfig::new(64, 128).init(device),
            output: LinearConfig::new(128, 10).init(device),
            scale: Tensor::ones([10], device),
        }
    }

    pub fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let hidden = relu(self.hidden.forward(input));
        self.output.forward(hidden) * self.scale.clone().unsqueeze()
    }
}

/// Convolution, running statistics, dropout.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Cnn {
    pub stem: Conv2d,
    pub norm: BatchNorm,
    pub dropout: Dropout,
    pub head: Linear,
}

impl Cnn {
    pub fn new(device: &Device) -> Self {
        Self {
            stem: Conv2dConfig::new([3, 8], [3, 3])
                .with_padding(PaddingConfig2d::Same)
                .init(device),
            norm: BatchNormConfig::new(8).init(device),
            dropout: DropoutConfig::new(0.5).init(),
            head: LinearConfig::new(8 * 6 * 6, 5).init(device),
        }
    }

    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let features = relu(self.norm.forward(self.stem.forward(images)));
        self.head
            .forward(self.dropout.forward(features.flatten(1, 3)))
    }
}

/// One parameter at two paths: what embeds tokens also scores them.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Tied {
    pub embed: Embedding,
    pub norm: LayerNorm,
    pub score: Param<Tensor<2>>,
}

impl Tied {
    pub fn new(device: &Device) -> Self {
        let embed = EmbeddingConfig::new(50, 16).init(device);
        let score = embed.weight.clone();
        Self {
            embed,
            norm: LayerNormConfig::new(16).init(device),
            score,
        }
    }

    pub fn forward(&self, tokens: Tensor<2, Int>) -> Tensor<3> {
        let hidden = self.norm.forward(self.embed.forward(tokens));
        hidden.matmul(self.score.val().transpose().unsqueeze())
    }
}
