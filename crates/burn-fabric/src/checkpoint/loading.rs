//! Putting a state together: everything is checked, then everything changes.

use std::any::type_name;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use burn::tensor::TensorData;
use burn_materialize::{Checkpoint, Weights};
use burn_weights::Reading;
use serde::de::DeserializeOwned;

use super::load::{LoadOptions, OptimizerMatch};
use super::manifest;
use super::part::{Kind, Modules, TrainingState, joined, named};
use super::plain::decode;
use super::problem::StateProblem;
use super::saved::SavedState;
use crate::error::FabricError;
use crate::registry::Registered;

/// A change of the state, made once all is known to fit.
pub(crate) type Commit<'s> = Box<dyn FnOnce() + 's>;

type LaterLoad<'s> = Box<dyn FnOnce(&Modules) -> Result<Commit<'s>, StateProblem> + 's>;

/// Puts a state together; what [`TrainingState::load_state`] is given. [`Saving`](super::Saving) has
/// an example of both.
pub struct Loading<'s> {
    saved: &'s SavedState,
    options: &'s LoadOptions,
    path: String,
    seen: BTreeSet<String>,
    passed_over: BTreeSet<String>,
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
        self.within(name, |loading| part.load_state(loading));
    }

    /// Load a value that serde knows by its name.
    pub fn value<T: DeserializeOwned>(&mut self, name: &str, value: &'s mut T) {
        self.within(name, |loading| loading.put(value));
    }

    /// Load a value by its name if it may take the place of the one here.
    pub(crate) fn value_that<T: DeserializeOwned>(
        &mut self,
        name: &str,
        value: &'s mut T,
        fits: impl FnOnce(&T) -> Result<(), FabricError>,
    ) {
        self.within(name, |loading| {
            let Some((_, loaded)) = loading.take(Kind::Value) else {
                return;
            };
            match fits(&loaded) {
                Ok(()) => loading.commit(move || *value = loaded),
                Err(problem) => loading.refuse(problem),
            }
        });
    }

    /// Load a part by its name; one that panics is as if it had not been asked.
    pub(crate) fn try_part<T: TrainingState + ?Sized>(
        &mut self,
        name: &str,
        part: &'s mut T,
    ) -> std::thread::Result<()> {
        let (path, seen) = (self.path.clone(), self.seen.clone());
        let (modules, commits) = (self.modules.len(), self.commits.len());
        let (later, problems) = (self.later.len(), self.problems.len());
        let optimizers = self.optimizers.clone();
        let done = catch_unwind(AssertUnwindSafe(|| {
            let part = part; // moved, not lent
            self.part(name, part);
        }));
        if done.is_err() {
            (self.path, self.seen, self.optimizers) = (path, seen, optimizers);
            self.modules.truncate(modules);
            self.commits.truncate(commits);
            self.later.truncate(later);
            self.problems.truncate(problems);
        }
        done
    }

    /// A value by its name, if there is such a part; it is for the one who asks to decide, and changes
    /// nothing of the state.
    pub(crate) fn value_if_there<T: DeserializeOwned>(&mut self, name: &str) -> Option<T> {
        self.saved.part(&joined(&self.path, name))?;
        let mut value = None;
        self.within(name, |loading| value = loading.take(Kind::Value));
        self.seen.remove(&joined(&self.path, name));
        self.pass_over(name);
        value.map(|(_, value)| value)
    }

    /// Whatever the checkpoint has within this part is left there.
    pub(crate) fn pass_over(&mut self, name: &str) {
        let path = joined(&self.path, name);
        let below = format!("{path}.");
        let parts = self.saved.parts().map(|(part, _)| part);
        let parts = parts.filter(|part| *part == path || part.starts_with(&below));
        self.passed_over.extend(parts.map(str::to_owned));
    }

    fn within(&mut self, name: &str, load: impl FnOnce(&mut Self)) {
        let path = joined(&self.path, name);
        let outer = std::mem::replace(&mut self.path, path);
        load(self);
        self.path = outer;
    }

    /// Load the value that the part is.
    pub(crate) fn put<T: DeserializeOwned>(&mut self, value: &'s mut T) {
        if let Some((_, loaded)) = self.take(Kind::Value) {
            self.commit(move || *value = loaded);
        }
    }

    pub(crate) fn name(&self) -> String {
        named(&self.path)
    }

    pub(crate) fn options(&self) -> &'s LoadOptions {
        self.options
    }

    pub(crate) fn module(&mut self, module: &Arc<Registered>) {
        self.modules.push((self.name(), module.clone()));
    }

    /// The part of this name and kind, and its record; none where it is to stay as it is, or where
    /// there is none such, which is noted.
    pub(crate) fn take<T: DeserializeOwned>(&mut self, kind: Kind) -> Option<(SavedPart, T)> {
        let part = self.find(kind)?;
        match part.record() {
            Ok(record) => Some((part, record)),
            Err(problem) => {
                self.fail(problem);
                None
            }
        }
    }

    fn find(&mut self, kind: Kind) -> Option<SavedPart> {
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
            passed_over: BTreeSet::new(),
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
            let known = loading.seen.contains(part) || loading.passed_over.contains(part);
            if !known && !options.excepts(part) {
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
    fn record<T: DeserializeOwned>(&self) -> Result<T, StateProblem> {
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

    /// The same as weights for a module, which always has a file.
    pub(crate) fn weights(&self) -> Result<Weights, StateProblem> {
        let tensors = self.tensors()?.ok_or_else(|| StateProblem::Value {
            part: self.name.clone(),
            message: "the checkpoint has no tensors of it".to_owned(),
        })?;
        Ok(tensors.into())
    }
}

/// The values of a tensor of a checkpoint: a view of the file, which is read when they are.
pub(crate) fn read(tensors: &Checkpoint, name: &str) -> Result<TensorData, StateProblem> {
    let info = tensors.tensor(name)?;
    let read = tensors.read(name, None, Reading::Map)?;
    let dtype = info.dtype.burn().expect("what cannot be held was not read");
    Ok(TensorData::from_bytes(read.bytes, info.shape, dtype))
}
