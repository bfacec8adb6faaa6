//! A module that was set up.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};

use burn_materialize::{Entry, Materialize, RealizeReport, Realized, Recipes, Summary, inventory};

use crate::error::FabricError;

/// A module that [`Fabric::setup`](crate::Fabric::setup) returned: real, trainable, ties kept.
///
/// It derefs to the module, so methods of the module are called as ever, and is itself no Burn
/// `Module`: it cannot be set up twice, and an optimizer can tell it from a raw one.
/// [`into_inner`](FabricModule::into_inner) gives the plain module back.
#[derive(Debug)]
pub struct FabricModule<M> {
    /// Empty only while a step runs, and after one panicked.
    module: Option<M>,
    identity: u64,
    recipes: Recipes,
    report: RealizeReport,
}

static NEXT: AtomicU64 = AtomicU64::new(0);

impl<M: Materialize> FabricModule<M> {
    pub(crate) fn new(realized: Realized<M>) -> Self {
        let Realized {
            module,
            recipes,
            report,
        } = realized;
        let identity = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            module: Some(module),
            identity,
            recipes,
            report,
        }
    }

    pub(crate) fn identity(&self) -> u64 {
        self.identity
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

    /// Replace the module by a function of it, without a clone. A panic in `change` leaves the
    /// slot empty, and whoever comes next is told so.
    pub(crate) fn change(&mut self, change: impl FnOnce(M) -> M) -> Result<(), FabricError> {
        let module = self.module.take().ok_or(FabricError::Poisoned)?;
        self.module = Some(change(module));
        Ok(())
    }

    /// What `setup` did otherwise than usual.
    pub fn report(&self) -> &RealizeReport {
        &self.report
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
    /// Identity, ties, trainability and flags stay; an optimizer keeps its state.
    ///
    /// # Errors
    /// [`FabricError::Materialize`] where a parameter has no recorded source (it was real before
    /// `setup`); the module is then as it was. [`FabricError::Poisoned`] after a step panicked.
    pub fn reset_parameters(&mut self, seed: u64) -> Result<(), FabricError> {
        let module = self.module.as_mut().ok_or(FabricError::Poisoned)?;
        Ok(self.recipes.reset(module, seed, &|_| true)?)
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
