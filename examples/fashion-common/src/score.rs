//! How well a model tells the test samples.

use burn::nn::loss::CrossEntropyLossConfig;
use burn::tensor::{Int, Tensor};

/// What batches without training came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Score {
    loss: f64,
    right: usize,
    samples: usize,
}

impl Score {
    /// Add a batch: a score for each class, and what it is.
    pub fn add(&mut self, scores: Tensor<2>, labels: Tensor<1, Int>) {
        let samples = scores.dims()[0];
        let predicted = scores.clone().argmax(1).flatten::<1>(0, 1);
        let right: i64 = predicted.equal(labels.clone()).int().sum().into_scalar();
        let criterion = CrossEntropyLossConfig::new().init(&scores.device());
        let loss: f32 = criterion.forward(scores, labels).into_scalar();
        self.loss += f64::from(loss) * samples as f64;
        self.right += usize::try_from(right).unwrap_or(0);
        self.samples += samples;
    }

    /// The mean loss of a sample.
    pub fn loss(&self) -> f32 {
        (self.loss / self.samples as f64) as f32
    }

    /// Which part of the samples was told right.
    pub fn accuracy(&self) -> f32 {
        self.right as f32 / self.samples as f32
    }
}
