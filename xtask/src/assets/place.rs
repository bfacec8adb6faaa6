//! A file of a package to its place.

use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Result, ensure};
use sha2::{Digest, Sha256};
use test_assets::AssetFile;

use super::hash::{check, hexadecimal};

/// Write what `content` has into `folder` under the file's name, whole and checked or not at all.
pub fn place(content: impl Read, file: &AssetFile, folder: &Path) -> Result<()> {
    // Removed unless it is renamed.
    let mut target = tempfile::Builder::new();
    #[cfg(unix)]
    target.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644));
    let mut target = Hashing {
        inner: target.tempfile_in(folder)?,
        hasher: Sha256::new(),
    };
    // One byte more than there should be shows that there are more.
    let bytes = io::copy(&mut content.take(file.bytes + 1), &mut target)?;
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
