//! A module that was set up: its tensors, its flags, and which of its parameters are trained.

use std::collections::BTreeMap;

use burn::module::{Flag, Param};
use burn_materialize::{
    Entry, Layout, Materialize, Pass, Role, SaveOptions, Site, Slot, detached, inventory, load,
    save_plan, traverse,
};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{Content, Kind, Loading, Saving, StateProblem, TrainingState};
use crate::error::FabricError;
use crate::module::FabricModule;

#[derive(Default, Serialize, Deserialize)]
struct Record {
    /// Every tensor, a tie at each of its paths.
    tensors: BTreeMap<String, Tensor>,
    /// Training flags, which Burn's records leave out.
    flags: BTreeMap<String, bool>,
    /// Whether parameters require gradients.
    trainable: BTreeMap<String, bool>,
}

#[derive(Serialize, Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
}

impl Record {
    fn of<M: Materialize>(module: &M) -> Self {
        let mut record = Self::default();
        traverse(module.clone(), &mut Collect(&mut record));
        let tensor = |entry: &Entry| Tensor {
            dtype: entry
                .dtype
                .map_or("unknown", |dtype| dtype.name())
                .to_owned(),
            shape: entry.shape.as_slice().to_vec(),
        };
        let entries = inventory(module);
        record.tensors = entries
            .iter()
            .map(|entry| (entry.path.clone(), tensor(entry)))
            .collect();
        record
    }
}

struct Collect<'r>(&'r mut Record);

impl Pass for Collect<'_> {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        if slot.role() == Role::Parameter
            && let Some(trainable) = slot.is_trainable()
        {
            self.0.trainable.insert(site.path().to_owned(), trainable);
        }
    }

    fn flag(&mut self, site: &Site<'_>, flag: Param<Flag>) -> Param<Flag> {
        self.0
            .flags
            .insert(site.path().to_owned(), flag.is_enabled());
        flag
    }
}

struct Restore<'r>(&'r Record);

impl Pass for Restore<'_> {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        if slot.role() == Role::Parameter
            && let Some(trainable) = self.0.trainable.get(site.path())
            && slot.is_trainable() != Some(*trainable)
        {
            slot.set_trainable(*trainable);
        }
    }

    fn flag(&mut self, site: &Site<'_>, flag: Param<Flag>) -> Param<Flag> {
        match self.0.flags.get(site.path()) {
            Some(enabled) => flag.with_value(*enabled),
            None => flag,
        }
    }
}

impl<M: Materialize> TrainingState for FabricModule<M> {
    fn save_state(&self, saving: &mut Saving) {
        saving.module(self.registered());
        let snapshot = || -> Result<_, FabricError> {
            let module = self.module()?;
            let plan = save_plan(module, &SaveOptions::new().buffers(true))?;
            Ok((Record::of(module), plan))
        };
        match snapshot() {
            Err(error) => saving.refuse(error),
            Ok((record, plan)) => {
                let part = saving.name();
                saving.push(Kind::Module, move || {
                    let mut content = Content::record(&part, &record)?;
                    content.tensors = Some(Box::new(move |path| {
                        plan.write(path).map_err(StateProblem::of_module)?;
                        Ok(())
                    }));
                    Ok(content)
                });
            }
        }
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        loading.module(self.registered());
        let Some((part, record)) = loading.take::<Record>(Kind::Module) else {
            return;
        };
        let weights = match part.weights() {
            Ok(weights) => weights.layout(Layout::Burn),
            Err(problem) => return loading.fail(problem),
        };
        let loaded = || -> Result<_, FabricError> {
            let mut module = detached(self.module()?);
            let report = load(&mut module, &weights)?;
            let module = traverse(module, &mut Restore(&record));
            Ok((self.checked(module)?, report))
        };
        match loaded() {
            Err(error) => loading.refuse(error),
            Ok((module, report)) => {
                let casts = report.casts.iter();
                let tensors: Vec<String> = casts
                    .map(|cast| {
                        format!(
                            "{}: {} there, {} here",
                            cast.path,
                            cast.from.name(),
                            cast.to.name()
                        )
                    })
                    .collect();
                if !tensors.is_empty() {
                    let part = part.name;
                    return loading.fail(StateProblem::OtherDType { part, tensors });
                }
                loading.commit(move || self.put_loaded(module, report));
            }
        }
    }
}
