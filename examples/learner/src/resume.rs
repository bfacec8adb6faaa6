//! A Fabric loop over what the `Learner` gave back, which Burn's metrics look at.

use burn::data::dataloader::Progress;
use burn::optim::AdamWConfig;
use burn::train::ClassificationOutput;
use burn::train::metric::{
    AccuracyMetric, Adaptor, ItemLazy, LossMetric, Metric, MetricMetadata, Numeric,
};
use burn_fabric::prelude::*;
use digits_common::Samples;

use crate::{BATCH, LearnerError, Mlp, RATE, Stack, dataset};

/// Burn's metrics of an epoch.
#[derive(Default)]
pub struct Scores {
    accuracy: AccuracyMetric,
    loss: LossMetric,
}

impl Scores {
    /// Count a batch. What it was computed with is not kept.
    ///
    /// # Errors
    /// [`LearnerError::Device`], [`LearnerError::Metric`].
    pub fn update(&mut self, output: ClassificationOutput) -> Result<(), LearnerError> {
        // Off autodiff, as Burn's Learner hands it to metrics.
        let output = output.sync()?;
        // These two look at the tensors alone.
        let metadata = MetricMetadata {
            progress: Progress::new(0, 0, None),
            iteration: None,
            lr: None,
        };
        self.accuracy.update(&output.adapt(), &metadata)?;
        self.loss.update(&output.adapt(), &metadata)?;
        Ok(())
    }

    /// The part of the samples that was told right, in per cent.
    pub fn accuracy(&self) -> f64 {
        self.accuracy.final_value().current()
    }

    /// The mean of the batches' losses: a batch gives one number, so a shorter one counts as much.
    pub fn loss(&self) -> f64 {
        self.loss.final_value().current()
    }
}

/// Train one more epoch, each batch measured before its step.
///
/// # Errors
/// As [`Fabric::setup_optimizer`], [`Fabric::backward`], [`FabricOptimizer::step`] and
/// [`Scores::update`]; where a batch cannot be made.
pub fn one_more_epoch(
    fabric: &Fabric,
    model: &mut FabricModule<Mlp>,
    samples: &Samples,
) -> Result<Scores, LearnerError> {
    let mut optimizer = fabric.setup_optimizer(model, AdamWConfig::new())?;
    let loader = LoaderOverDataset::new(dataset(samples), Stack);
    let loader = fabric.setup_dataloader(loader.batch_size(BATCH).shuffle())?;
    let mut scores = Scores::default();
    for batch in loader.iter() {
        let output = model.classify(batch?);
        let gradients = fabric.backward(output.loss.clone(), model)?;
        scores.update(output)?;
        optimizer.step(RATE, model, gradients)?;
    }
    Ok(scores)
}
