//! Files built byte by byte, sound and hostile.

// Each test binary, and the fuzzer's seeds, use a part of this.
#![allow(dead_code)]

pub mod burnpack;
pub mod pickle;
pub mod safetensors;
pub mod torch;

use std::fs;
use std::path::{Path, PathBuf};

use burn_weights::{Checkpoint, CheckpointError, Reading};

/// A folder that goes with the test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The names of what is in it, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

/// Why `path` is not opened; the message names the file and `parts`.
pub fn refused(path: &Path, parts: &[&str]) -> CheckpointError {
    let error = Checkpoint::open(path).expect_err("it is hostile");
    named(&error, path, parts);
    error
}

/// The message names the file and `parts`.
pub fn named(error: &CheckpointError, path: &Path, parts: &[&str]) {
    let message = error.to_string();
    let path = path.display().to_string();
    for part in parts.iter().chain([&path.as_str()]) {
        assert!(message.contains(part), "no {part:?} in: {message}");
    }
}

/// The bytes of a tensor.
pub fn bytes(checkpoint: &Checkpoint, name: &str) -> Vec<u8> {
    let read = checkpoint.read(name, None, Reading::Map).unwrap();
    read.bytes.to_vec()
}
