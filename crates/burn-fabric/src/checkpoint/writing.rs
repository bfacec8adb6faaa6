//! Parts on their way into files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use burn_materialize::CheckpointError;

use super::manifest::{File, Part};
use super::part::WriteTensors;
use super::problem::StateProblem;
use super::saving::Snapshot;

/// Write parts, each with tensors into a file of its own that the folder did not have.
///
/// # Errors
/// The first problem; the files that were written are gone then.
pub(super) fn write_parts(folder: &Path, parts: Vec<Snapshot>) -> Result<Written, StateProblem> {
    let writing = Writing {
        folder,
        waiting: Mutex::new(parts.into_iter()),
        written: Mutex::default(),
        unfinished: Mutex::default(),
        failed: Mutex::default(),
    };
    std::thread::scope(|scope| {
        // One is written while another is read or hashed; where the system starts no thread, one
        // after the other.
        let second = std::thread::Builder::new().name("checkpoint".to_owned());
        let _ = second.spawn_scoped(scope, || writing.write());
        writing.write();
    });
    match into_inner(writing.failed) {
        Some(problem) => Err(problem),
        None => Ok(Written {
            parts: into_inner(writing.written),
            unfinished: into_inner(writing.unfinished),
        }),
    }
}

/// Parts that are on the disk, and their files, which go unless a manifest names them by then.
pub(super) struct Written {
    pub(super) parts: BTreeMap<String, Part>,
    pub(super) unfinished: Unfinished,
}

/// Parts on their way into files.
struct Writing<'f> {
    folder: &'f Path,
    waiting: Mutex<std::vec::IntoIter<Snapshot>>,
    written: Mutex<BTreeMap<String, Part>>,
    unfinished: Mutex<Unfinished>,
    failed: Mutex<Option<StateProblem>>,
}

impl Writing<'_> {
    fn write(&self) {
        while let Some(snapshot) = self.next() {
            if let Err(problem) = self.write_one(snapshot) {
                lock(&self.failed).get_or_insert(problem);
            }
        }
    }

    /// The next part; none after a failure.
    fn next(&self) -> Option<Snapshot> {
        let is_failed = lock(&self.failed).is_some();
        lock(&self.waiting).next().filter(|_| !is_failed)
    }

    fn write_one(&self, snapshot: Snapshot) -> Result<(), StateProblem> {
        let Snapshot { name, kind, write } = snapshot;
        let content = write()?;
        let file = match content.tensors {
            None => None,
            Some(tensors) => Some(self.file(&name, tensors)?),
        };
        let (kind, record) = (kind.name().to_owned(), content.record);
        lock(&self.written).insert(name, Part { kind, file, record });
        Ok(())
    }

    fn file(&self, part: &str, tensors: WriteTensors) -> Result<File, StateProblem> {
        let file = free(self.folder, part);
        let path = self.folder.join(&file);
        let written = tensors(&path);
        // What another process wrote there meanwhile is not ours to remove.
        let is_others = |error: &CheckpointError| matches!(error, CheckpointError::Exists { .. });
        if !matches!(&written, Err(StateProblem::File(error)) if is_others(error)) {
            lock(&self.unfinished).0.push(path);
        }
        written?;
        File::of(self.folder, file)
    }
}

/// A name that no file of the folder has: what is there may be named by the manifest that still
/// counts.
fn free(folder: &Path, part: &str) -> String {
    let is_free = |name: &String| fs::symlink_metadata(folder.join(name)).is_err();
    let mut names = (1_u32..).map(|number| format!("{part}-{number}.safetensors"));
    names.find(is_free).expect("some number is free")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each is changed in one step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Files of a save that has not ended.
#[derive(Default)]
pub(super) struct Unfinished(Vec<PathBuf>);

impl Unfinished {
    /// They are named, and stay.
    pub(super) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        for file in &self.0 {
            let _ = fs::remove_file(file);
        }
    }
}
