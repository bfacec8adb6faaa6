//! Several checkpoints in one folder: which are kept, which is the latest, which the best.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::busy::{Busy, absolute};
use super::manifest::{self, Manifest};
use super::obsolete::remove_obsolete;
use super::part::TrainingState;
use super::problem::StateProblem;
use super::save::{Job, PendingSave};
use super::saved::SavedState;
use crate::error::FabricError;

/// The checkpoints of one run: a subfolder for each, named after its step.
///
/// Keeps all unless told otherwise. What is to go goes after a new one is complete.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn_fabric::prelude::*;
///
/// # let folder = tempfile::tempdir()?;
/// let fabric = Fabric::builder().build()?;
/// let mut model = fabric.setup(LinearConfig::new(4, 1).init(&fabric.inference_device()))?;
/// let checkpoints = Checkpoints::new(folder.path())
///     .keep_last(2)
///     .keep_best(1, "accuracy", Better::Higher);
/// for (step, accuracy) in [(100, 0.7), (200, 0.9), (300, 0.8), (400, 0.6)] {
///     checkpoints.save(&model, step, [("accuracy", accuracy)])?;
/// }
/// let steps: Vec<u64> = checkpoints.list().iter().filter_map(SavedState::step).collect();
/// assert_eq!(steps, [200, 300, 400]);
/// assert_eq!(checkpoints.best().and_then(|saved| saved.step()), Some(200));
/// fabric.load(folder.path(), &mut model)?; // the latest
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoints {
    root: PathBuf,
    last: Option<usize>,
    best: Option<Best>,
}

#[derive(Clone, Debug)]
struct Best {
    count: usize,
    metric: String,
    better: Better,
}

/// Which of two values of a metric is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The lower one: losses.
    Lower,
    /// The higher one: accuracies.
    Higher,
}

impl Best {
    /// What is to be high; none without the metric, or with NaN.
    fn of(&self, saved: &SavedState) -> Option<f64> {
        let value = saved.metrics().get(&self.metric).copied();
        let value = value.filter(|value| !value.is_nan());
        value.map(|value| match self.better {
            Better::Lower => -value,
            Better::Higher => value,
        })
    }

    /// The best first; of equals the later first.
    fn sort(&self, all: &mut [SavedState]) {
        all.reverse();
        all.sort_by(|first, second| {
            let order = self.of(second).partial_cmp(&self.of(first));
            order.unwrap_or(Ordering::Equal)
        });
    }
}

impl Checkpoints {
    /// In `root`, which is created with the first.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: absolute(&root.into()),
            last: None,
            best: None,
        }
    }

    /// Keep the last so many, at least one, and remove the others.
    pub fn keep_last(mut self, count: usize) -> Self {
        self.last = Some(count.max(1));
        self
    }

    /// Keep the best so many by a metric as well; without [`keep_last`](Checkpoints::keep_last) the
    /// latest stays beside them.
    pub fn keep_best(mut self, count: usize, metric: impl Into<String>, better: Better) -> Self {
        let metric = metric.into();
        self.best = Some(Best {
            count,
            metric,
            better,
        });
        self
    }

    /// The folder of all.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of the checkpoint of a step.
    pub fn folder(&self, step: u64) -> PathBuf {
        self.root.join(folder_name(step))
    }

    /// Save a state after `step` steps, with what was measured; then remove what is not to be kept.
    ///
    /// # Errors
    /// As [`Fabric::save`](crate::Fabric::save).
    pub fn save<'m, S: TrainingState + ?Sized>(
        &self,
        state: &S,
        step: u64,
        metrics: impl IntoIterator<Item = (&'m str, f64)>,
    ) -> Result<PathBuf, FabricError> {
        let folder = self.folder(step);
        self.job(state, step, metrics)?.run()?;
        self.remove_others(&folder);
        Ok(folder)
    }

    /// The same, writing in the background, as [`Fabric::save_in_background`](crate::Fabric::save_in_background).
    ///
    /// # Errors
    /// As there.
    pub fn save_in_background<'m, S: TrainingState + ?Sized>(
        &self,
        state: &S,
        step: u64,
        metrics: impl IntoIterator<Item = (&'m str, f64)>,
    ) -> Result<PendingSave, FabricError> {
        let (job, all, folder) = (
            self.job(state, step, metrics)?,
            self.clone(),
            self.folder(step),
        );
        Ok(job.start(move |result| {
            if result.is_ok() {
                all.remove_others(&folder);
            }
            result
        }))
    }

    fn job<'m, S: TrainingState + ?Sized>(
        &self,
        state: &S,
        step: u64,
        metrics: impl IntoIterator<Item = (&'m str, f64)>,
    ) -> Result<Job, FabricError> {
        let metrics = metrics.into_iter();
        let metrics: BTreeMap<String, f64> = metrics
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        let serial = self.list().iter().map(SavedState::serial).max();
        let manifest = Manifest {
            step: Some(step),
            serial: serial.unwrap_or(0) + 1,
            metrics,
            ..Manifest::new()
        };
        Job::new(&self.folder(step), state, manifest)
    }

    /// The complete ones, in the order they were saved; those whose manifest is damaged are left out.
    pub fn list(&self) -> Vec<SavedState> {
        let folders = complete(&self.root).into_iter();
        folders
            .filter_map(|folder| SavedState::at(&folder).ok())
            .collect()
    }

    /// The one that was saved last; none where no save has ended yet.
    ///
    /// # Errors
    /// [`FabricError::Checkpoint`] where its manifest is damaged: an earlier one is not taken for
    /// it.
    pub fn latest(&self) -> Result<Option<SavedState>, FabricError> {
        complete(&self.root).pop().map(SavedState::open).transpose()
    }

    /// The best one by the metric of [`keep_best`](Checkpoints::keep_best); none without.
    pub fn best(&self) -> Option<SavedState> {
        let best = self.best.as_ref()?;
        let mut all = self.list();
        all.retain(|saved| best.of(saved).is_some());
        best.sort(&mut all);
        all.into_iter().next()
    }

    /// Remove what is not to be kept, and what saves that were killed left. `saved` stays.
    fn remove_others(&self, saved: &Path) {
        let Ok(manifest) = Manifest::read(saved) else {
            return;
        };
        let mut all = self.list();
        let mut keep: Vec<PathBuf> = vec![saved.to_owned()];
        let folder = |saved: &SavedState| saved.folder().to_owned();
        if self.last.is_none() && self.best.is_none() {
            keep.extend(all.iter().map(folder));
        }
        keep.extend(all.iter().rev().take(self.last.unwrap_or(1)).map(folder));
        if let Some(best) = &self.best {
            best.sort(&mut all);
            let measured = all.iter().filter(|saved| best.of(saved).is_some());
            keep.extend(measured.take(best.count).map(folder));
        }
        for (_, folder) in subfolders(&self.root) {
            // Whoever saves into it, or loads from it, has it until the end.
            if keep.contains(&folder) {
                continue;
            }
            if let Some(_busy) = Busy::if_free(&folder) {
                remove(&folder, &manifest);
            }
        }
    }
}

/// What the name of a checkpoint's folder begins with.
const PREFIX: &str = "step-";

/// Subfolders that are named as checkpoints are, by step; no links to others.
fn subfolders(root: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let mut folders: Vec<(u64, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let step = name.to_str()?.strip_prefix(PREFIX)?.parse().ok()?;
            let is_ours = entry.file_type().ok()?.is_dir() && *name == *folder_name(step);
            is_ours.then(|| (step, entry.path()))
        })
        .collect();
    folders.sort();
    folders
}

fn folder_name(step: u64) -> String {
    format!("{PREFIX}{step:09}")
}

/// Those that have a manifest, in the order they were saved: a run that went on from an earlier step
/// has lower ones after higher ones. A damaged manifest does not say when it was written, and counts
/// as the one after the step before it.
pub(super) fn complete(root: &Path) -> Vec<PathBuf> {
    let mut folders = subfolders(root);
    folders.retain(|(_, folder)| folder.join(manifest::FILE).is_file());
    let mut before = 0;
    let mut ordered: Vec<((u64, bool), u64, PathBuf)> = Vec::new();
    for (step, folder) in folders {
        let order = match Manifest::read(&folder) {
            Ok(manifest) => (manifest.serial, false),
            Err(_) => (before, true),
        };
        before = order.0;
        ordered.push((order, step, folder));
    }
    ordered.sort();
    ordered.into_iter().map(|(.., folder)| folder).collect()
}

/// Remove a checkpoint, or what a save that was killed left of one: the manifest first, so that what
/// is left is no checkpoint from then on. Files of the user's stay, and the folder with them.
fn remove(folder: &Path, like: &Manifest) {
    let manifest = match Manifest::read(folder) {
        Ok(manifest) => match fs::remove_file(folder.join(manifest::FILE)) {
            Ok(()) => Some(manifest),
            Err(_) => return,
        },
        Err(StateProblem::NotACheckpoint { .. }) => None,
        // Damaged: somebody may want to look at it.
        Err(_) => return,
    };
    remove_obsolete(folder, manifest.as_ref(), like, &[]);
    let _ = fs::remove_dir(folder);
}
