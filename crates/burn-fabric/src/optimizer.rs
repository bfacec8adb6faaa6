//! Our optimizer engine: Burn's optimizers, one pass over the parameters, state by path.
//!
//! Burn's own `ModuleOptimizer` keys state by parameter id, updates only the first path of a tie,
//! and keeps its fields to itself.

mod config;
mod target;

pub use config::{Custom, OptimizerConfig};
pub use target::OptimizerTarget;

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use burn::module::ParamId;
use burn::optim::grad_clipping::GradientClipping;
use burn::optim::{DynOptimizer, DynState, GradientsParams};
use burn::tensor::Tensor;
use burn::tensor::kind::BridgeTensor;
use burn_materialize::{Materialize, Pass, Role, Site, Slot, traverse};

use crate::error::FabricError;
use crate::module::FabricModule;

/// An optimizer over the parameters of one module that was set up.
pub struct FabricOptimizer {
    optimizer: Arc<dyn DynOptimizer>,
    clipping: Option<GradientClipping>,
    /// What the optimizer remembers of each parameter, by path.
    states: HashMap<String, DynState>,
    /// The module it was made for.
    module: u64,
}

impl std::fmt::Debug for FabricOptimizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FabricOptimizer")
            .field("states", &self.states.len())
            .finish()
    }
}

impl FabricOptimizer {
    pub(crate) fn new<T: OptimizerTarget>(
        module: &T,
        config: impl OptimizerConfig,
    ) -> Result<Self, FabricError> {
        let module = module.ready()?;
        let (optimizer, clipping) = config::build(config)?;
        Ok(Self {
            optimizer,
            clipping,
            states: HashMap::new(),
            module,
        })
    }

    /// Update the parameters of `module` with `gradients`.
    ///
    /// The module is taken out of its place for the step, so nothing is cloned and updates are in
    /// place where Burn allows it. The same leaf stands at every path of a tie before and after.
    ///
    /// # Errors
    /// [`FabricError::OtherModule`] for a module the optimizer was not made for,
    /// [`FabricError::NoGradients`] where no gradient belongs to a parameter, and
    /// [`FabricError::Poisoned`]; nothing has changed then.
    pub fn step<M: Materialize>(
        &mut self,
        rate: f64,
        module: &mut FabricModule<M>,
        gradients: GradientsParams,
    ) -> Result<(), FabricError> {
        if module.identity() != self.module {
            return Err(FabricError::OtherModule);
        }
        let mut step = Step {
            optimizer: self.optimizer.as_ref(),
            clipping: self.clipping.as_ref(),
            states: &mut self.states,
            rate,
            gradients,
            leaves: HashMap::new(),
            updated: 0,
        };
        module.change(|module| traverse(module, &mut step))?;
        if step.updated == 0 {
            return Err(FabricError::NoGradients {
                parameters: target::trainable(module.module()?),
            });
        }
        Ok(())
    }
}

struct Step<'s> {
    optimizer: &'s dyn DynOptimizer,
    clipping: Option<&'s GradientClipping>,
    states: &'s mut HashMap<String, DynState>,
    rate: f64,
    gradients: GradientsParams,
    leaves: HashMap<ParamId, Box<dyn Any>>,
    updated: usize,
}

impl Pass for Step<'_> {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        let (Role::Parameter, Some(id)) = (slot.role(), slot.id()) else {
            return;
        };
        if let Some(leaf) = self.leaves.get(&id) {
            slot.tie(leaf.as_ref());
            return;
        }
        let rank = slot.shape().rank();
        let Some(gradient) = take_gradient(&mut self.gradients, id, rank, self.clipping) else {
            return;
        };
        let device = slot.device().without_autodiff();
        let state = self.states.remove(site.path());
        let state = state.map(|state| self.optimizer.to_device_dyn(state, &device));
        let mut inputs = Some((gradient, state));
        let mut updated = None;
        slot.update(&mut |tensor| {
            let (gradient, state) = inputs.take().expect("a slot updates its tensor once");
            let (tensor, state) = self
                .optimizer
                .step_dyn(rank, self.rate, tensor, gradient, state);
            updated = state;
            tensor
        });
        if let Some(state) = updated {
            self.states.insert(site.path().to_owned(), state);
        }
        self.leaves.insert(id, slot.handle());
        self.updated += 1;
    }
}

/// Burn hands gradients out by id and rank.
fn take_gradient(
    gradients: &mut GradientsParams,
    id: ParamId,
    rank: usize,
    clipping: Option<&GradientClipping>,
) -> Option<BridgeTensor> {
    macro_rules! by_rank {
        ($($rank:literal)*) => {
            match rank {
                $($rank => {
                    let gradient: Tensor<$rank> = gradients.remove(id)?;
                    Some(match clipping {
                        Some(clipping) => clipping.clip_gradient(gradient),
                        None => gradient,
                    }.into_bridge())
                })*
                // Burn's optimizers know no higher rank either.
                _ => None,
            }
        };
    }
    by_rank!(0 1 2 3 4 5 6 7 8)
}
