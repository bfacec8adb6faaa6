//! A convolutional network on Fashion-MNIST, trained with plain Burn.

mod model;

pub use model::{Block, Cnn};

use std::error::Error;

use burn::data::dataloader::DataLoaderBuilder;
use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::Device;
use fashion_common::{Data, Journal, Normalised, Score, Settings, TEST_BATCH};

/// Train `model` on `device`. The order of the samples follows from `seed` where one thread makes the
/// batches at most.
///
/// # Errors
/// Where a batch cannot be made, or the settings give no schedule.
pub fn train(
    device: &Device,
    mut model: Cnn,
    data: Data,
    settings: &Settings,
    seed: u64,
    workers: usize,
) -> Result<(Cnn, Journal), Box<dyn Error>> {
    let train = DataLoaderBuilder::new(Normalised)
        .batch_size(settings.batch_size as usize)
        .shuffle(seed)
        .num_workers(workers)
        .set_device(device.clone())
        .build(data.train);
    let test = DataLoaderBuilder::new(Normalised)
        .batch_size(TEST_BATCH)
        .num_workers(workers)
        .set_device(device.clone().without_autodiff())
        .build(data.test);
    let batches = train.num_items().div_ceil(settings.batch_size as usize);
    let mut optimizer = settings.optimizer().init();
    let mut scheduler = settings.schedule(batches).init()?;
    let mut journal = Journal::default();
    journal.begin(settings.epochs, batches);
    for _ in 0..settings.epochs {
        for batch in train.iter() {
            let loss = model.loss(batch?);
            let value = loss.clone().into_scalar();
            let gradients = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(scheduler.step(), model, gradients);
            journal.batch(value);
        }
        let (snapshot, mut score) = (model.valid(), Score::default());
        for batch in test.iter() {
            let batch = batch?;
            score.add(snapshot.forward(batch.images), batch.labels);
        }
        journal.epoch(&score);
    }
    journal.end();
    Ok((model, journal))
}
