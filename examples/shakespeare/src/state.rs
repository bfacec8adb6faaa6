//! All that a resume has to find again, and where it is kept.

use std::path::Path;

use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn_fabric::prelude::*;
use burn_fabric::{Accumulation, LoadedState};
use run_common::{RunFolder, Told};

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
    /// What is told of each step and test, and may ask for an end. They see the model alone: the loop
    /// holds the loader while it goes through it, and could not lend them the whole state.
    pub callbacks: Callbacks<FabricModule<Transformer>>,
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
            callbacks: settings.callbacks(),
            seed: fabric.settings().seed,
            model,
            settings,
            journal: Journal::default(),
        })
    }

    /// Go on where the latest checkpoint in `folder` is, or `folder` itself where it is one.
    ///
    /// # Errors
    /// As [`Fabric::load`]; [`RunError::OtherSettings`](run_common::RunError::OtherSettings).
    pub fn resume(
        &mut self,
        fabric: &Fabric,
        folder: &Path,
    ) -> Result<LoadedState, ShakespeareError> {
        let here = self.told();
        // What callbacks remember depends on the settings: those are compared first.
        let options = LoadOptions::new().except("callbacks");
        let loaded = fabric.load_with(folder, self, &options)?;
        here.is_also(&self.told(), &loaded.folder)?;
        Ok(fabric.load(&loaded.folder, self)?)
    }

    fn told(&self) -> Told<Settings> {
        Told {
            seed: self.seed,
            settings: self.settings.clone(),
        }
    }

    /// Whether there is nothing left to do: after the last step, or where a callback asked for an end.
    pub fn is_over(&self) -> bool {
        self.steps() >= self.settings.steps || self.callbacks.stop_reason().is_some()
    }

    /// How many steps were made.
    pub fn steps(&self) -> u32 {
        self.journal.losses().len() as u32
    }
}

/// The folder of a run; the best of its checkpoints is that of the best test.
pub fn run_folder(out: &Path) -> RunFolder {
    RunFolder::new(out, &RESULTS, "test_loss", Better::Lower)
}
