//! All that a resume has to find again, and where it is kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn_fabric::prelude::*;
use burn_fabric::{Accumulation, LoadedState};

use crate::journal::Journal;
use crate::{Batch, Settings, ShakespeareError, Stacked, Transformer, Windows};

/// The results of a run, the last one written last.
pub const RESULTS: [&str; 2] = ["sample.txt", "weights.safetensors"];

/// The state of a training run.
#[derive(TrainingState)]
pub struct Training {
    /// What is trained.
    pub model: FabricModule<Transformer>,
    /// What steps it.
    pub optimizer: FabricOptimizer,
    /// At which rates.
    pub scheduler: ModuleLrScheduler,
    /// The windows, and how far they were gone through.
    pub data: FabricDataLoader<Batch>,
    /// What waits for its step.
    pub accumulation: Accumulation,
    /// What the order of the windows follows from.
    pub seed: u64,
    /// How to train.
    #[state(serde)]
    pub settings: Settings,
    /// What it came to so far.
    #[state(serde)]
    pub journal: Journal,
}

impl Training {
    /// Everything at its beginning, around a model that was set up.
    ///
    /// # Errors
    /// [`ShakespeareError::Schedule`]; as [`Fabric::setup_optimizer`] and
    /// [`Fabric::setup_dataloader`].
    pub fn new(
        fabric: &Fabric,
        model: FabricModule<Transformer>,
        windows: Windows,
        settings: Settings,
        workers: usize,
    ) -> Result<Self, ShakespeareError> {
        let loader = LoaderOverDataset::new(windows, Stacked)
            .batch_size(settings.batch as usize)
            .shuffle()
            .workers(workers);
        Ok(Self {
            optimizer: fabric.setup_optimizer(&model, settings.optimizer())?,
            scheduler: settings.schedule()?,
            data: fabric.setup_dataloader(loader)?,
            accumulation: fabric.accumulate(fabric.settings().accumulate)?,
            seed: fabric.settings().seed,
            model,
            settings,
            journal: Journal::default(),
        })
    }

    /// Go on where the latest checkpoint in `folder` is, or `folder` itself where it is one.
    ///
    /// # Errors
    /// As [`Fabric::load`]; [`ShakespeareError::OtherSettings`].
    pub fn resume(
        &mut self,
        fabric: &Fabric,
        folder: &Path,
    ) -> Result<LoadedState, ShakespeareError> {
        let here = Box::new((self.seed, self.settings.clone()));
        let loaded = fabric.load(folder, self)?;
        let there = Box::new((self.seed, self.settings.clone()));
        if here != there {
            return Err(ShakespeareError::OtherSettings {
                folder: loaded.folder,
                there,
                here,
            });
        }
        Ok(loaded)
    }

    /// How many steps were made.
    pub fn steps(&self) -> u32 {
        self.journal.losses().len() as u32
    }
}

/// The checkpoints of the run in the folder `out`: the last two, and the one of the best test.
pub fn checkpoints(out: &Path) -> Checkpoints {
    Checkpoints::new(out.join("checkpoints"))
        .keep_last(2)
        .keep_best(1, "test_loss", Better::Lower)
}

/// Where to resume from: what `folder` is, a run's or that of checkpoints.
pub fn resume_from(folder: &Path) -> PathBuf {
    match checkpoints(folder).root() {
        root if root.is_dir() => root.to_owned(),
        _ => folder.to_owned(),
    }
}

/// Remove the results of an earlier run, which are not those of one that begins or goes on.
///
/// # Errors
/// [`ShakespeareError::Remove`].
pub fn remove_results(out: &Path) -> Result<(), ShakespeareError> {
    for name in RESULTS {
        let path = out.join(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(ShakespeareError::Remove { path, source });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Remove an earlier run, checkpoints and results: the latest checkpoint is to be this run's.
///
/// # Errors
/// [`ShakespeareError::Unfinished`] where it has checkpoints and no results;
/// [`ShakespeareError::Remove`].
pub fn remove_run(out: &Path) -> Result<(), ShakespeareError> {
    let checkpoints = checkpoints(out);
    let earlier = checkpoints.list();
    // Written last.
    let [.., weights] = RESULTS;
    if !earlier.is_empty() && !out.join(weights).exists() {
        let folder = checkpoints.root().to_owned();
        return Err(ShakespeareError::Unfinished { folder });
    }
    for saved in earlier {
        let path = saved.folder().to_owned();
        if let Err(source) = fs::remove_dir_all(&path) {
            return Err(ShakespeareError::Remove { path, source });
        }
    }
    remove_results(out)
}
