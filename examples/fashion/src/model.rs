//! The model.

use burn::module::Module;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::{
    BatchNorm, BatchNormConfig, Dropout, DropoutConfig, Linear, LinearConfig, PaddingConfig2d,
};
use burn::tensor::activation::relu;
use burn::tensor::{Device, FloatDType, Tensor};
use burn_fabric::prelude::*;
use fashion_common::{Batch, CLASSES, SIDE};

const CHANNELS: [usize; 3] = [1, 16, 32];
const HIDDEN: usize = 128;

/// Two blocks of a convolution, each of which halves the image, and two linear layers.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Cnn {
    /// From the image.
    pub first: Block,
    /// From what the first found.
    pub second: Block,
    /// Before each linear layer.
    pub dropout: Dropout,
    /// From all that was found.
    pub hidden: Linear,
    /// To one score for each class.
    pub output: Linear,
}

/// A convolution, normalised, of which the greatest of each four stays.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Block {
    /// Over 3 x 3 pixels.
    pub convolution: Conv2d,
    /// Of what it says.
    pub norm: BatchNorm,
    /// Of 2 x 2 pixels.
    pub pool: MaxPool2d,
}

impl Block {
    fn new(from: usize, to: usize, device: &Device) -> Self {
        let convolution = Conv2dConfig::new([from, to], [3, 3]);
        let convolution = convolution.with_padding(PaddingConfig2d::Explicit(1, 1, 1, 1));
        Self {
            // The norm has a bias of its own.
            convolution: convolution.with_bias(false).init(device),
            norm: BatchNormConfig::new(to).init(device),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
        }
    }

    fn forward(&self, images: Tensor<4>) -> Tensor<4> {
        let found = self.norm.forward(self.convolution.forward(images));
        // In this order a fourth is left for the ReLU, and the result is the same.
        relu(self.pool.forward(found))
    }
}

impl Cnn {
    /// Build it on `device`.
    pub fn new(dropout: f64, device: &Device) -> Self {
        let [image, few, many] = CHANNELS;
        let side = SIDE / 4;
        Self {
            first: Block::new(image, few, device),
            second: Block::new(few, many, device),
            dropout: DropoutConfig::new(dropout).init(),
            hidden: LinearConfig::new(many * side * side, HIDDEN).init(device),
            output: LinearConfig::new(HIDDEN, CLASSES).init(device),
        }
    }

    /// `[samples, 1, rows, columns]` to `[samples, classes]`, in f32 whatever the model computes in: a
    /// loss of half precision would be none.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let found = self.second.forward(self.first.forward(images));
        let found = self.dropout.forward(found.flatten::<2>(1, 3));
        let hidden = relu(self.hidden.forward(found));
        let scores = self.output.forward(self.dropout.forward(hidden));
        scores.cast(FloatDType::F32)
    }

    /// The mean cross-entropy of a batch.
    pub fn loss(&self, batch: Batch) -> Tensor<1> {
        let scores = self.forward(batch.images);
        let criterion = CrossEntropyLossConfig::new().init(&scores.device());
        criterion.forward(scores, batch.labels)
    }
}
