//! A convolutional network on Fashion-MNIST, trained with burn-fabric.

mod error;
mod model;
mod state;

pub use error::FashionError;
pub use model::{Block, Cnn};
pub use state::{Training, run_folder};

use burn_fabric::prelude::*;
use fashion_common::{Batch, Normalised, Samples, Score, TEST_BATCH};
use run_common::Ended;

/// The test samples, for [`train`].
///
/// # Errors
/// As [`Fabric::setup_dataloader`].
pub fn test_loader(
    fabric: &Fabric,
    samples: Samples,
    workers: usize,
) -> Result<FabricDataLoader<Batch>, FabricError> {
    let loader = LoaderOverDataset::new(samples, Normalised)
        .batch_size(TEST_BATCH)
        .workers(workers)
        .inference(true);
    fabric.setup_dataloader(loader)
}

/// Train from where the state is, to the end or to an interrupt; what the model becomes follows from
/// its weights, the data, the seed and the settings alone.
///
/// # Errors
/// As [`Fabric::backward`], [`Fabric::clip_gradients`], [`FabricOptimizer::step`] and
/// [`Checkpoints::save`]; where a batch cannot be made.
pub fn train(
    fabric: &Fabric,
    training: &mut Training,
    test: &FabricDataLoader<Batch>,
    checkpoints: &Checkpoints,
    interrupt: &Interrupt,
) -> Result<Ended, FabricError> {
    let epochs = training.settings.epochs;
    let batches = training.data.num_batches().unwrap_or(0);
    training.journal.begin(epochs, batches);
    while training.data.epoch() < epochs {
        for batch in training.data.iter() {
            training.rng.begin_step();
            let loss = training.model.loss(batch?);
            let value = loss.clone().into_scalar();
            let mut gradients = fabric.backward(loss, &training.model)?;
            let is_skipped = match fabric.settings().clip {
                None => false,
                clip => fabric
                    .clip_gradients(&training.model, &mut gradients, clip)?
                    .is_skipped(),
            };
            let rate = training.scheduler.step();
            if !is_skipped {
                let model = &mut training.model;
                training.optimizer.step(rate, model, gradients)?;
            }
            training.journal.batch(value);
            if interrupt.is_requested() {
                training.journal.end();
                let folder = checkpoints.save(training, training.steps(), [])?;
                return Ok(Ended::Interrupted(folder));
            }
        }
        let score = fabric.evaluate(&training.model, |model, _| {
            let mut score = Score::default();
            for batch in test.iter() {
                let batch = batch?;
                score.add(model.forward(batch.images), batch.labels);
            }
            Ok::<_, FabricError>(score)
        })??;
        training.journal.epoch(&score);
        let measured = [("accuracy", f64::from(score.accuracy()))];
        checkpoints.save(training, training.steps(), measured)?;
    }
    training.journal.end();
    Ok(Ended::Done)
}
