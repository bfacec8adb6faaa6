//! From a checkpoint to a state.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::busy::Busy;
use super::loading::Loading;
use super::part::TrainingState;
use super::problem::StateProblem;
use super::saved::SavedState;
use crate::error::{FabricError, shorten};
use crate::fabric::Fabric;

/// What of a checkpoint is loaded, and how strictly: by default all of it, and all has to fit.
///
/// ```
/// use burn_fabric::LoadOptions;
///
/// // A longer schedule, and an optimizer over a head that the checkpoint has not.
/// let options = LoadOptions::new().except("scheduler").allow_orphans(true);
/// ```
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    except: Vec<String>,
    allow_orphans: bool,
}

impl LoadOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Leave a part as it is, with all parts within it; it need not be in the checkpoint, nor in the
    /// state.
    pub fn except(mut self, part: impl Into<String>) -> Self {
        self.except.push(part.into());
        self
    }

    /// Let optimizers update other parameters than those that were saved: what matches by path is
    /// restored, and [`LoadedState::optimizers`] tells the rest.
    pub fn allow_orphans(mut self, allow: bool) -> Self {
        self.allow_orphans = allow;
        self
    }

    pub(super) fn excepts(&self, part: &str) -> bool {
        self.except.iter().any(|except| {
            let rest = part.strip_prefix(except.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    pub(crate) fn allows_orphans(&self) -> bool {
        self.allow_orphans
    }
}

/// What a load restored. Its `Display` is a few lines.
#[derive(Clone, Debug)]
pub struct LoadedState {
    /// The checkpoint's folder.
    pub folder: PathBuf,
    /// The step it was saved after, where that is known.
    pub step: Option<u64>,
    /// The parts that were restored.
    pub parts: Vec<String>,
    /// What was matched, for each optimizer.
    pub optimizers: BTreeMap<String, OptimizerMatch>,
}

/// The parameters of an optimizer and those that were saved, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptimizerMatch {
    /// In both: their state was restored.
    pub matched: Vec<String>,
    /// Only in the checkpoint: their state is lost.
    pub orphaned: Vec<String>,
    /// Only here: they start without any state.
    pub fresh: Vec<String>,
}

impl fmt::Display for LoadedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "restored {}", shorten(&self.parts))?;
        write!(f, " from {}", self.folder.display())?;
        for (part, optimizer) in &self.optimizers {
            let OptimizerMatch {
                matched,
                orphaned,
                fresh,
            } = optimizer;
            write!(f, "\n`{part}`: state of {} parameters", matched.len())?;
            if !orphaned.is_empty() {
                write!(f, "; lost, of {}", shorten(orphaned))?;
            }
            if !fresh.is_empty() {
                write!(f, "; none yet, for {}", shorten(fresh))?;
            }
        }
        Ok(())
    }
}

impl Fabric {
    /// Load a checkpoint into a state like the one it was saved from: every part straight to where
    /// it is, bit for bit. `folder` is a checkpoint, or a folder of several, of which the latest is
    /// taken.
    ///
    /// # Errors
    /// [`FabricError::Checkpoint`] with all that is wrong: files that are missing or damaged,
    /// another architecture, other optimizers, schedules or data. The state is then as it was.
    pub fn load<S: TrainingState + ?Sized>(
        &self,
        folder: impl AsRef<Path>,
        state: &mut S,
    ) -> Result<LoadedState, FabricError> {
        self.load_with(folder, state, &LoadOptions::new())
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`load`](Fabric::load).
    pub fn load_with<S: TrainingState + ?Sized>(
        &self,
        folder: impl AsRef<Path>,
        state: &mut S,
        options: &LoadOptions,
    ) -> Result<LoadedState, FabricError> {
        let folder = folder.as_ref();
        let failed = |problems| FabricError::Checkpoint {
            folder: folder.to_owned(),
            doing: "loaded",
            problems,
        };
        let _span = crate::span::load(folder);
        let saved = SavedState::find(folder).map_err(|problem| failed(vec![problem]))?;
        // A save into the same folder ends first, or waits.
        let _busy = Busy::wait(saved.folder());
        let saved = SavedState::at(saved.folder()).map_err(|problem| failed(vec![problem]))?;
        // Parts of damaged files would be refused for what the damage did to them.
        let damages: Vec<StateProblem> = saved.damages();
        if !damages.is_empty() {
            return Err(failed(damages));
        }
        let fitting = Loading::check(state, &saved, options).map_err(failed)?;
        for commit in fitting.commits {
            commit();
        }
        Ok(LoadedState {
            parts: fitting.parts,
            optimizers: fitting.optimizers,
            step: saved.step(),
            folder: saved.folder().to_owned(),
        })
    }
}
