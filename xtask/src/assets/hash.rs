//! Whether a file is the one that is meant.

use std::fs::File;
use std::io;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

/// The SHA-256 of a file, in hexadecimal.
pub fn sha256(path: &Path) -> Result<String> {
    let mut hasher = Sha256::new();
    let file = File::open(path).and_then(|mut file| io::copy(&mut file, &mut hasher));
    file.with_context(|| path.display().to_string())?;
    Ok(hexadecimal(hasher))
}

/// What a hasher has come to.
pub fn hexadecimal(hasher: Sha256) -> String {
    let digest = hasher.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Refuse a hash that is not the expected one.
pub fn check(what: &str, found: &str, expected: &str) -> Result<()> {
    ensure!(
        found == expected,
        "{what} has the wrong SHA-256: expected {expected}, found {found}"
    );
    Ok(())
}
