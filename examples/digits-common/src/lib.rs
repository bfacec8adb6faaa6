//! What the examples `digits` and `digits-plain` share, so that what is left of each shows where
//! training with burn-fabric differs from plain Burn, and nothing else.

mod data;
mod journal;
mod options;
mod picture;

pub use data::{Batch, CLASSES, PIXELS, Samples, Split};
pub use journal::{Epoch, Journal};
pub use options::Options;

use burn::module::Module;
use run_common::{Output, OutputError};

/// The learning rate of an epoch: falls from its highest value to zero along half a cosine.
pub fn learning_rate(epoch: u32, epochs: u32) -> f64 {
    const HIGHEST: f64 = 1e-2;
    let progress = f64::from(epoch) / f64::from(epochs);
    HIGHEST * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos())
}

/// Write the metrics, the picture of them and the trained weights.
///
/// # Errors
/// [`OutputError::File`].
pub fn write_results<M: Module>(
    output: &Output,
    epochs: &[Epoch],
    model: &M,
) -> Result<(), OutputError> {
    output.file("metrics.csv", |path| Ok(journal::write_csv(epochs, path)?))?;
    output.file("loss.svg", |path| picture::draw(epochs, path))?;
    // Burn's own format. The snapshot that `valid` gives has up-to-date running statistics.
    output.file("weights.bpk", |path| {
        Ok(model.valid().into_record().save(path)?)
    })?;
    let folder = output.folder().display();
    println!("metrics.csv, loss.svg and weights.bpk are in {folder}");
    Ok(())
}
