//! Several checkpoints in one folder: which are kept, which is the latest, which the best.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::manifest::{self, Manifest};
use super::part::TrainingState;
use super::save::{Job, PendingSave, is_busy};
use super::saved::SavedState;
use crate::error::FabricError;
use crate::fabric::Fabric;

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
///     checkpoints.save(&fabric, &model, step, [("accuracy", accuracy)])?;
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
    /// The best first, those without the metric or with NaN last; of equals the later first.
    fn order(&self, first: &SavedState, second: &SavedState) -> Ordering {
        let of = |saved: &SavedState| {
            let value = saved.metrics().get(&self.metric).copied();
            let value = value.filter(|value| !value.is_nan());
            value.map(|value| match self.better {
                Better::Lower => -value,
                Better::Higher => value,
            })
        };
        let order = of(second).partial_cmp(&of(first));
        order
            .unwrap_or(Ordering::Equal)
            .then(second.step().cmp(&first.step()))
    }
}

impl Checkpoints {
    /// In `root`, which is created with the first.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
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
        self.root.join(format!("{PREFIX}{step:09}"))
    }

    /// Save a state after `step` steps, with what was measured; then remove what is not to be kept.
    ///
    /// # Errors
    /// As [`Fabric::save`].
    pub fn save<'m, S: TrainingState + ?Sized>(
        &self,
        _fabric: &Fabric,
        state: &S,
        step: u64,
        metrics: impl IntoIterator<Item = (&'m str, f64)>,
    ) -> Result<PathBuf, FabricError> {
        let folder = self.folder(step);
        self.job(state, step, metrics)?.run()?;
        self.remove_others(&folder);
        Ok(folder)
    }

    /// The same, writing in the background, as [`Fabric::save_in_background`].
    ///
    /// # Errors
    /// As there.
    pub fn save_in_background<'m, S: TrainingState + ?Sized>(
        &self,
        _fabric: &Fabric,
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
        Job::new(&self.folder(step), state, Some(step), metrics)
    }

    /// The complete ones, by step; those whose manifest is damaged are left out.
    pub fn list(&self) -> Vec<SavedState> {
        let folders = complete(&self.root).into_iter();
        let open = |(_, folder): (u64, PathBuf)| SavedState::at(&folder).ok();
        folders.filter_map(open).collect()
    }

    /// The one with the highest step; none where no save has ended yet.
    ///
    /// # Errors
    /// [`FabricError::Checkpoint`] where its manifest is damaged: an earlier one is not taken for
    /// it.
    pub fn latest(&self) -> Result<Option<SavedState>, FabricError> {
        let latest = complete(&self.root).pop();
        latest
            .map(|(_, folder)| SavedState::open(folder))
            .transpose()
    }

    /// The best one by the metric of [`keep_best`](Checkpoints::keep_best); none without.
    pub fn best(&self) -> Option<SavedState> {
        let best = self.best.as_ref()?;
        let mut all = self.list();
        all.retain(|saved| saved.metrics().contains_key(&best.metric));
        all.sort_by(|first, second| best.order(first, second));
        all.into_iter().next()
    }

    /// Remove what is not to be kept, and what saves that were killed left. `saved` stays.
    fn remove_others(&self, saved: &Path) {
        let mut all = self.list();
        let mut keep: Vec<PathBuf> = vec![saved.to_owned()];
        let folder = |saved: &SavedState| saved.folder().to_owned();
        if self.last.is_none() && self.best.is_none() {
            keep.extend(all.iter().map(folder));
        }
        keep.extend(all.iter().rev().take(self.last.unwrap_or(1)).map(folder));
        if let Some(best) = &self.best {
            all.sort_by(|first, second| best.order(first, second));
            keep.extend(all.iter().take(best.count).map(folder));
        }
        for one in &all {
            if !keep.iter().any(|keep| keep == one.folder()) && !is_busy(one.folder()) {
                remove(one.folder());
            }
        }
        for (_, folder) in subfolders(&self.root) {
            if !folder.join(manifest::FILE).exists() && !is_busy(&folder) {
                remove_unfinished(&folder);
            }
        }
    }
}

/// What the name of a checkpoint's folder begins with.
const PREFIX: &str = "step-";

/// Subfolders that are named as checkpoints are, by step.
fn subfolders(root: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let mut folders: Vec<(u64, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let step = name.to_str()?.strip_prefix(PREFIX)?.parse().ok()?;
            entry.path().is_dir().then(|| (step, entry.path()))
        })
        .collect();
    folders.sort();
    folders
}

/// Those that have a manifest.
pub(super) fn complete(root: &Path) -> Vec<(u64, PathBuf)> {
    let mut folders = subfolders(root);
    folders.retain(|(_, folder)| folder.join(manifest::FILE).is_file());
    folders
}

/// The manifest first: what is left is no checkpoint from then on. Files of the user's stay, and
/// the folder with them.
fn remove(folder: &Path) {
    let Ok(manifest) = Manifest::read(folder) else {
        return;
    };
    if fs::remove_file(folder.join(manifest::FILE)).is_err() {
        return;
    }
    for file in manifest
        .parts
        .values()
        .filter_map(|part| part.file.as_ref())
    {
        let _ = fs::remove_file(folder.join(&file.name));
    }
    let _ = fs::remove_dir(folder);
}

/// What a save that was killed left of a checkpoint: numbered files of tensors and scratch files.
fn remove_unfinished(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".tmp") || name.ends_with(".safetensors") {
            let _ = fs::remove_file(entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}
