//! Where a benchmark has its files.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::peer::target;

/// A folder in the target directory that goes with this; what an interrupted run left there goes
/// first.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder of the benchmark of that name.
    ///
    /// # Errors
    /// Where it cannot be made.
    pub fn new(bench: &str) -> Result<Self> {
        let folder = Self(target()?.join("bench").join(bench));
        folder.remove();
        std::fs::create_dir_all(&folder.0)?;
        Ok(folder)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    fn remove(&self) {
        // It may not be there; what cannot be removed does not change what is measured.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.remove();
    }
}
