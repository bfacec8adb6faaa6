//! A module that was set up.

use std::collections::HashSet;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::DType;
use burn_materialize::{
    Entry, LoadReport, Materialize, RealizeReport, Realized, Recipes, SaveOptions, Summary,
    Weights, Written, detached, inventory, load, retie, retie_as, save, valid,
};

use crate::change::changes;
use crate::error::FabricError;
use crate::parameters::{Parameters, parameters};
use crate::precision::norms_in_f32;
use crate::registry::Registered;

/// A module that [`Fabric::setup`](crate::Fabric::setup) returned: real, trainable, ties kept.
///
/// It derefs to the module, so methods of the module are called as ever, and is itself no Burn
/// `Module`: it cannot be set up twice, and an optimizer can tell it from a raw one.
/// [`into_inner`](FabricModule::into_inner) gives the plain module back.
#[derive(Debug)]
pub struct FabricModule<M> {
    /// Empty only while a step runs, and after one panicked.
    module: Option<M>,
    registered: Arc<Registered>,
    recipes: Recipes,
    report: RealizeReport,
    load: Option<LoadReport>,
    /// Whether its layer norms have f32 parameters in a model of f16.
    has_norms_in_f32: bool,
}

impl<M> FabricModule<M> {
    pub(crate) fn registered(&self) -> &Arc<Registered> {
        &self.registered
    }

    /// Take the module out of its place, for a step without a clone. Where it is never put back,
    /// whoever comes next is told so.
    pub(crate) fn take(&mut self) -> Option<M> {
        self.registered.set_taken(true);
        self.module.take()
    }

    pub(crate) fn put(&mut self, module: M) {
        self.module = Some(module);
        self.registered.set_taken(false);
    }
}

impl<M: Materialize> FabricModule<M> {
    pub(crate) fn new(realized: Realized<M>, has_norms_in_f32: bool) -> Self {
        let Realized {
            module,
            recipes,
            report,
            load,
        } = realized;
        Self {
            registered: Registered::new(parameters(&module)),
            module: Some(module),
            recipes,
            report,
            load,
            has_norms_in_f32,
        }
    }

    /// The plain Burn module.
    ///
    /// # Errors
    /// [`FabricError::Poisoned`] after a step panicked.
    pub fn into_inner(self) -> Result<M, FabricError> {
        self.module.ok_or(FabricError::Poisoned)
    }

    /// The module, for what wants a plain `&M`: saving, evaluating, Burn's own helpers.
    ///
    /// # Errors
    /// [`FabricError::Poisoned`] after a step panicked.
    pub fn module(&self) -> Result<&M, FabricError> {
        self.module.as_ref().ok_or(FabricError::Poisoned)
    }

    /// A copy for inference: no autodiff, training flags off. It shares the parameters' memory, and
    /// keeps its values when the module is trained further.
    ///
    /// # Errors
    /// [`FabricError::Poisoned`] after a step panicked.
    pub fn inference(&self) -> Result<M, FabricError> {
        Ok(valid(self.module()?))
    }

    /// Its parameters, to select some, or to join them with another module's.
    pub fn parameters(&self) -> Parameters {
        Parameters::of(&self.registered)
    }

    /// Replace the module by a function of it: freeze, load a Burn record, attach an adapter.
    ///
    /// Ties that came apart are put together again, and autodiff is turned on for what is new. An
    /// optimizer follows its parameters by path; what is new is updated by none until one is set up
    /// over it.
    ///
    /// ```
    /// use burn::module::Module;
    /// use burn::nn::LinearConfig;
    /// use burn_fabric::prelude::*;
    ///
    /// let fabric = Fabric::builder().build()?;
    /// let mut model = fabric.setup(LinearConfig::new(4, 1).init(&fabric.inference_device()))?;
    /// model.map(|linear| linear.no_grad())?;
    /// assert!(!model.weight.is_require_grad());
    /// # Ok::<(), FabricError>(())
    /// ```
    ///
    /// # Errors
    /// [`FabricError::Changed`] where a tensor went back to lazy, to another device or dtype, or is
    /// gone while an optimizer holds it; [`FabricError::Materialize`] where one id then stands over
    /// two tensors; [`FabricError::Poisoned`]. The module is then as it was, as it is after a panic
    /// in `change`.
    pub fn map(&mut self, change: impl FnOnce(M) -> M) -> Result<(), FabricError> {
        let changed = change(detached(self.module()?));
        let changed = self.checked(changed)?;
        self.put_changed(changed);
        Ok(())
    }

    /// What this module may become, with its ties put together, or what it may not.
    pub(crate) fn checked(&self, changed: M) -> Result<M, FabricError> {
        let module = self.module()?;
        let held = self.registered.held();
        let before = inventory(module);
        let changed = match self.has_norms_in_f32 {
            true => {
                let in_f16 = before
                    .iter()
                    .filter(|entry| entry.dtype == Some(DType::F16));
                let in_f16: HashSet<&str> = in_f16.map(|entry| &*entry.path).collect();
                // One that is lazy stays so, and is refused below.
                norms_in_f32(changed, &|path, slot| {
                    !in_f16.contains(path) && !slot.is_lazy()
                })
            }
            false => changed,
        };
        let changes = changes(&before, &inventory(&changed), &held);
        if !changes.is_empty() {
            return Err(FabricError::Changed { changes });
        }
        Ok(match before.first() {
            Some(entry) => retie_as(changed, &entry.device)?,
            None => retie(changed)?,
        })
    }

    /// Put what was [`checked`](FabricModule::checked) in its place.
    fn put_changed(&mut self, changed: M) {
        self.registered.replace_parameters(parameters(&changed));
        self.recipes.forget_missing(&changed);
        self.module = Some(changed);
    }

    /// Put what was loaded and [`checked`](FabricModule::checked) in its place.
    pub(crate) fn put_loaded(&mut self, changed: M, report: LoadReport) {
        self.put_changed(changed);
        self.load = Some(report);
    }

    /// What `setup` did otherwise than usual.
    pub fn report(&self) -> &RealizeReport {
        &self.report
    }

    /// What the last checkpoint gave that was loaded into it, if any was.
    pub fn load_report(&self) -> Option<&LoadReport> {
        self.load.as_ref()
    }

    /// Load a checkpoint into it. Identity, ties and trainability stay; an optimizer follows its
    /// parameters by path and keeps its state.
    ///
    /// # Errors
    /// [`FabricError::Materialize`] for whatever does not fit, and the module is then as it was;
    /// [`FabricError::Poisoned`] after a step panicked.
    pub fn load(&mut self, weights: &Weights) -> Result<&LoadReport, FabricError> {
        let mut loaded = detached(self.module()?);
        let report = load(&mut loaded, weights)?;
        self.map(|_| loaded)?;
        Ok(self.load.insert(report))
    }

    /// Save its parameters and running states, as [`burn_materialize::save`] does.
    ///
    /// # Errors
    /// [`FabricError::Materialize`] when it cannot be written; what was there is as it was.
    /// [`FabricError::Poisoned`] after a step panicked.
    pub fn save(
        &self,
        path: impl AsRef<Path>,
        options: &SaveOptions,
    ) -> Result<Written, FabricError> {
        Ok(save(self.module()?, path, options)?)
    }

    /// Its tensors, in traversal order.
    ///
    /// # Errors
    /// [`FabricError::Poisoned`] after a step panicked.
    pub fn inventory(&self) -> Result<Vec<Entry>, FabricError> {
        Ok(inventory(self.module()?))
    }

    /// A table of its tensors with totals.
    ///
    /// # Errors
    /// [`FabricError::Poisoned`] after a step panicked.
    pub fn summary(&self) -> Result<Summary, FabricError> {
        Ok(Summary::of(self.module()?))
    }

    /// Give every tensor the initial value its constructor recorded, drawn anew with `seed`.
    /// Identity, ties, trainability and flags stay; an optimizer keeps its state
    /// ([`reset_state`](crate::FabricOptimizer::reset_state) forgets it).
    ///
    /// # Errors
    /// [`FabricError::Materialize`] where a parameter has no recorded source (it was real before
    /// `setup`); the module is then as it was. [`FabricError::Poisoned`] after a step panicked.
    pub fn reset_parameters(&mut self, seed: u64) -> Result<(), FabricError> {
        self.reset_parameters_where(seed, |_| true)
    }

    /// The same for the tensors whose path `select` accepts.
    ///
    /// # Errors
    /// As [`reset_parameters`](FabricModule::reset_parameters), and where nothing is selected.
    pub fn reset_parameters_where(
        &mut self,
        seed: u64,
        select: impl Fn(&str) -> bool,
    ) -> Result<(), FabricError> {
        let module = self.module.as_mut().ok_or(FabricError::Poisoned)?;
        self.recipes.reset(module, seed, &select)?;
        self.registered.values_changed();
        Ok(())
    }
}

impl<M> Deref for FabricModule<M> {
    type Target = M;

    /// # Panics
    /// After a step panicked, since there is no module to give any more.
    fn deref(&self) -> &M {
        self.module
            .as_ref()
            .expect("the module's parameters were lost when a step panicked")
    }
}
