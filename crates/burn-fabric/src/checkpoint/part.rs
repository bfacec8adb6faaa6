//! What a training state consists of, and how a part writes and takes itself.

use std::path::Path;
use std::sync::Arc;

use burn_weights::{Outgoing, WriteOptions, write};
use ciborium::Value;
use serde::Serialize;

use super::loading::Loading;
use super::plain::encode;
use super::problem::StateProblem;
use super::saving::Saving;
use crate::registry::Registered;

/// What a checkpoint can keep: a module that was set up, an optimizer, a scheduler, a loader,
/// numbers and texts, and structs of these that derive it.
///
/// ```
/// use burn::nn::{Linear, LinearConfig};
/// use burn::optim::AdamWConfig;
/// use burn::optim::lr_scheduler::linear::LinearLrSchedulerConfig;
/// use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
/// use burn_fabric::prelude::*;
///
/// #[derive(TrainingState)]
/// struct Training {
///     model: FabricModule<Linear>,
///     optimizer: FabricOptimizer,
///     scheduler: ModuleLrScheduler,
///     rng: DeviceRng,
///     best: f64,
///     #[state(serde)] // anything that serde knows
///     history: Vec<(u32, f64)>,
///     #[state(skip)] // not kept
///     started: std::time::Instant,
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let fabric = Fabric::builder().build()?;
/// let begin = || -> Result<Training, Box<dyn std::error::Error>> {
///     let model = fabric.setup(fabric.init_module(|device| LinearConfig::new(4, 1).init(device))?)?;
///     Ok(Training {
///         optimizer: fabric.setup_optimizer(&model, AdamWConfig::new())?,
///         model,
///         scheduler: LinearLrSchedulerConfig::new(1e-2, 1e-4, 100).init()?,
///         rng: fabric.device_rng(),
///         best: f64::INFINITY,
///         history: Vec::new(),
///         started: std::time::Instant::now(),
///     })
/// };
/// let mut training = begin()?;
/// training.history.push((1, 0.5));
/// fabric.save(folder.path(), &training)?;
///
/// let mut resumed = begin()?;
/// let report = fabric.load(folder.path(), &mut resumed)?;
/// println!("{report}");
/// assert_eq!(resumed.history, [(1, 0.5)]);
/// # Ok(())
/// # }
/// ```
///
/// The name of a field is the name of its part; a struct within a struct puts its own before those
/// of its fields. `None` keeps nothing, and a `Vec` keeps its elements by their number. By hand, an
/// implementation names the same parts in both methods.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no part of a training state",
    label = "a checkpoint does not know how to keep this",
    note = "derive `TrainingState` for a struct of your own that holds parts",
    note = "put `#[state(serde)]` on a field that serde can write and read, `#[state(skip)]` on one that is not to be kept",
    note = "a Burn module is kept as what `fabric.setup` returns, an optimizer as what `fabric.setup_optimizer` does"
)]
pub trait TrainingState {
    /// Hand every part to `saving`, under its name. Nothing may change meanwhile.
    fn save_state(&self, saving: &mut Saving);

    /// Hand every part to `loading`, under the same name. It is checked now, and changes once all
    /// parts have been found to fit.
    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>);
}

/// What a part of a state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Module,
    Optimizer,
    Scheduler,
    Loader,
    Accumulation,
    Average,
    Rng,
    Value,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Module => "module",
            Self::Optimizer => "optimizer",
            Self::Scheduler => "scheduler",
            Self::Loader => "loader",
            Self::Accumulation => "accumulation",
            Self::Average => "moving average",
            Self::Rng => "generator",
            Self::Value => "value",
        }
    }
}

/// What a part writes.
pub(crate) struct Content {
    pub(crate) record: Value,
    /// Writes its tensors; none where there are none.
    pub(crate) tensors: Option<WriteTensors>,
}

pub(crate) type WriteTensors = Box<dyn FnOnce(&Path) -> Result<(), StateProblem> + Send>;

impl Content {
    /// The record of a part, without tensors.
    pub(crate) fn record<T: Serialize + ?Sized>(
        part: &str,
        record: &T,
    ) -> Result<Self, StateProblem> {
        let record = encode(record).map_err(|message| StateProblem::Value {
            part: part.to_owned(),
            message,
        })?;
        let tensors = None;
        Ok(Self { record, tensors })
    }

    /// With tensors.
    pub(crate) fn with(mut self, tensors: Vec<Outgoing>) -> Self {
        if !tensors.is_empty() {
            self.tensors = Some(Box::new(move |path| {
                write(path, tensors, &WriteOptions::default())?;
                Ok(())
            }));
        }
        self
    }
}

/// Makes what a part writes: another thread may, later.
pub(crate) type Write = Box<dyn FnOnce() -> Result<Content, StateProblem> + Send>;

/// The modules of a state, by the names of their parts.
pub(crate) type Modules = [(String, Arc<Registered>)];

/// The name of a part within another.
pub(super) fn joined(path: &str, name: &str) -> String {
    match path.is_empty() {
        true => name.to_owned(),
        false => format!("{path}.{name}"),
    }
}

/// The name of a part at its place: of one that is the whole state, too.
pub(super) fn named(path: &str) -> String {
    match path.is_empty() {
        true => "state".to_owned(),
        false => path.to_owned(),
    }
}
