//! The model.

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig};
use burn::tensor::activation::relu;
use burn::tensor::{Device, FloatDType, Tensor};
use burn_fabric::prelude::*;
use digits_common::{Batch, CLASSES, PIXELS};

const HIDDEN: usize = 128;

/// One hidden layer, normalised.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Mlp {
    /// From pixels.
    pub hidden: Linear,
    /// Of what the hidden layer says.
    pub norm: BatchNorm,
    /// To one score for each digit.
    pub output: Linear,
}

impl Mlp {
    /// Build it on `device`.
    pub fn new(device: &Device) -> Self {
        Self {
            hidden: LinearConfig::new(PIXELS, HIDDEN).init(device),
            norm: BatchNormConfig::new(HIDDEN).init(device),
            output: LinearConfig::new(HIDDEN, CLASSES).init(device),
        }
    }

    /// `[samples, pixels]` to `[samples, digits]`, in f32 whatever the model computes in: a loss of half
    /// precision would be none.
    pub fn forward(&self, images: Tensor<2>) -> Tensor<2> {
        let hidden = self.norm.forward(self.hidden.forward(images));
        self.output.forward(relu(hidden)).cast(FloatDType::F32)
    }

    /// The mean cross-entropy of a batch.
    pub fn loss(&self, batch: Batch) -> Tensor<1> {
        let scores = self.forward(batch.images);
        let criterion = CrossEntropyLossConfig::new().init(&scores.device());
        criterion.forward(scores, batch.labels)
    }
}
