//! A package of Debian: unpacked beside the assets for as long as files are taken, by their exact
//! names. None of its scripts is run.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use test_assets::AssetFile;

use super::Package;
use super::place::place;

/// An unpacked package.
pub struct Deb {
    folder: PathBuf,
}

impl Deb {
    /// Unpack it into a folder within `temporary`.
    pub fn open(path: &Path, temporary: &Path) -> Result<Self> {
        let folder = temporary.join("unpacked");
        let mut command = Command::new("dpkg-deb");
        let output = command.arg("--extract").arg(path).arg(&folder).output();
        let output = output.context("there is no dpkg-deb to unpack it with")?;
        ensure!(
            output.status.success(),
            "{} is no package of Debian: {}",
            path.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(Self { folder })
    }
}

impl Package for Deb {
    fn take(&mut self, file: &AssetFile, folder: &Path) -> Result<()> {
        let path = self.folder.join(file.entry);
        // A link could lead anywhere.
        let is_there = path.symlink_metadata().is_ok_and(|found| found.is_file());
        ensure!(is_there, "the package has no `{}`", file.entry);
        place(File::open(path)?, file, folder)
    }
}
