//! A small model on 8x8 digits, trained with plain Burn.

mod model;

pub use model::Mlp;

use burn::module::Module;
use burn::optim::{AdamWConfig, GradientsParams};
use burn::tensor::Device;
use digits_common::{Epoch, Journal, Options, Samples, Split, learning_rate};

const BATCH: usize = 32;

/// Train `model` on `device`; what comes back follows from its weights, the data and the options
/// alone.
pub fn train(
    device: &Device,
    mut model: Mlp,
    data: &Split,
    options: &Options,
) -> (Mlp, Vec<Epoch>) {
    let mut optimizer = AdamWConfig::new().init();
    let mut journal = Journal::new(options.epochs, data.train.len().div_ceil(BATCH));
    for epoch in 0..options.epochs {
        let rate = learning_rate(epoch, options.epochs);
        let batches = data.train.batches(BATCH, options.seed, epoch, device);
        for batch in batches {
            let loss = model.loss(batch);
            journal.batch(loss.clone().into_scalar());
            let gradients = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(rate, model, gradients);
        }
        let (snapshot, device) = (model.valid(), device.clone().without_autodiff());
        let accuracy =
            |samples: &Samples| samples.accuracy(&device, |images| snapshot.forward(images));
        journal.epoch(accuracy(&data.train), accuracy(&data.test));
    }
    (model, journal.finish())
}
