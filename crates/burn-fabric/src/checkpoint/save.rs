//! From a state to a checkpoint.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use super::busy::{Busy, absolute};
use super::manifest::Manifest;
use super::obsolete::remove_obsolete;
use super::part::TrainingState;
use super::problem::StateProblem;
use super::saving::{Saving, Snapshot};
use super::writing::{Written, write_parts};
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
        // Before this returns, so that saves into one folder end in the order they were begun.
        let busy = self.wait();
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
        let _busy = self.wait();
        self.write_failing()
    }

    fn wait(&self) -> Busy {
        // So that it has one name; what the system refuses is told when it is written.
        let _ = fs::create_dir_all(&self.folder);
        Busy::wait(&self.folder)
    }

    fn write_failing(self) -> Result<(), FabricError> {
        let _span = crate::span::save(&self.folder);
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
        let Written { parts, unfinished } = write_parts(&folder, parts)?;
        manifest.parts = parts;
        // What the folder has been so far; what was damaged names nothing.
        let before = Manifest::read(&folder).ok();
        let written = manifest.write(&folder);
        // Where it is in its place after all, and only the folder could not be synchronised, its
        // files must stay.
        let is_there = |there: Manifest| there.files().eq(manifest.files());
        if written.is_ok() || Manifest::read(&folder).is_ok_and(is_there) {
            unfinished.keep();
        }
        written?;
        if let Some(parent) = folder.parent() {
            synchronise(parent);
        }
        let keep: Vec<&str> = manifest.names().collect();
        remove_obsolete(&folder, before.as_ref(), &manifest, &keep);
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
