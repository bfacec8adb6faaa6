//! What a training state consists of, and how a part writes and takes itself.

use std::any::type_name;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn::tensor::TensorData;
use burn_materialize::{Checkpoint, Weights};
use burn_weights::{Outgoing, Reading, WriteOptions, write};
use ciborium::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::load::{LoadOptions, OptimizerMatch};
use super::manifest;
use super::plain::{decode, encode};
use super::problem::StateProblem;
use super::saved::SavedState;
use crate::error::FabricError;
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
/// use burn_fabric::DeviceRng;
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
    /// Some record alone.
    pub(crate) fn record<T: Serialize>(record: &T) -> Result<Self, String> {
        Ok(Self {
            record: encode(record)?,
            tensors: None,
        })
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

/// A part as it was when it was asked.
pub(super) struct Snapshot {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) write: Write,
}

/// The modules of a state, by the names of their parts.
pub(crate) type Modules = [(String, Arc<Registered>)];

type LaterSave = Box<dyn FnOnce(&Modules) -> Result<Write, StateProblem>>;

/// Takes a state apart; what [`TrainingState::save_state`] is given.
#[derive(Default)]
pub struct Saving {
    path: String,
    names: BTreeSet<String>,
    parts: Vec<Snapshot>,
    modules: Vec<(String, Arc<Registered>)>,
    later: Vec<(String, Kind, LaterSave)>,
    problems: Vec<StateProblem>,
}

impl Saving {
    /// Keep a part under a name.
    pub fn part<T: TrainingState + ?Sized>(&mut self, name: &str, part: &T) {
        let path = joined(&self.path, name);
        if let Some(reason) = unfit(name) {
            return self
                .problems
                .push(StateProblem::PartName { part: path, reason });
        }
        let outer = std::mem::replace(&mut self.path, path);
        part.save_state(self);
        self.path = outer;
    }

    /// Keep a value that serde knows under a name.
    pub fn value<T: Serialize>(&mut self, name: &str, value: &T) {
        self.part(name, &super::parts::Saved(value));
    }

    /// The name of the part that is being saved.
    pub(crate) fn name(&self) -> String {
        self.path.clone()
    }

    pub(crate) fn module(&mut self, module: &Arc<Registered>) {
        self.modules.push((self.name(), module.clone()));
    }

    pub(crate) fn push(
        &mut self,
        kind: Kind,
        write: impl FnOnce() -> Result<Content, StateProblem> + Send + 'static,
    ) {
        if self.is_new() {
            let (name, write) = (self.name(), Box::new(write));
            self.parts.push(Snapshot { name, kind, write });
        }
    }

    /// Once all modules are known.
    pub(crate) fn later(
        &mut self,
        kind: Kind,
        save: impl FnOnce(&Modules) -> Result<Write, StateProblem> + 'static,
    ) {
        if self.is_new() {
            self.later.push((self.name(), kind, Box::new(save)));
        }
    }

    fn is_new(&mut self) -> bool {
        let part = self.name();
        let is_new = self.names.insert(part.clone());
        if !is_new {
            let reason = "another part has this name";
            self.problems.push(StateProblem::PartName { part, reason });
        }
        is_new
    }

    pub(crate) fn fail(&mut self, problem: StateProblem) {
        self.problems.push(problem);
    }

    /// A part refuses.
    pub(crate) fn refuse(&mut self, source: FabricError) {
        let (part, source) = (self.name(), Box::new(source));
        self.fail(StateProblem::Part { part, source });
    }

    pub(super) fn take<T: TrainingState + ?Sized>(
        state: &T,
    ) -> Result<Vec<Snapshot>, Vec<StateProblem>> {
        let mut saving = Self::default();
        state.save_state(&mut saving);
        for (name, kind, save) in std::mem::take(&mut saving.later) {
            match save(&saving.modules) {
                Ok(write) => saving.parts.push(Snapshot { name, kind, write }),
                Err(problem) => saving.problems.push(problem),
            }
        }
        match saving.problems.is_empty() {
            true => Ok(saving.parts),
            false => Err(saving.problems),
        }
    }
}

/// A change of the state, made once all is known to fit.
pub(crate) type Commit<'s> = Box<dyn FnOnce() + 's>;

type LaterLoad<'s> = Box<dyn FnOnce(&Modules) -> Result<Commit<'s>, StateProblem> + 's>;

/// Puts a state together; what [`TrainingState::load_state`] is given.
pub struct Loading<'s> {
    saved: &'s SavedState,
    options: &'s LoadOptions,
    path: String,
    seen: BTreeSet<String>,
    modules: Vec<(String, Arc<Registered>)>,
    commits: Vec<Commit<'s>>,
    later: Vec<LaterLoad<'s>>,
    problems: Vec<StateProblem>,
    optimizers: BTreeMap<String, OptimizerMatch>,
}

/// What was found to fit.
pub(super) struct Fitting<'s> {
    pub(super) commits: Vec<Commit<'s>>,
    pub(super) parts: Vec<String>,
    pub(super) optimizers: BTreeMap<String, OptimizerMatch>,
}

impl<'s> Loading<'s> {
    /// Load a part by its name.
    pub fn part<T: TrainingState + ?Sized>(&mut self, name: &str, part: &'s mut T) {
        let path = joined(&self.path, name);
        let outer = std::mem::replace(&mut self.path, path);
        part.load_state(self);
        self.path = outer;
    }

    /// Load a value that serde knows by its name.
    pub fn value<T: DeserializeOwned>(&mut self, name: &str, value: &'s mut T) {
        let path = joined(&self.path, name);
        let outer = std::mem::replace(&mut self.path, path);
        super::parts::load_value(self, value);
        self.path = outer;
    }

    pub(crate) fn name(&self) -> String {
        self.path.clone()
    }

    pub(crate) fn options(&self) -> &'s LoadOptions {
        self.options
    }

    pub(crate) fn module(&mut self, module: &Arc<Registered>) {
        self.modules.push((self.name(), module.clone()));
    }

    /// The part of this name and kind; none where it is to stay as it is, or is not there, which is
    /// noted.
    pub(crate) fn take(&mut self, kind: Kind) -> Option<SavedPart> {
        let name = self.name();
        if self.options.excepts(&name) {
            return None;
        }
        let Some(part) = self.saved.part(&name) else {
            let there = self
                .saved
                .parts()
                .map(|(name, _)| name.to_owned())
                .collect();
            self.fail(StateProblem::MissingPart { part: name, there });
            return None;
        };
        self.seen.insert(name.clone());
        if part.kind != kind.name() {
            self.fail(StateProblem::OtherKind {
                part: name,
                found: part.kind.clone(),
                expected: kind.name(),
            });
            return None;
        }
        let file = part
            .file
            .as_ref()
            .map(|file| self.saved.folder().join(&file.name));
        let part = part.clone();
        Some(SavedPart { name, part, file })
    }

    pub(crate) fn commit(&mut self, commit: impl FnOnce() + 's) {
        self.commits.push(Box::new(commit));
    }

    pub(crate) fn later(
        &mut self,
        load: impl FnOnce(&Modules) -> Result<Commit<'s>, StateProblem> + 's,
    ) {
        self.later.push(Box::new(load));
    }

    pub(crate) fn matched(&mut self, optimizer: OptimizerMatch) {
        self.optimizers.insert(self.name(), optimizer);
    }

    pub(crate) fn fail(&mut self, problem: StateProblem) {
        self.problems.push(problem);
    }

    pub(crate) fn refuse(&mut self, source: FabricError) {
        let (part, source) = (self.name(), Box::new(source));
        self.fail(StateProblem::Part { part, source });
    }

    pub(super) fn check<T: TrainingState + ?Sized>(
        state: &'s mut T,
        saved: &'s SavedState,
        options: &'s LoadOptions,
    ) -> Result<Fitting<'s>, Vec<StateProblem>> {
        let mut loading = Self {
            saved,
            options,
            path: String::new(),
            seen: BTreeSet::new(),
            modules: Vec::new(),
            commits: Vec::new(),
            later: Vec::new(),
            problems: Vec::new(),
            optimizers: BTreeMap::new(),
        };
        state.load_state(&mut loading);
        for load in std::mem::take(&mut loading.later) {
            match load(&loading.modules) {
                Ok(commit) => loading.commits.push(commit),
                Err(problem) => loading.problems.push(problem),
            }
        }
        for (part, kind) in saved.parts() {
            if !loading.seen.contains(part) && !options.excepts(part) {
                let (part, kind) = (part.to_owned(), kind.to_owned());
                loading
                    .problems
                    .push(StateProblem::UnexpectedPart { part, kind });
            }
        }
        match loading.problems.is_empty() {
            true => Ok(Fitting {
                commits: loading.commits,
                parts: loading.seen.into_iter().collect(),
                optimizers: loading.optimizers,
            }),
            false => Err(loading.problems),
        }
    }
}

/// A part of a checkpoint.
pub(crate) struct SavedPart {
    pub(crate) name: String,
    part: manifest::Part,
    file: Option<PathBuf>,
}

impl SavedPart {
    pub(crate) fn record<T: DeserializeOwned>(&self) -> Result<T, StateProblem> {
        decode(&self.part.record).map_err(|message| StateProblem::Value {
            part: self.name.clone(),
            message: format!(
                "what the checkpoint has is no {} ({message})",
                type_name::<T>()
            ),
        })
    }

    /// Its tensors; none where it has none.
    pub(crate) fn tensors(&self) -> Result<Option<Checkpoint>, StateProblem> {
        let file = self.file.as_ref();
        Ok(file.map(Checkpoint::open).transpose()?)
    }

    /// The same as weights for a module.
    pub(crate) fn weights(&self) -> Result<Option<Weights>, StateProblem> {
        Ok(self.tensors()?.map(Weights::from))
    }
}

/// The values of a tensor of a checkpoint: a view of the file, which is read when they are.
pub(crate) fn read(tensors: &Checkpoint, name: &str) -> Result<TensorData, StateProblem> {
    let info = tensors.tensor(name)?;
    let read = tensors.read(name, None, Reading::Map)?;
    let dtype = info.dtype.burn().expect("what cannot be held was not read");
    Ok(TensorData::from_bytes(read.bytes, info.shape, dtype))
}

fn joined(path: &str, name: &str) -> String {
    match path.is_empty() {
        true => name.to_owned(),
        false => format!("{path}.{name}"),
    }
}

/// Files are called after parts.
fn unfit(name: &str) -> Option<&'static str> {
    let first = name.chars().next();
    if first.is_none_or(|first| !first.is_alphanumeric() && first != '_') {
        Some("it does not begin with a letter, a digit or `_`")
    } else if !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        Some("it has other characters than letters, digits and `_`")
    } else if name.len() > 100 {
        Some("it is longer than 100 bytes")
    } else {
        None
    }
}
