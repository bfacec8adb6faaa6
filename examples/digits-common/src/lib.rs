//! What the examples `digits` and `digits-plain` share, so that what is left of each shows where
//! training with burn-fabric differs from plain Burn, and nothing else.

mod data;
mod journal;
mod options;
mod plot;
mod weights;

pub use data::{Batch, CLASSES, PIXELS, Samples, Split};
pub use journal::{Epoch, Journal};
pub use options::{Options, parse, plain_device};
pub use plot::{Curve, draw_curves};
pub use weights::{digest, tensors};

use std::path::{Path, PathBuf};

use burn::module::Module;

/// The learning rate of an epoch: falls from its highest value to zero along half a cosine.
pub fn learning_rate(epoch: u32, epochs: u32) -> f64 {
    const HIGHEST: f64 = 1e-2;
    let progress = f64::from(epoch) / f64::from(epochs);
    HIGHEST * 0.5 * (1.0 + (std::f64::consts::PI * progress).cos())
}

/// Why the results of a run could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// The folder could not be made.
    #[error("cannot create the folder `{}`: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write `{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The folder for the results of a run.
#[derive(Debug)]
pub struct Output {
    folder: PathBuf,
}

impl Output {
    /// Create the folder with its parents: before training, so that a wrong path costs no time.
    ///
    /// # Errors
    /// [`OutputError::Folder`].
    pub fn create(folder: &Path) -> Result<Self, OutputError> {
        let folder = folder.to_owned();
        match std::fs::create_dir_all(&folder) {
            Ok(()) => Ok(Self { folder }),
            Err(source) => Err(OutputError::Folder {
                path: folder,
                source,
            }),
        }
    }

    /// Write the metrics, the picture of them and the trained weights.
    ///
    /// # Errors
    /// [`OutputError::File`].
    pub fn write<M: Module>(&self, epochs: &[Epoch], model: &M) -> Result<(), OutputError> {
        self.file("metrics.csv", |path| Ok(journal::write_csv(epochs, path)?))?;
        self.file("loss.svg", |path| plot::draw(epochs, path))?;
        // Burn's own format. The snapshot that `valid` gives has up-to-date running statistics.
        self.file("weights.bpk", |path| {
            Ok(model.valid().into_record().save(path)?)
        })?;
        println!(
            "metrics.csv, loss.svg and weights.bpk are in {}",
            self.folder.display()
        );
        Ok(())
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Have a file in the folder written.
    ///
    /// # Errors
    /// [`OutputError::File`].
    pub fn file(
        &self,
        name: &str,
        write: impl FnOnce(&Path) -> Result<(), Box<dyn std::error::Error + Send + Sync>>,
    ) -> Result<(), OutputError> {
        let path = self.folder.join(name);
        write(&path).map_err(|source| OutputError::File { path, source })
    }
}
