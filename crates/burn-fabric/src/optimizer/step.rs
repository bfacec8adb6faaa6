//! One step: check everything, then one pass over the parameters.

use std::any::Any;
use std::borrow::BorrowMut;
use std::collections::HashMap;

use burn::module::ParamId;
use burn::optim::GradientsParams;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::tensor::kind::BridgeTensor;
use burn_materialize::{Materialize, Pass, Site, Slot, traverse};

use super::groups::BuiltGroup;
use super::update::{Kept, update};
use super::{FabricOptimizer, Tracked};
use crate::config::MissingGradients;
use crate::error::FabricError;
use crate::gradients::{check_shapes, non_finite, take};
use crate::module::FabricModule;
use crate::registry::Registered;
use crate::span;

/// What a step did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepReport {
    /// How many parameters were updated, a tie once.
    pub updated: usize,
    /// Paths of the parameters that had no gradient and stay as they are.
    pub without_gradient: Vec<String>,
    /// Paths of the parameters whose gradient left the range of f16, or was clipped together with one
    /// that did; the step was left out for them, and the scale of the loss halved. See [`LossScale`](crate::LossScale).
    pub overflowed: Vec<String>,
}

impl StepReport {
    /// Whether the step was left out: no parameter and no state has changed.
    pub fn is_skipped(&self) -> bool {
        !self.overflowed.is_empty()
    }
}

/// What a joint step can be taken over: `&mut` to a module that was set up, or a tuple of them.
pub trait StepTarget: sealed::Sealed {
    #[doc(hidden)]
    fn modules(&self) -> Vec<Module<'_>>;
    #[doc(hidden)]
    fn run(self, pass: &mut dyn Pass);
}

/// A module as the registry knows it.
pub struct Module<'m>(&'m Registered);

mod sealed {
    pub trait Sealed {}
    impl<M> Sealed for &mut crate::FabricModule<M> {}
}

impl<M: Materialize> StepTarget for &mut FabricModule<M> {
    fn modules(&self) -> Vec<Module<'_>> {
        vec![Module(self.registered())]
    }

    fn run(self, pass: &mut dyn Pass) {
        if let Some(module) = self.take() {
            self.put(traverse(module, pass));
        }
    }
}

macro_rules! tuples {
    ($(($($module:ident $place:tt),+))+) => {$(
        impl<$($module),+> sealed::Sealed for ($(&mut FabricModule<$module>,)+) {}

        impl<$($module: Materialize),+> StepTarget for ($(&mut FabricModule<$module>,)+) {
            fn modules(&self) -> Vec<Module<'_>> {
                vec![$(Module(self.$place.registered())),+]
            }

            fn run(self, pass: &mut dyn Pass) {
                // All are out of their places while one is stepped: a panic then leaves no module
                // that looks whole beside others that are a step ahead.
                let taken = ($(self.$place.take(),)+);
                let stepped = ($(taken.$place.map(|module| traverse(module, pass)),)+);
                $(if let Some(module) = stepped.$place { self.$place.put(module); })+
            }
        }
    )+};
}

tuples! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
}

impl FabricOptimizer {
    /// [`step`](FabricOptimizer::step) for an optimizer over several modules:
    /// `optimizer.step_joint(rate, (&mut encoder, &mut decoder), gradients)`.
    ///
    /// # Errors
    /// As [`step`](FabricOptimizer::step).
    pub fn step_joint(
        &mut self,
        rate: impl Into<ModuleLearningRate>,
        modules: impl StepTarget,
        mut gradients: impl BorrowMut<GradientsParams>,
    ) -> Result<StepReport, FabricError> {
        let _span = span::step(self.tracked.len());
        self.check_modules(&modules.modules())?;
        self.follow();
        let rates = self.rates(&rate.into())?;
        let gradients = gradients.borrow_mut();
        let without_gradient = self.check_gradients(gradients)?;
        let overflowed = self.check_scale(gradients)?;
        let tracked = self.tracked.iter();
        let gradients = tracked.map(|one| take(gradients, one.id, one.shape.rank()));
        if !overflowed.is_empty() {
            gradients.for_each(drop);
            return Ok(StepReport {
                updated: 0,
                without_gradient,
                overflowed,
            });
        }
        let mut step = Step {
            gradients: gradients.collect(),
            groups: &self.groups,
            tracked: &mut self.tracked,
            index: &self.index,
            rates,
            masters: self.mixed.masters,
            leaves: HashMap::new(),
            updated: 0,
        };
        modules.run(&mut step);
        Ok(StepReport {
            updated: step.updated,
            without_gradient,
            overflowed,
        })
    }

    /// The paths whose gradient is not finite, where the loss is scaled; the scale has changed then.
    fn check_scale(&self, gradients: &GradientsParams) -> Result<Vec<String>, FabricError> {
        let Some(scaler) = &self.mixed.scaler else {
            return Ok(Vec::new());
        };
        let tracked = self.tracked.iter();
        let broken = non_finite(tracked.map(|one| (one.id, one.shape.rank())), gradients);
        scaler.steps(&self.mixed.last_turn);
        if broken.is_empty() {
            scaler.taken();
            return Ok(Vec::new());
        }
        let broken = broken.into_iter().map(|place| &self.tracked[place]);
        let parameters: Vec<String> = broken.map(|one| one.full_path.clone()).collect();
        match scaler.skipped() {
            true => Ok(parameters),
            false => Err(FabricError::LossScale { parameters }),
        }
    }

    fn check_modules(&self, modules: &[Module<'_>]) -> Result<(), FabricError> {
        let is_there = |identity: u64| modules.iter().any(|Module(one)| one.identity == identity);
        let mut expected = self.claims.iter().map(|(claim, _)| claim.module().identity);
        if modules.len() != self.claims.len() || !expected.all(is_there) {
            return Err(FabricError::OtherModule);
        }
        match modules.iter().any(|Module(one)| one.is_poisoned()) {
            true => Err(FabricError::Poisoned),
            false => Ok(()),
        }
    }

    /// The rate of each parameter.
    fn rates(&self, rate: &ModuleLearningRate) -> Result<Vec<f64>, FabricError> {
        let rates = self.tracked.iter().map(|one| {
            let rate = rate.lr_from_param(one.id, Some(&one.full_path));
            self.groups[one.group].rate.of(rate)
        });
        let rates: Vec<f64> = rates.collect();
        let both = self.tracked.iter().zip(&rates);
        let broken = both.filter(|(_, rate)| !rate.is_finite());
        let broken: Vec<String> = broken
            .map(|(one, rate)| format!("{}: {rate}", one.full_path))
            .collect();
        match broken.is_empty() {
            true => Ok(rates),
            false => Err(FabricError::RateNotFinite { parameters: broken }),
        }
    }

    /// The paths that have no gradient.
    fn check_gradients(&self, gradients: &GradientsParams) -> Result<Vec<String>, FabricError> {
        let tracked = self.tracked.iter();
        let parameters = tracked.map(|one| (one.id, &one.shape, || one.full_path.clone()));
        let parameters = check_shapes(gradients, parameters)?;
        if parameters.len() == self.tracked.len() {
            return Err(FabricError::NoGradients { parameters });
        }
        if !parameters.is_empty() && self.missing == MissingGradients::Refuse {
            return Err(FabricError::MissingGradients { parameters });
        }
        Ok(parameters)
    }
}

struct Step<'o> {
    groups: &'o [BuiltGroup],
    tracked: &'o mut [Tracked],
    index: &'o HashMap<ParamId, usize>,
    /// By place in `tracked`, like `rates`.
    gradients: Vec<Option<BridgeTensor>>,
    rates: Vec<f64>,
    masters: bool,
    /// What the first path of each parameter holds by now, for the later ones of a tie.
    leaves: HashMap<ParamId, Box<dyn Any>>,
    updated: usize,
}

impl Pass for Step<'_> {
    fn tensor(&mut self, _site: &Site<'_>, slot: &mut dyn Slot) {
        let Some((id, place)) = slot.id().and_then(|id| Some((id, *self.index.get(&id)?))) else {
            return;
        };
        let parameter = &mut self.tracked[place];
        let Some(gradient) = self.gradients[place].take() else {
            if let Some(leaf) = self.leaves.get(&id) {
                slot.tie(leaf.as_ref());
            }
            return;
        };
        let (group, rate) = (&self.groups[parameter.group], self.rates[place]);
        let kept = Kept {
            state: parameter.state.take(),
            master: parameter.master.take(),
            is_master_doubtful: std::mem::take(&mut parameter.is_master_doubtful),
        };
        let mut inputs = Some((gradient, kept));
        let masters = self.masters;
        slot.update(&mut |weight| {
            let (gradient, kept) = inputs.take().expect("a slot updates its tensor once");
            let (weight, kept) = update(&group.optimizer, rate, weight, gradient, kept, masters);
            (parameter.state, parameter.master) = (kept.state, kept.master);
            weight
        });
        self.leaves.insert(id, slot.handle());
        self.updated += 1;
    }
}
