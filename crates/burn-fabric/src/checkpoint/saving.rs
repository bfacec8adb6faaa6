//! Taking a state apart.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::Serialize;

use super::part::{Content, Kind, Modules, TrainingState, Write, joined, named};
use super::problem::StateProblem;
use crate::error::FabricError;
use crate::registry::Registered;

/// A part as it was when it was asked.
pub(super) struct Snapshot {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) write: Write,
}

type LaterSave = Box<dyn FnOnce(&Modules) -> Result<Write, StateProblem>>;

/// Takes a state apart; what [`TrainingState::save_state`] is given.
///
/// ```
/// use burn_fabric::prelude::*;
/// use burn_fabric::{Loading, Saving};
///
/// /// What `derive(TrainingState)` writes, by hand.
/// struct Progress {
///     steps: u64,
///     losses: Vec<f32>,
/// }
///
/// impl TrainingState for Progress {
///     fn save_state(&self, saving: &mut Saving) {
///         saving.part("steps", &self.steps);
///         saving.value("losses", &self.losses);
///     }
///
///     fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
///         loading.part("steps", &mut self.steps);
///         loading.value("losses", &mut self.losses);
///     }
/// }
///
/// # let folder = tempfile::tempdir()?;
/// let fabric = Fabric::builder().build()?;
/// fabric.save(folder.path(), &Progress { steps: 2, losses: vec![0.7, 0.5] })?;
/// let mut progress = Progress { steps: 0, losses: Vec::new() };
/// fabric.load(folder.path(), &mut progress)?;
/// assert_eq!((progress.steps, progress.losses.len()), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
        self.within(name, |saving| part.save_state(saving));
    }

    /// Keep a value that serde knows under a name.
    pub fn value<T: Serialize>(&mut self, name: &str, value: &T) {
        self.within(name, |saving| saving.record(Kind::Value, value));
    }

    /// Keep a part under a name; one that panics is as if it had not been asked.
    pub(crate) fn try_part<T: TrainingState + ?Sized>(
        &mut self,
        name: &str,
        part: &T,
    ) -> std::thread::Result<()> {
        let (path, names) = (self.path.clone(), self.names.clone());
        let (parts, modules) = (self.parts.len(), self.modules.len());
        let (later, problems) = (self.later.len(), self.problems.len());
        let done = catch_unwind(AssertUnwindSafe(|| self.part(name, part)));
        if done.is_err() {
            (self.path, self.names) = (path, names);
            self.parts.truncate(parts);
            self.modules.truncate(modules);
            self.later.truncate(later);
            self.problems.truncate(problems);
        }
        done
    }

    fn within(&mut self, name: &str, save: impl FnOnce(&mut Self)) {
        let path = joined(&self.path, name);
        let too_long = (path.len() > 200).then_some("it is longer than 200 bytes");
        if let Some(reason) = unfit(name).or(too_long) {
            return self.fail(StateProblem::PartName { part: path, reason });
        }
        let outer = std::mem::replace(&mut self.path, path);
        save(self);
        self.path = outer;
    }

    /// The name of the part that is being saved.
    pub(crate) fn name(&self) -> String {
        named(&self.path)
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

    /// A part that is a record alone.
    pub(crate) fn record<T: Serialize + ?Sized>(&mut self, kind: Kind, record: &T) {
        match Content::record(&self.name(), record) {
            Ok(content) => self.push(kind, move || Ok(content)),
            Err(problem) => self.fail(problem),
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

/// Files are called after parts.
fn unfit(name: &str) -> Option<&'static str> {
    let first = name.chars().next();
    if first.is_none_or(|first| !first.is_alphanumeric() && first != '_') {
        Some("it does not begin with a letter, a digit or `_`")
    } else if !name.chars().all(|c| c.is_alphanumeric() || c == '_') {
        Some("it has other characters than letters, digits and `_`")
    } else {
        None
    }
}
