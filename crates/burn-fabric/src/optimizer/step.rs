//! One step: check everything, then one pass over the parameters.

use std::any::Any;
use std::borrow::BorrowMut;
use std::collections::HashMap;

use burn::module::ParamId;
use burn::optim::GradientsParams;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::tensor::Tensor;
use burn::tensor::kind::BridgeTensor;
use burn_materialize::{Materialize, Pass, Site, Slot, traverse};

use super::groups::BuiltGroup;
use super::{FabricOptimizer, Tracked};
use crate::config::MissingGradients;
use crate::error::FabricError;
use crate::gradients::{shape, take, with_rank};
use crate::module::FabricModule;

/// What a step did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepReport {
    /// How many parameters were updated, a tie once.
    pub updated: usize,
    /// Paths of the parameters that had no gradient and stay as they are.
    pub without_gradient: Vec<String>,
}

/// What a joint step can be taken over: `&mut` to a module that was set up, or a tuple of them.
pub trait StepTarget: sealed::Sealed {
    #[doc(hidden)]
    fn modules(&self) -> Vec<(u64, bool)>;
    #[doc(hidden)]
    fn run(self, pass: &mut dyn Pass);
}

mod sealed {
    pub trait Sealed {}
    impl<M> Sealed for &mut crate::FabricModule<M> {}
}

impl<M: Materialize> StepTarget for &mut FabricModule<M> {
    fn modules(&self) -> Vec<(u64, bool)> {
        vec![(self.identity(), self.is_poisoned())]
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
            fn modules(&self) -> Vec<(u64, bool)> {
                vec![$((self.$place.identity(), self.$place.is_poisoned())),+]
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
        self.check_modules(&modules.modules())?;
        let rates = self.rates(&rate.into())?;
        let gradients = gradients.borrow_mut();
        let without_gradient = self.check_gradients(gradients)?;

        let tracked = self.tracked.iter();
        let gradients = tracked.map(|one| take(gradients, one.id, one.shape.rank()));
        let mut step = Step {
            gradients: gradients.collect(),
            groups: &self.groups,
            tracked: &mut self.tracked,
            index: &self.index,
            rates,
            leaves: HashMap::new(),
            updated: 0,
        };
        modules.run(&mut step);
        Ok(StepReport {
            updated: step.updated,
            without_gradient,
        })
    }

    fn check_modules(&self, modules: &[(u64, bool)]) -> Result<(), FabricError> {
        let expected = self.modules.iter();
        let all_there = || {
            expected
                .clone()
                .all(|one| modules.iter().any(|(found, _)| found == one))
        };
        if modules.len() != self.modules.len() || !all_there() {
            return Err(FabricError::OtherModule);
        }
        match modules.iter().any(|(_, poisoned)| *poisoned) {
            true => Err(FabricError::Poisoned),
            false => Ok(()),
        }
    }

    /// The rate of each parameter.
    fn rates(&self, rate: &ModuleLearningRate) -> Result<Vec<f64>, FabricError> {
        let rates = self.tracked.iter().map(|one| {
            let rate = rate.lr_from_param(one.id, Some(&one.path));
            let rate = self.groups[one.group].rate.of(rate);
            match rate.is_finite() {
                true => Ok(rate),
                false => Err(FabricError::RateNotFinite {
                    path: one.path.clone(),
                    rate,
                }),
            }
        });
        rates.collect()
    }

    /// The paths that have no gradient.
    fn check_gradients(&self, gradients: &GradientsParams) -> Result<Vec<String>, FabricError> {
        let mut without = Vec::new();
        for one in &self.tracked {
            match shape(gradients, one.id, one.shape.rank()) {
                None => without.push(one.path.clone()),
                Some(found) if found != one.shape => {
                    return Err(FabricError::GradientShape {
                        path: one.path.clone(),
                        expected: one.shape.clone(),
                        found,
                    });
                }
                Some(_) => {}
            }
        }
        let parameters = without;
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
    /// What the first path of each tie holds by now, for its later ones.
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
        let rank = parameter.shape.rank();
        let mut inputs = Some((gradient, parameter.state.take()));
        slot.update(&mut |tensor| {
            let (gradient, state) = inputs.take().expect("a slot updates its tensor once");
            let gradient = match &group.optimizer.clipping {
                Some(clipping) => with_rank!(rank, D => {
                    clipping.clip_gradient(Tensor::<D>::from_bridge(gradient)).into_bridge()
                }),
                None => gradient,
            };
            let optimizer = &group.optimizer.optimizer;
            let (tensor, state) = optimizer.step_dyn(rank, rate, tensor, gradient, state);
            parameter.state = state;
            tensor
        });
        if parameter.tied {
            self.leaves.insert(id, slot.handle());
        }
        self.updated += 1;
    }
}
