//! Where a run's results go.

use std::path::{Path, PathBuf};

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
