//! Our optimizer engine: Burn's optimizers, one pass over the parameters, state by path.
//!
//! Burn's own `ModuleOptimizer` keys state by parameter id, updates only the first path of a tie,
//! and keeps its fields to itself.

mod config;
mod groups;
mod step;
mod target;
mod update;

pub(crate) use config::BuiltOptimizer;
#[cfg(test)]
pub(crate) use config::Configured;
pub use config::{Custom, OptimizerConfig, SingleOptimizer};
pub(crate) use groups::Assignment;
pub use groups::{ParameterGroup, ParameterGroups};
pub use step::{StepReport, StepTarget};
pub use target::OptimizerTarget;
pub(crate) use update::{Kept, update};

use std::borrow::BorrowMut;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::module::ParamId;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::optim::{DynState, GradientsParams};
use burn::tensor::kind::BridgeTensor;
use burn::tensor::{DType, Device, Shape};
use burn_materialize::Materialize;

use crate::checkpoint::Remembered;
use crate::config::MissingGradients;
use crate::error::FabricError;
use crate::module::FabricModule;
use crate::precision::{LossScaler, is_half};
use crate::registry::Claim;
use groups::BuiltGroup;

/// An optimizer over parameters of one or several modules that were set up.
///
/// It holds those parameters until it is dropped: no second optimizer can be set up over any of
/// them.
pub struct FabricOptimizer {
    groups: Vec<BuiltGroup>,
    /// The parameters it updates, in the order of their modules.
    tracked: Vec<Tracked>,
    /// Where each is in `tracked`, by its present id.
    index: HashMap<ParamId, usize>,
    missing: MissingGradients,
    mixed: Mixed,
    /// Its hold on the parameters of each module, and which state of the module `tracked` knows.
    claims: Vec<(Claim, u64)>,
}

/// A parameter and what its optimizer remembers of it.
struct Tracked {
    /// The number of its module.
    module: usize,
    /// Its first path there, by which it is followed.
    path: String,
    /// The same with the module's number where there are several.
    full_path: String,
    id: ParamId,
    shape: Shape,
    device: Device,
    group: usize,
    state: Option<DynState>,
    /// Of a weight in half precision, the same in f32: what is updated, and rounded to the weight.
    master: Option<BridgeTensor>,
    /// Whether the weight may have been replaced since the master was made.
    is_master_doubtful: bool,
    /// The dtype of the weight when the optimizer was made.
    dtype: Option<DType>,
}

/// What an optimizer does about half precision.
#[derive(Debug, Default)]
pub(crate) struct Mixed {
    /// Whether it keeps weights of its own in f32.
    pub(crate) masters: bool,
    /// Of the losses that its gradients come from.
    pub(crate) scaler: Option<Arc<LossScaler>>,
    /// The scaler's turn in which it stepped last.
    pub(crate) last_turn: AtomicU64,
}

impl std::fmt::Debug for FabricOptimizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let optimizers = self.groups.iter().map(|group| group.optimizer.name);
        f.debug_struct("FabricOptimizer")
            .field("optimizers", &optimizers.collect::<Vec<_>>())
            .field("parameters", &self.paths().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl FabricOptimizer {
    pub(crate) fn new<T: OptimizerTarget>(
        target: &T,
        config: impl OptimizerConfig,
        missing: MissingGradients,
        mixed: Mixed,
    ) -> Result<Self, FabricError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let selected = target.optimizable()?.selected()?;
        let assignment = config.into_groups().assign(&selected)?;
        let trainable = selected.iter().zip(&assignment.group_of);
        let trainable = trainable.filter(|(parameter, _)| parameter.trainable);
        let tracked: Vec<Tracked> = trainable
            .map(|(parameter, group)| Tracked {
                module: parameter.module,
                path: parameter.path().to_owned(),
                full_path: parameter.full_path(),
                id: parameter.id,
                shape: parameter.shape.clone(),
                device: parameter.device.clone(),
                group: *group,
                state: None,
                master: None,
                is_master_doubtful: false,
                dtype: parameter.dtype,
            })
            .collect();

        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut claims = Vec::new();
        for (place, module) in selected.modules.iter().enumerate() {
            let own = tracked.iter().filter(|one| one.module == place);
            let paths: Vec<&str> = own.map(|one| one.path.as_str()).collect();
            let claim = Claim::new(module, number, &paths).map_err(|taken| {
                let is_taken = |one: &&Tracked| one.module == place && taken.contains(&one.path);
                let taken = tracked.iter().filter(is_taken);
                FabricError::Overlap {
                    parameters: taken.map(|one| one.full_path.clone()).collect(),
                }
            })?;
            claims.push((claim, module.changes()));
        }
        Ok(Self {
            groups: assignment.groups,
            index: index(&tracked),
            tracked,
            missing,
            mixed,
            claims,
        })
    }

    /// Follow the parameters by path, where a function of a module has put others in their places.
    fn follow(&mut self) {
        for (place, (claim, known)) in self.claims.iter_mut().enumerate() {
            let changes = claim.module().changes();
            if *known == changes {
                continue;
            }
            *known = changes;
            let parameters = claim.module().parameters();
            for one in self.tracked.iter_mut().filter(|one| one.module == place) {
                // `FabricModule::map` lets no held path go.
                if let Some(now) = parameters.iter().find(|now| now.path() == one.path) {
                    one.id = now.id;
                }
                one.is_master_doubtful = true;
            }
            self.index.clear();
        }
        if self.index.is_empty() {
            self.index = index(&self.tracked);
        }
    }

    /// What to do in a step for which some of the parameters have no gradient.
    pub fn on_missing_gradients(mut self, missing: MissingGradients) -> Self {
        self.missing = missing;
        self
    }

    /// Paths of the parameters it updates, a tie by its first. With several modules a path starts
    /// with the module's number.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.tracked.iter().map(|one| one.full_path.as_str())
    }

    /// What it remembers of each parameter, in its own order.
    pub(crate) fn remembered(&self) -> Vec<Remembered> {
        let one = |one: &Tracked| {
            let optimizer = &self.groups[one.group].optimizer;
            Remembered {
                path: one.full_path.clone(),
                shape: one.shape.clone(),
                name: optimizer.name,
                optimizer: optimizer.optimizer.clone(),
                device: one.device.clone(),
                state: one.state.clone(),
                dtype: one.dtype,
                has_master: self.has_master(one),
                master: one.master.clone(),
            }
        };
        self.tracked.iter().map(one).collect()
    }

    /// Remember this instead, for each parameter in its own order: state and master weight.
    pub(crate) fn restore(&mut self, states: Vec<(Option<DynState>, Option<BridgeTensor>)>) {
        for (one, (state, master)) in self.tracked.iter_mut().zip(states) {
            one.state = state;
            one.master = master;
            one.is_master_doubtful = true;
        }
    }

    fn has_master(&self, one: &Tracked) -> bool {
        self.mixed.masters && one.dtype.is_some_and(is_half)
    }

    /// Of the losses that its gradients come from.
    pub(crate) fn scaler(&self) -> Option<&LossScaler> {
        self.mixed.scaler.as_deref()
    }

    /// Paths of the parameters that it keeps a weight in f32 for beside the module's own in half
    /// precision, under a mixed [`Precision`](crate::Precision).
    ///
    /// A master is made of the weight with the first step, and made anew when a function of the
    /// module, a checkpoint or a reset has put another weight in its place.
    pub fn master_weights(&self) -> impl Iterator<Item = &str> {
        let masters = self.tracked.iter().filter(|one| one.master.is_some());
        masters.map(|one| one.full_path.as_str())
    }

    /// Forget what was remembered of the parameters whose path `select` accepts, as if they had
    /// never been stepped: after `reset_parameters`, say.
    pub fn reset_state(&mut self, select: impl Fn(&str) -> bool) {
        for parameter in &mut self.tracked {
            if select(&parameter.full_path) {
                parameter.state = None;
                parameter.master = None;
            }
        }
    }

    /// Update the parameters of `module` with `gradients`, at a rate: a number, or what the step of
    /// any Burn scheduler gives.
    ///
    /// The module is taken out of its place for the step, so nothing is cloned and updates are in
    /// place where Burn allows it. The same leaf stands at every path of a tie before and after.
    /// Gradients given by `&mut` keep what belongs to other parameters, for another optimizer.
    ///
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn::optim::SgdConfig;
    /// use burn::optim::lr_scheduler::linear::LinearLrSchedulerConfig;
    /// use burn::tensor::Tensor;
    /// use burn_fabric::prelude::*;
    ///
    /// let fabric = Fabric::builder().build()?;
    /// let mut model = fabric.setup(LinearConfig::new(4, 1).init(&fabric.inference_device()))?;
    /// let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new())?;
    /// let mut scheduler = LinearLrSchedulerConfig::new(1e-1, 1e-3, 10).init()?;
    /// for _ in 0..3 {
    ///     let loss = model.forward(Tensor::<2>::ones([2, 4], fabric.device())).mean();
    ///     let gradients = fabric.backward(loss, &model)?;
    ///     let report = optimizer.step(scheduler.step(), &mut model, gradients)?;
    ///     assert_eq!(report.updated, 2);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FabricError::OtherModule`] for a module the optimizer was not made for,
    /// [`FabricError::NoGradients`] where no gradient belongs to a parameter,
    /// [`FabricError::MissingGradients`] where some have none and that is refused,
    /// [`FabricError::GradientShape`], [`FabricError::RateNotFinite`],
    /// [`FabricError::LossScale`] where gradients are not finite however little the loss is scaled,
    /// and [`FabricError::Poisoned`]; nothing has changed then.
    pub fn step<M: Materialize>(
        &mut self,
        rate: impl Into<ModuleLearningRate>,
        module: &mut FabricModule<M>,
        gradients: impl BorrowMut<GradientsParams>,
    ) -> Result<StepReport, FabricError> {
        self.step_joint(rate, module, gradients)
    }
}

fn index(tracked: &[Tracked]) -> HashMap<ParamId, usize> {
    tracked.iter().map(|one| one.id).zip(0..).collect()
}
