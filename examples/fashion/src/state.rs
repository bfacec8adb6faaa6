//! All that a resume has to find again, and where it is kept.

use std::path::Path;

use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn_fabric::LoadedState;
use burn_fabric::prelude::*;
use fashion_common::{Batch, Journal, Normalised, RESULTS, Samples, Settings};
use run_common::{RunFolder, Told};

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
    /// As [`Fabric::load`]; [`RunError::OtherSettings`](run_common::RunError::OtherSettings).
    pub fn resume(&mut self, fabric: &Fabric, folder: &Path) -> Result<LoadedState, FashionError> {
        let here = self.told();
        let loaded = fabric.load(folder, self)?;
        here.is_also(&self.told(), &loaded.folder)?;
        Ok(loaded)
    }

    fn told(&self) -> Told<Settings> {
        Told {
            seed: self.rng.seed(),
            settings: self.settings.clone(),
        }
    }

    /// How many steps were made.
    pub fn steps(&self) -> u64 {
        self.rng.steps()
    }
}

/// The folder of a run; the best of its checkpoints is that of the best epoch.
pub fn run_folder(out: &Path) -> RunFolder {
    RunFolder::new(out, &RESULTS, "accuracy", Better::Higher)
}
