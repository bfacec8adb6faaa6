//! What can be made real: a recorded module, or a plain Burn module, lazy or real.

use std::any::Any;
use std::collections::{HashMap, HashSet};

use burn::module::ParamId;
use burn::tensor::Device;
use burn_meta::{DefaultDTypes, record};

use crate::error::MaterializeError;
use crate::init_rng::Draws;
use crate::inventory::{State, inventory};
use crate::meta::Recorded;
use crate::plan::{Plan, Target};
use crate::recipes::Recipes;
use crate::site::Site;
use crate::slot::Slot;
use crate::tie::check_real_ties;
use crate::train::train;
use crate::traversal::{Pass, traverse};
use crate::weights::{LoadReport, Loaded, Weights, match_weights, own_dtype};
use crate::{Materialize, Meta};

/// A module that can be allocated on a device and made trainable: a [`Meta`] (or a reference to
/// one), or a plain Burn module, whose lazy parameters are then recorded like a `Meta`'s.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be set up",
    label = "neither a `Meta` nor a module that implements `Materialize`",
    note = "derive `Materialize, ResetParameters` next to `Module`, or build it with `Meta::build`"
)]
pub trait Realize {
    /// The module it becomes.
    type Module: Materialize;

    /// Whether values are drawn from what is given to [`realize`](Realize::realize).
    const DRAWS: bool;

    /// Run a pass over a copy of the module as it is, to look at it. Allocates nothing by itself.
    fn look(&self, pass: &mut dyn Pass);

    /// Allocate what is not real yet on `device` and turn autodiff on, with its gradient-checkpointing
    /// strategy where it has autodiff itself, ties kept. The lazy
    /// parameters of a plain module are drawn from `draws`, a seed or more; a `Meta` has its own.
    ///
    /// # Errors
    /// As [`Meta::materialize`]. What was not given by value is as it was.
    fn realize(
        self,
        device: &Device,
        draws: impl Into<Draws>,
    ) -> Result<Realized<Self::Module>, MaterializeError>
    where
        Self: Sized,
    {
        self.realize_with(device, draws, None)
    }

    /// The same with a checkpoint: what it has is loaded and never initialised.
    ///
    /// # Errors
    /// As [`Meta::load`].
    fn realize_with(
        self,
        device: &Device,
        draws: impl Into<Draws>,
        weights: Option<&Weights>,
    ) -> Result<Realized<Self::Module>, MaterializeError>;
}

/// A module that is real and trainable, with what is known of its making.
#[derive(Clone, Debug)]
pub struct Realized<M> {
    /// The module, on an autodiff device.
    pub module: M,
    /// How its tensors are made, where that was recorded.
    pub recipes: Recipes,
    /// What was done otherwise than usual.
    pub report: RealizeReport,
    /// What a checkpoint gave, where one was loaded.
    pub load: Option<LoadReport>,
}

/// Tensors that were not simply recorded and materialised, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RealizeReport {
    /// Made by the constructor on a device of its own, and left there.
    pub left_alone: Vec<String>,
    /// Real before, and moved to the device.
    pub moved: Vec<String>,
    /// Lazy and shared with a clone outside the module: initialised by Burn, from its generator.
    pub shared_lazy: Vec<String>,
}

impl std::fmt::Display for RealizeReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            (
                "left on the device their constructor chose",
                &self.left_alone,
            ),
            ("moved to the device", &self.moved),
            (
                "lazy and shared outside the module, initialised by Burn",
                &self.shared_lazy,
            ),
        ];
        let mut parts = parts.iter().filter(|(_, paths)| !paths.is_empty());
        if let Some((what, paths)) = parts.next() {
            write!(f, "{what}: {}", paths.join(", "))?;
        }
        parts.try_for_each(|(what, paths)| write!(f, "\n{what}: {}", paths.join(", ")))
    }
}

impl<M: Materialize> Realize for &Meta<M> {
    type Module = M;
    const DRAWS: bool = false;

    fn look(&self, pass: &mut dyn Pass) {
        traverse(self.parts().0.clone(), pass);
    }

    fn realize_with(
        self,
        device: &Device,
        _draws: impl Into<Draws>,
        weights: Option<&Weights>,
    ) -> Result<Realized<M>, MaterializeError> {
        let plain = device.clone().without_autodiff();
        let (module, load) = match weights {
            None => (self.materialize(&plain)?, None),
            Some(weights) => {
                let Loaded { module, report } = self.load(&plain, weights)?;
                (module, Some(report))
            }
        };
        let (_, recipes) = self.parts();
        let real = self
            .inventory()
            .into_iter()
            .filter(|entry| entry.state == State::Real);
        let left_alone = real
            .filter(|entry| entry.device.clone().without_autodiff() != plain)
            .map(|entry| entry.path);
        let report = RealizeReport {
            left_alone: left_alone.collect(),
            ..Default::default()
        };
        Ok(Realized {
            module: train(module, device, true),
            recipes: recipes.clone(),
            report,
            load,
        })
    }
}

impl<M: Materialize> Realize for Meta<M> {
    type Module = M;
    const DRAWS: bool = false;

    fn look(&self, pass: &mut dyn Pass) {
        traverse(self.parts().0.clone(), pass);
    }

    fn realize_with(
        self,
        device: &Device,
        draws: impl Into<Draws>,
        weights: Option<&Weights>,
    ) -> Result<Realized<M>, MaterializeError> {
        (&self).realize_with(device, draws, weights)
    }
}

impl<M: Materialize> Realize for M {
    type Module = M;
    const DRAWS: bool = true;

    fn look(&self, pass: &mut dyn Pass) {
        traverse(self.clone(), pass);
    }

    fn realize_with(
        self,
        device: &Device,
        draws: impl Into<Draws>,
        weights: Option<&Weights>,
    ) -> Result<Realized<M>, MaterializeError> {
        let Draws { seed, rng } = draws.into();
        let plain = device.clone().without_autodiff();
        let before = inventory(&self);
        check_real_ties(&self, &before)?;
        let mut report = RealizeReport::default();
        let mut retarget = Retarget {
            device: &plain,
            meta: None,
            firsts: HashMap::new(),
        };
        let (recorded, recording) = record(DefaultDTypes::of(&plain), |meta| {
            retarget.meta = Some(meta.clone());
            // First the later paths of each lazy tie let go, so that the first is its only holder.
            let module = traverse(self, &mut LetGo::default());
            let module = traverse(module, &mut retarget);
            Recorded::new(module, meta)
        })?;
        let Recorded {
            module,
            entries,
            declarations,
            ..
        } = recorded;
        for (before, after) in before.iter().zip(&entries) {
            let path = || before.path.clone();
            match (before.state, after.state) {
                (State::Lazy, State::Real) => report.shared_lazy.push(path()),
                (State::Real, State::Real) if before.device != after.device => {
                    report.moved.push(path());
                }
                _ => {}
            }
        }
        let recipes = Recipes::new(recording, &entries, declarations, None).with_rng(rng);
        let target = Target::Meta {
            device: &plain,
            select: &|_| true,
        };
        let matching = weights.map(|weights| match_weights(&module, weights, &own_dtype));
        let matching = matching.transpose()?;
        let is_load = matching.is_some();
        let (plan, mut load) = Plan::with_weights(&module, &recipes, target, matching)?;
        let (module, copies) = plan.fill_reporting(module, seed)?;
        load.copies = copies;
        load.sort();
        Ok(Realized {
            module: train(module, device, true),
            recipes,
            report,
            load: is_load.then_some(load),
        })
    }
}

#[derive(Default)]
struct LetGo {
    seen: HashSet<ParamId>,
}

impl Pass for LetGo {
    fn tensor(&mut self, _site: &Site<'_>, slot: &mut dyn Slot) {
        if let Some(id) = slot.id().filter(|_| slot.is_lazy())
            && !self.seen.insert(id)
        {
            slot.vacate();
        }
    }
}

/// Sends lazy parameters to the meta device and real ones to the device. A lazy parameter that
/// somebody outside the module shares cannot be recorded: Burn initialises it where it was built.
struct Retarget<'d> {
    device: &'d Device,
    meta: Option<Device>,
    /// What the first path of each id holds, for its later ones.
    firsts: HashMap<ParamId, Box<dyn Any>>,
}

impl Pass for Retarget<'_> {
    fn tensor(&mut self, _site: &Site<'_>, slot: &mut dyn Slot) {
        let id = slot.id();
        if let Some(first) = id.and_then(|id| self.firsts.get(&id))
            && slot.tie(first.as_ref())
        {
            return;
        }
        let at_home = slot.device().without_autodiff() == *self.device;
        if slot.is_lazy() {
            // Still lazy after this: nobody shares it, and it can go to the meta device.
            slot.fork(self.device);
            if let (true, Some(meta)) = (slot.is_lazy(), &self.meta) {
                slot.fork(meta);
                slot.tensor();
            }
        } else if !at_home && !burn_meta::is_meta_device(&slot.device()) {
            slot.fork(self.device);
        }
        if let Some(id) = id {
            self.firsts.insert(id, slot.handle());
        }
    }
}
