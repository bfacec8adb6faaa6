//! From a state to a checkpoint.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use burn_materialize::CheckpointError;

use super::manifest::{self, File, Manifest, Part};
use super::part::{TrainingState, WriteTensors};
use super::problem::StateProblem;
use super::saving::{Saving, Snapshot};
use crate::error::FabricError;
use crate::fabric::Fabric;

impl Fabric {
    /// Save a state into a folder, which then is one checkpoint. What was saved there before is
    /// replaced when the new one is complete; a process that is killed meanwhile leaves the old one.
    ///
    /// Returns once everything is on the disk. `state` is a struct that derives
    /// [`TrainingState`], or any one part.
    ///
    /// # Errors
    /// [`FabricError::Checkpoint`] with all that cannot be kept, and then nothing is written; or
    /// with what the system refused, and then the old checkpoint is still there.
    pub fn save<S: TrainingState + ?Sized>(
        &self,
        folder: impl AsRef<Path>,
        state: &S,
    ) -> Result<(), FabricError> {
        Job::new(folder.as_ref(), state, Manifest::new())?.run()
    }

    /// Save a state as it is now, writing in a thread of its own while training goes on.
    ///
    /// Tensors are shared until they are updated: meanwhile an update takes memory of its own where
    /// it would have been in place.
    ///
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn_fabric::prelude::*;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// let fabric = Fabric::builder().build()?;
    /// let model = fabric.setup(LinearConfig::new(4, 1).init(&fabric.inference_device()))?;
    /// let pending = fabric.save_in_background(folder.path(), &model)?;
    /// // ... steps ...
    /// pending.wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FabricError::Checkpoint`] with all that cannot be kept; what fails later, `wait` returns.
    pub fn save_in_background<S: TrainingState + ?Sized>(
        &self,
        folder: impl AsRef<Path>,
        state: &S,
    ) -> Result<PendingSave, FabricError> {
        Ok(Job::new(folder.as_ref(), state, Manifest::new())?.start(|result| result))
    }
}

/// A save that goes on in the background. Dropping it waits for its end, and drops its error.
#[must_use = "`wait` says whether the checkpoint was written"]
#[derive(Debug)]
pub struct PendingSave {
    folder: PathBuf,
    thread: Option<JoinHandle<Result<(), FabricError>>>,
}

impl PendingSave {
    /// The folder of the checkpoint.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it has ended, one way or another.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Wait for its end.
    ///
    /// # Errors
    /// As [`Fabric::save`].
    pub fn wait(mut self) -> Result<(), FabricError> {
        self.join()
    }

    fn join(&mut self) -> Result<(), FabricError> {
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(result)) => result,
            // Burn's own panics are caught where its functions are called.
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for PendingSave {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = self.join();
        }
    }
}

/// A snapshot, and where it goes.
pub(super) struct Job {
    folder: PathBuf,
    parts: Vec<Snapshot>,
    manifest: Manifest,
}

impl Job {
    pub(super) fn new<S: TrainingState + ?Sized>(
        folder: &Path,
        state: &S,
        manifest: Manifest,
    ) -> Result<Self, FabricError> {
        // Now: the process may change its folder before a thread writes.
        let folder = absolute(folder);
        let parts = Saving::take(state).map_err(|problems| failed(&folder, problems))?;
        Ok(Self {
            folder,
            parts,
            manifest,
        })
    }

    /// Write it in a thread. `after` is given the result, and has the last word.
    pub(super) fn start(
        self,
        after: impl FnOnce(Result<(), FabricError>) -> Result<(), FabricError> + Send + 'static,
    ) -> PendingSave {
        let folder = self.folder.clone();
        // So that it has one name; what the system refuses is told by the thread.
        let _ = fs::create_dir_all(&folder);
        // Before this returns, so that saves into one folder end in the order they were begun.
        let busy = Busy::wait(&folder);
        let thread = std::thread::spawn(move || {
            let result = self.write_failing();
            drop(busy);
            after(result)
        });
        PendingSave {
            folder,
            thread: Some(thread),
        }
    }

    pub(super) fn run(self) -> Result<(), FabricError> {
        let _ = fs::create_dir_all(&self.folder);
        let _busy = Busy::wait(&self.folder);
        self.write_failing()
    }

    fn write_failing(self) -> Result<(), FabricError> {
        let folder = self.folder.clone();
        self.write()
            .map_err(|problem| failed(&folder, vec![problem]))
    }

    fn write(self) -> Result<(), StateProblem> {
        let Self {
            folder,
            parts,
            mut manifest,
        } = self;
        let io = |source| StateProblem::Io {
            path: folder.clone(),
            source,
        };
        fs::create_dir_all(&folder).map_err(io)?;
        let writing = Writing {
            folder: &folder,
            waiting: Mutex::new(parts.into_iter()),
            written: Mutex::default(),
            unfinished: Mutex::new(Unfinished(Vec::new())),
            failed: Mutex::default(),
        };
        std::thread::scope(|scope| {
            // One is written while another is read or hashed; where the system starts no thread, one
            // after the other.
            let second = std::thread::Builder::new().name("checkpoint".to_owned());
            let _ = second.spawn_scoped(scope, || writing.write());
            writing.write();
        });
        let Writing {
            written,
            unfinished,
            failed,
            ..
        } = writing;
        let mut unfinished = into_inner(unfinished);
        if let Some(problem) = into_inner(failed) {
            return Err(problem);
        }
        manifest.parts = into_inner(written);
        // What the folder has been so far; what was damaged names nothing.
        let before = Manifest::read(&folder).ok();
        let written = manifest.write(&folder);
        // Where it is in its place after all, and only the folder could not be synchronised, its
        // files must stay.
        let is_there = |there: Manifest| there.files().eq(manifest.files());
        if written.is_ok() || Manifest::read(&folder).is_ok_and(is_there) {
            unfinished.0.clear();
        }
        written?;
        if let Some(parent) = folder.parent() {
            synchronise(parent);
        }
        remove_obsolete(&folder, before.as_ref(), &manifest);
        Ok(())
    }
}

fn failed(folder: &Path, problems: Vec<StateProblem>) -> FabricError {
    FabricError::Checkpoint {
        folder: folder.to_owned(),
        doing: "saved",
        problems,
    }
}

/// A name that no file of the folder has: what is there may be named by the manifest that still
/// counts.
fn free(folder: &Path, part: &str) -> String {
    let is_free = |name: &String| fs::symlink_metadata(folder.join(name)).is_err();
    let mut names = (1_u32..).map(|number| format!("{part}-{number}.safetensors"));
    names.find(is_free).expect("some number is free")
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each is changed in one step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Files of a save that has not ended.
struct Unfinished(Vec<PathBuf>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        for file in &self.0 {
            let _ = fs::remove_file(file);
        }
    }
}

/// Remove what only earlier saves made: what the manifest before this named, and what saves that were
/// killed left. Nothing else: the folder may have files of the user's.
fn remove_obsolete(folder: &Path, before: Option<&Manifest>, now: &Manifest) {
    let named = |manifest: &Manifest| -> HashSet<String> {
        let files = manifest
            .parts
            .values()
            .filter_map(|part| part.file.as_ref());
        files.map(|file| file.name.clone()).collect()
    };
    let keep = named(now);
    let before = before.map(named).unwrap_or_default();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !keep.contains(&name) && (before.contains(&name) || is_ours(&name, now)) {
            // The checkpoint is complete without this.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a save of these parts may have made it: a file of a part, or one that was being written.
pub(super) fn is_ours(name: &str, manifest: &Manifest) -> bool {
    let (name, is_scratch) = match name
        .strip_suffix(".tmp")
        .and_then(|name| name.rsplit_once('.'))
    {
        // `.<process>-<number>.tmp` stands after the name of the file that was to be.
        Some((file, _)) => (file, true),
        None => (name, false),
    };
    if is_scratch && name == manifest::FILE {
        return true;
    }
    let Some(stem) = name.strip_suffix(".safetensors") else {
        return false;
    };
    stem.rsplit_once('-').is_some_and(|(part, number)| {
        number.parse::<u32>().is_ok() && manifest.parts.contains_key(part)
    })
}

/// So that a new folder survives a crash of the system, too.
fn synchronise(folder: &Path) {
    if cfg!(unix) {
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        let _ = fs::File::open(folder).and_then(|folder| folder.sync_all());
    }
}

/// A path that stays what it is when the process changes its folder.
pub(super) fn absolute(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

/// The folders that this process saves into or loads from: one at a time in each. Other processes
/// are not kept out: a folder has one writer.
static BUSY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static DONE: Condvar = Condvar::new();

fn busy() -> MutexGuard<'static, Vec<PathBuf>> {
    lock(&BUSY)
}

pub(super) struct Busy(PathBuf);

impl Busy {
    /// By its one name, links and `..` resolved, as far as it exists.
    fn name(folder: &Path) -> PathBuf {
        fs::canonicalize(folder).unwrap_or_else(|_| absolute(folder))
    }

    pub(super) fn wait(folder: &Path) -> Self {
        let folder = Self::name(folder);
        let free = DONE.wait_while(busy(), |busy| busy.contains(&folder));
        let mut busy = free.unwrap_or_else(PoisonError::into_inner);
        busy.push(folder.clone());
        Self(folder)
    }

    pub(super) fn if_free(folder: &Path) -> Option<Self> {
        let folder = Self::name(folder);
        let mut busy = busy();
        if busy.contains(&folder) {
            return None;
        }
        busy.push(folder.clone());
        Some(Self(folder))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        busy().retain(|folder| *folder != self.0);
        DONE.notify_all();
    }
}
