//! A small model on 8x8 digits, trained with burn-fabric.

mod model;

pub use model::Mlp;

use burn::optim::AdamWConfig;
use burn_fabric::prelude::*;
use digits_common::{Epoch, Journal, Options, Samples, Split, learning_rate};

const BATCH: usize = 32;

/// Train `model`; what it becomes follows from its weights, the data and the options alone.
///
/// # Errors
/// As [`Fabric::setup_optimizer`], [`Fabric::backward`] and [`FabricOptimizer::step`].
pub fn train(
    fabric: &Fabric,
    model: &mut FabricModule<Mlp>,
    data: &Split,
    options: &Options,
) -> Result<Vec<Epoch>, FabricError> {
    let mut optimizer = fabric.setup_optimizer(model, AdamWConfig::new())?;
    let device = fabric.device();
    let mut journal = Journal::new(options.epochs, data.train.len().div_ceil(BATCH));
    for epoch in 0..options.epochs {
        let rate = learning_rate(epoch, options.epochs);
        let batches = data.train.batches(BATCH, options.seed, epoch, device);
        for batch in batches {
            let loss = model.loss(batch);
            journal.batch(loss.clone().into_scalar());
            let gradients = fabric.backward(loss, model)?;
            optimizer.step(rate, model, gradients)?;
        }
        let (train, test) = fabric.evaluate(model, |model, device| {
            let accuracy =
                |samples: &Samples| samples.accuracy(device, |images| model.forward(images));
            (accuracy(&data.train), accuracy(&data.test))
        })?;
        journal.epoch(train, test);
    }
    Ok(journal.finish())
}
