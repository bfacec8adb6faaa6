//! Burn's `Learner`: nothing in here knows of a Fabric, but for the module that it is given.

use std::path::Path;

use burn::data::dataloader::DataLoaderBuilder;
use burn::optim::AdamWConfig;
use burn::train::metric::{AccuracyMetric, LossMetric};
use burn::train::{Learner, SupervisedTraining};
use burn_fabric::prelude::*;
use digits_common::{Options, Split};

use crate::{BATCH, LearnerError, Mlp, RATE, Stack, dataset};

/// What Burn's `Learner` gives back.
#[derive(Debug)]
pub struct Learned {
    /// For inference: off autodiff, as `Module::valid` makes it.
    pub model: Mlp,
    /// Why it was stopped from the dashboard, where it was.
    pub stopped: Option<String>,
}

/// A training as Burn has it: its loaders, its metrics, its checkpoints in `folder`, its dashboard
/// where the output is a terminal.
pub fn training(data: &Split, options: &Options, folder: &Path) -> SupervisedTraining<Mlp> {
    let train = DataLoaderBuilder::new(Stack)
        .batch_size(BATCH)
        .shuffle(options.seed)
        .build(dataset(&data.train));
    let test = DataLoaderBuilder::new(Stack)
        .batch_size(BATCH)
        .build(dataset(&data.test));
    SupervisedTraining::new(folder, train, test)
        .metrics((AccuracyMetric::new(), LossMetric::new()))
        .with_default_checkpointers()
        .num_epochs(options.epochs as usize)
        .summary()
}

/// Train a module that a Fabric set up in Burn's `Learner`, with Burn's own optimizer.
///
/// # Errors
/// [`LearnerError::Fabric`] after a step of the module's panicked, [`LearnerError::Learner`].
pub fn learn(
    training: SupervisedTraining<Mlp>,
    model: FabricModule<Mlp>,
) -> Result<Learned, LearnerError> {
    let model = model.into_inner()?;
    let result = training.launch(Learner::new(model, AdamWConfig::new().init(), RATE));
    // The dashboard holds the terminal until it is dropped.
    drop(result.renderer);
    match result.error {
        Some(error) => Err(LearnerError::Learner(error)),
        None => Ok(Learned {
            model: result.model,
            stopped: result
                .interrupted
                .map(|stop| stop.reason.unwrap_or_default()),
        }),
    }
}
