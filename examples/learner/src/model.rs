//! The model: derives for burn-fabric, and the two steps of Burn's `Learner`.

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use burn::train::{ClassificationOutput, InferenceStep, TrainOutput, TrainStep};
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

    /// `[samples, pixels]` to `[samples, digits]`.
    pub fn forward(&self, images: Tensor<2>) -> Tensor<2> {
        let hidden = self.norm.forward(self.hidden.forward(images));
        self.output.forward(relu(hidden))
    }

    /// The mean cross-entropy of a batch, with what Burn's metrics want besides.
    pub fn classify(&self, batch: Batch) -> ClassificationOutput {
        let scores = self.forward(batch.images);
        let criterion = CrossEntropyLossConfig::new().init(&scores.device());
        let loss = criterion.forward(scores.clone(), batch.labels.clone());
        ClassificationOutput::new(loss, scores, batch.labels)
    }
}

impl TrainStep for Mlp {
    type Input = Batch;
    type Output = ClassificationOutput;

    fn step(&self, batch: Batch) -> TrainOutput<ClassificationOutput> {
        let item = self.classify(batch);
        TrainOutput::new(self, item.loss.backward(), item)
    }
}

impl InferenceStep for Mlp {
    type Input = Batch;
    type Output = ClassificationOutput;

    fn step(&self, batch: Batch) -> ClassificationOutput {
        self.classify(batch)
    }
}
