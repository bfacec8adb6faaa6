//! All that a resume has to find again, and where it is kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn_fabric::LoadedState;
use burn_fabric::prelude::*;
use fashion_common::{Batch, Journal, Normalised, RESULTS, Samples, Settings};

use crate::{Cnn, FashionError};

/// The state of a training run.
#[derive(TrainingState)]
pub struct Training {
    /// What is trained.
    pub model: FabricModule<Cnn>,
    /// What steps it.
    pub optimizer: FabricOptimizer,
    /// At which rates.
    pub scheduler: ModuleLrScheduler,
    /// The samples, and how far they were gone through.
    pub data: FabricDataLoader<Batch>,
    /// What dropout draws from, step by step.
    pub rng: DeviceRng,
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
    /// [`FashionError::Accumulate`], [`FashionError::Schedule`]; as [`Fabric::setup_optimizer`] and
    /// [`Fabric::setup_dataloader`].
    pub fn new(
        fabric: &Fabric,
        model: FabricModule<Cnn>,
        samples: Samples,
        settings: Settings,
        workers: usize,
    ) -> Result<Self, FashionError> {
        if fabric.settings().accumulate != 1 {
            return Err(FashionError::Accumulate(fabric.settings().accumulate));
        }
        let loader = LoaderOverDataset::new(samples, Normalised)
            .batch_size(settings.batch_size as usize)
            .shuffle()
            .workers(workers);
        let data = fabric.setup_dataloader(loader)?;
        let batches = data.num_batches().unwrap_or(0);
        let scheduler = settings.schedule(batches).init();
        Ok(Self {
            optimizer: fabric.setup_optimizer(&model, settings.optimizer())?,
            scheduler: scheduler.map_err(FashionError::Schedule)?,
            data,
            rng: fabric.device_rng(),
            model,
            settings,
            journal: Journal::default(),
        })
    }

    /// Go on where the latest checkpoint in `folder` is, or `folder` itself where it is one.
    ///
    /// # Errors
    /// As [`Fabric::load`]; [`FashionError::OtherSettings`].
    pub fn resume(&mut self, fabric: &Fabric, folder: &Path) -> Result<LoadedState, FashionError> {
        let here = Box::new((fabric.settings().seed, self.settings.clone()));
        let loaded = fabric.load(folder, self)?;
        let there = Box::new((self.rng.seed(), self.settings.clone()));
        if here != there {
            return Err(FashionError::OtherSettings {
                folder: loaded.folder,
                there,
                here,
            });
        }
        Ok(loaded)
    }

    /// How many steps were made.
    pub fn steps(&self) -> u64 {
        self.rng.steps()
    }
}

/// The checkpoints of the run in the folder `out`: the last two, and the one of the best epoch.
pub fn checkpoints(out: &Path) -> Checkpoints {
    Checkpoints::new(out.join("checkpoints"))
        .keep_last(2)
        .keep_best(1, "accuracy", Better::Higher)
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
/// [`FashionError::Remove`].
pub fn remove_results(out: &Path) -> Result<(), FashionError> {
    for name in RESULTS {
        let path = out.join(name);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(FashionError::Remove { path, source });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Remove an earlier run, checkpoints and results: the latest checkpoint is to be this run's.
///
/// # Errors
/// [`FashionError::Unfinished`] where it has checkpoints and no results; [`FashionError::Remove`].
pub fn remove_run(out: &Path) -> Result<(), FashionError> {
    let checkpoints = checkpoints(out);
    let earlier = checkpoints.list();
    // Written last.
    let [.., weights] = RESULTS;
    if !earlier.is_empty() && !out.join(weights).exists() {
        let folder = checkpoints.root().to_owned();
        return Err(FashionError::Unfinished { folder });
    }
    for saved in earlier {
        let path = saved.folder().to_owned();
        if let Err(source) = fs::remove_dir_all(&path) {
            return Err(FashionError::Remove { path, source });
        }
    }
    remove_results(out)
}
