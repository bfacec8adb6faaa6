//! What the examples `fashion` and `fashion-plain` share, so that what is left of each shows where
//! training with burn-fabric differs from plain Burn, and nothing else.

mod data;
mod idx;
mod journal;
mod options;
mod score;

pub use data::{Batch, Data, NAMES, Normalised, Sample, Samples};
pub use idx::IdxError;
pub use journal::{Epoch, Journal};
pub use options::{ConfigError, DataError, Options, Settings};
pub use score::Score;

use burn::module::Module;
use run_common::{Output, OutputError};

/// How many classes there are to tell apart.
pub const CLASSES: usize = 10;
/// Rows of an image, and columns.
pub const SIDE: usize = 28;
/// How many pixels an image has.
pub const PIXELS: usize = SIDE * SIDE;
/// Samples of a batch in a test: those of training may be few, for the sake of learning.
pub const TEST_BATCH: usize = 500;

/// The results of a run, the last one written last.
pub const RESULTS: [&str; 3] = ["metrics.csv", "curves.svg", "weights.bpk"];

/// Write the metrics, the curves and the trained weights.
///
/// # Errors
/// [`OutputError::File`].
pub fn write_results<M: Module>(
    output: &Output,
    journal: &Journal,
    model: &M,
) -> Result<(), OutputError> {
    let [metrics, curves, weights] = RESULTS;
    let epochs = journal.epochs();
    output.file(metrics, |path| Ok(journal::write_csv(epochs, path)?))?;
    output.file(curves, |path| journal::draw(epochs, path))?;
    // Burn's own format. The snapshot that `valid` gives has up-to-date running statistics.
    output.file(weights, |path| {
        Ok(model.valid().into_record().save(path)?)
    })?;
    let folder = output.folder().display();
    println!("{metrics}, {curves} and {weights} are in {folder}");
    Ok(())
}
