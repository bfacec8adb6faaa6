//! Packages of Python that pip unpacked: all their files go to the asset's folder, and then the list of
//! them, which shows that they are all there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use test_assets::AssetFile;

use super::Package;
use super::place::place;

/// Where they were unpacked, and what they are.
pub struct Packages {
    folder: PathBuf,
    requirements: &'static str,
}

impl Packages {
    /// Those in `folder`.
    pub fn unpacked(folder: PathBuf, requirements: &'static str) -> Self {
        Self {
            folder,
            requirements,
        }
    }
}

impl Package for Packages {
    fn take(&mut self, file: &AssetFile, folder: &Path) -> Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let target = folder.join(entry.file_name());
            // Of an earlier list, or of a fetch that was cut off.
            if target.is_dir() {
                fs::remove_dir_all(&target)?;
            }
            fs::rename(entry.path(), target)?;
        }
        place(self.requirements.as_bytes(), file, folder)
    }
}
