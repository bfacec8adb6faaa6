//! Our optimizer engine: Burn's optimizers, one pass over the parameters, state by path.
//!
//! Burn's own `ModuleOptimizer` keys state by parameter id, updates only the first path of a tie,
//! and keeps its fields to itself.

mod config;
mod groups;
mod step;
mod target;

pub use config::{Custom, OptimizerConfig};
pub use groups::{ParameterGroup, ParameterGroups};
pub use step::{StepReport, StepTarget};
pub use target::OptimizerTarget;

use std::borrow::BorrowMut;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::module::ParamId;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::optim::{DynState, GradientsParams};
use burn::tensor::Shape;
use burn_materialize::Materialize;

use crate::claims::Claim;
use crate::config::MissingGradients;
use crate::error::FabricError;
use crate::module::FabricModule;
use crate::parameters::Selected;
use groups::BuiltGroup;

/// An optimizer over parameters of one or several modules that were set up.
///
/// It holds those parameters until it is dropped: no second optimizer can be set up over any of
/// them.
pub struct FabricOptimizer {
    groups: Vec<BuiltGroup>,
    /// The parameters it updates, in the order of their modules.
    tracked: Vec<Tracked>,
    /// Where each is in `tracked`.
    index: HashMap<ParamId, usize>,
    /// The modules it was made for.
    modules: Vec<u64>,
    missing: MissingGradients,
    _claims: Vec<Claim>,
}

/// A parameter and what its optimizer remembers of it.
struct Tracked {
    path: String,
    id: ParamId,
    shape: Shape,
    group: usize,
    /// Whether it stands at several paths.
    tied: bool,
    state: Option<DynState>,
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
    ) -> Result<Self, FabricError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let parameters = target.optimizable()?;
        let selected = parameters.selected()?;
        if !selected.iter().any(|parameter| parameter.trainable) {
            let name = parameters
                .members
                .first()
                .map_or("nothing", |member| member.name);
            return Err(FabricError::NothingTrainable {
                module: name,
                parameters: selected.iter().map(Selected::full_path).collect(),
            });
        }
        let assignment = config.into_groups().assign(&selected)?;
        let trainable = selected.iter().zip(&assignment.group_of);
        let trainable = trainable.filter(|(parameter, _)| parameter.trainable);
        let tracked: Vec<Tracked> = trainable
            .map(|(parameter, group)| Tracked {
                path: parameter.full_path(),
                id: parameter.id,
                shape: parameter.shape.clone(),
                group: *group,
                tied: parameter.paths.len() > 1,
                state: None,
            })
            .collect();

        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let ids: Vec<ParamId> = tracked.iter().map(|parameter| parameter.id).collect();
        let mut claims = Vec::new();
        for member in &parameters.members {
            let own = member.parameters.iter().map(|parameter| parameter.id);
            let own: Vec<ParamId> = own.filter(|id| ids.contains(id)).collect();
            let claim = Claim::new(&member.claims, number, &own).map_err(|taken| {
                let taken = tracked.iter().filter(|one| taken.contains(&one.id));
                FabricError::Overlap {
                    parameters: taken.map(|one| one.path.clone()).collect(),
                }
            })?;
            claims.push(claim);
        }
        let modules = parameters.members.iter().map(|member| member.module);
        Ok(Self {
            groups: assignment.groups,
            index: ids.into_iter().zip(0..).collect(),
            tracked,
            modules: modules.collect(),
            missing,
            _claims: claims,
        })
    }

    /// What to do in a step for which some of the parameters have no gradient.
    pub fn on_missing_gradients(mut self, missing: MissingGradients) -> Self {
        self.missing = missing;
        self
    }

    /// Paths of the parameters it updates, a tie by its first. With several modules a path starts
    /// with the module's number.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.tracked.iter().map(|parameter| parameter.path.as_str())
    }

    /// Forget what was remembered of the parameters whose path `select` accepts, as if they had
    /// never been stepped: after `reset_parameters`, say.
    pub fn reset_state(&mut self, select: impl Fn(&str) -> bool) {
        for parameter in &mut self.tracked {
            if select(&parameter.path) {
                parameter.state = None;
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
    /// [`FabricError::GradientShape`], [`FabricError::RateNotFinite`] and
    /// [`FabricError::Poisoned`]; nothing has changed then.
    pub fn step<M: Materialize>(
        &mut self,
        rate: impl Into<ModuleLearningRate>,
        module: &mut FabricModule<M>,
        gradients: impl BorrowMut<GradientsParams>,
    ) -> Result<StepReport, FabricError> {
        self.step_joint(rate, module, gradients)
    }
}
