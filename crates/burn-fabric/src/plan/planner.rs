//! One question, asked for several settings.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use burn::tensor::{DType, FloatDType, GradientCheckpointingStrategy};
use burn_materialize::{DefaultDTypes, Trace, TraceError, TraceOptions};
use burn_meta::{Cost, HalfPrecision};

use super::error::PlanError;
use super::help::{helps, together};
use super::largest_batch::largest_batch;
use super::memory::{Pass, PlanMemory};
use super::update_memory::{Gradients, Parameter, UpdateMemory, update_memory};
use super::{Change, Plan};
use crate::error::FabricError;
use crate::optimizer::{Assignment, ParameterGroups};
use crate::parameters::Resolved;
use crate::precision::{Precision, is_of_a_layer_norm};

/// What a plan is made for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Setting {
    pub(super) precision: Option<Precision>,
    pub(super) gradient_checkpointing: bool,
    pub(super) batch: usize,
    pub(super) accumulate: usize,
    /// Whether another optimizer, with hardly any state, is asked about.
    pub(super) frugal_optimizer: bool,
}

/// What decides about a traced pass.
type PassKey = (DefaultDTypes, bool, bool, usize);

/// An optimizer over the parameters of a module, by the first path of each.
pub(crate) struct Optimizer {
    assignment: Assignment,
    group_of: HashMap<String, usize>,
    half: HalfPrecision,
    updates: HashMap<(usize, Parameter, Gradients), UpdateMemory>,
}

impl Optimizer {
    /// # Errors
    /// What [`assign`](ParameterGroups::assign) refuses.
    pub(crate) fn new(
        groups: &ParameterGroups,
        parameters: &Resolved,
        half: HalfPrecision,
    ) -> Result<Self, FabricError> {
        let assignment = groups.assign(parameters)?;
        let paths = parameters.iter().map(|one| one.path().to_owned());
        Ok(Self {
            group_of: paths.zip(assignment.group_of.iter().copied()).collect(),
            assignment,
            half,
            updates: HashMap::new(),
        })
    }

    /// Their names, each once.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let used: HashSet<usize> = self.group_of.values().copied().collect();
        for (i, group) in self.assignment.groups.iter().enumerate() {
            if !used.contains(&i) && !used.is_empty() {
                continue;
            }
            // Of a path, as an optimizer of somebody's own has, the last part.
            let name = group.optimizer.name;
            let name = name.rsplit("::").next().unwrap_or(name).to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// What the step of each parameter takes.
    pub(super) fn updates(
        &mut self,
        trained: &[(String, Parameter)],
        gradients: Gradients,
    ) -> Result<Vec<UpdateMemory>, PlanError> {
        let mut updates = Vec::with_capacity(trained.len());
        for (path, parameter) in trained {
            let group = self.group_of.get(path).copied().unwrap_or(0);
            let key = (group, parameter.clone(), gradients);
            let update = match self.updates.get(&key) {
                Some(update) => *update,
                None => {
                    let optimizer = &self.assignment.groups[group].optimizer;
                    let update = update_memory(optimizer, parameter, gradients, self.half);
                    let update = update.map_err(|message| PlanError::Step {
                        optimizer: optimizer.name.to_owned(),
                        parameter: path.clone(),
                        message,
                    })?;
                    self.updates.insert(key, update);
                    update
                }
            };
            updates.push(update);
        }
        Ok(updates)
    }
}

/// The optimizer that is asked for, and one with hardly any state in its place.
pub(super) struct Optimizers {
    pub(super) own: Optimizer,
    pub(super) frugal: Optimizer,
}

/// Traces the pass with a batch.
pub(super) type TraceAt<'p> = dyn Fn(TraceOptions, usize) -> Result<Trace, TraceError> + 'p;

pub(super) struct Planner<'p> {
    pub(super) trace_at: &'p TraceAt<'p>,
    /// The dtypes of the module, where no precision is asked for.
    pub(super) dtypes: DefaultDTypes,
    pub(super) half: HalfPrecision,
    pub(super) budget: Option<u64>,
    pub(super) optimizers: Option<Optimizers>,
    /// The passes of plans.
    pub(super) traces: HashMap<PassKey, Arc<Trace>>,
    /// All that was traced, without its operations.
    pub(super) passes: HashMap<PassKey, Pass>,
}

impl Planner<'_> {
    /// The plan for one setting.
    pub(super) fn plan(&mut self, setting: Setting) -> Result<Plan, PlanError> {
        if setting.batch == 0 || setting.accumulate == 0 {
            return Err(PlanError::EmptyBatch);
        }
        let key = self.key(setting);
        let trace = match self.traces.get(&key) {
            Some(trace) => trace.clone(),
            None => {
                let trace = Arc::new(self.trace(setting)?);
                self.passes.insert(key, Pass::of(&trace));
                self.traces.insert(key, trace.clone());
                trace
            }
        };
        let (memory, update) = self.memory(setting)?;
        let mut plan = Plan {
            batch: setting.batch,
            accumulate: setting.accumulate,
            precision: setting.precision,
            gradient_checkpointing: setting.gradient_checkpointing,
            optimizers: self.names(),
            memory,
            update,
            budget: self.budget,
            largest_batch: None,
            helps: Vec::new(),
            trace,
        };
        let Some(budget) = self.budget else {
            return Ok(plan);
        };
        let (held, peak) = (plan.memory.held(), plan.memory.peak);
        plan.largest_batch = largest_batch(budget, held, (setting.batch, peak), |batch| {
            let peak = self.memory(Setting { batch, ..setting })?.0.peak;
            Ok::<_, PlanError>(peak)
        })?;
        if plan.fits() {
            return Ok(plan);
        }
        for (changes, changed) in helps(setting, self.is_in_f32(setting), self.is_training()) {
            self.try_help(&mut plan, changes, changed);
        }
        plan.helps.sort_by_key(|help| std::cmp::Reverse(help.saves));
        if let Some((changes, changed)) = together(setting, &plan.helps) {
            self.try_help(&mut plan, changes, changed);
        }
        Ok(plan)
    }

    /// Note what changes would save. What they make impossible, as another precision where code
    /// names a dtype or a batch that a reshape does not divide, is no help, and no reason to
    /// have no plan.
    fn try_help(&mut self, plan: &mut Plan, changes: Vec<Change>, changed: Setting) {
        let memory = catch_unwind(AssertUnwindSafe(|| self.memory(changed)));
        if let Ok(Ok((memory, _))) = memory {
            plan.help(changes, memory.peak);
        }
    }

    fn is_training(&self) -> bool {
        self.optimizers.is_some()
    }

    fn names(&self) -> Vec<String> {
        let optimizers = self.optimizers.as_ref();
        optimizers.map_or_else(Vec::new, |optimizers| optimizers.own.names())
    }

    fn is_in_f32(&self, setting: Setting) -> bool {
        self.dtypes_in(setting).float == FloatDType::F32
    }

    fn dtypes_in(&self, setting: Setting) -> DefaultDTypes {
        match setting.precision {
            Some(precision) => DefaultDTypes {
                float: precision.float_dtype(),
                ..self.dtypes
            },
            None => self.dtypes,
        }
    }

    fn key(&self, setting: Setting) -> PassKey {
        let dtypes = self.dtypes_in(setting);
        let precision = setting.precision;
        let has_norms_in_f32 = precision.is_some_and(Precision::has_norms_in_f32);
        let checkpointing = setting.gradient_checkpointing;
        (dtypes, has_norms_in_f32, checkpointing, setting.batch)
    }

    fn trace(&self, setting: Setting) -> Result<Trace, PlanError> {
        let (dtypes, has_norms_in_f32, checkpointing, batch) = self.key(setting);
        let options = TraceOptions::default()
            .dtypes(dtypes)
            .half_precision(self.half)
            .gradient_checkpointing(match checkpointing {
                true => GradientCheckpointingStrategy::Balanced,
                false => GradientCheckpointingStrategy::Disabled,
            });
        let options = match has_norms_in_f32 {
            true => options.dtype_of(|site, dtype| match dtype {
                DType::F16 if is_of_a_layer_norm(site) => DType::F32,
                dtype => dtype,
            }),
            false => options,
        };
        (self.trace_at)(options, batch).map_err(|source| PlanError::Trace { batch, source })
    }

    /// The memory, and what the optimizer's step costs.
    fn memory(&mut self, setting: Setting) -> Result<(PlanMemory, Cost), PlanError> {
        let key = self.key(setting);
        if !self.passes.contains_key(&key) {
            let pass = Pass::of(&self.trace(setting)?);
            self.passes.insert(key, pass);
        }
        let pass = &self.passes[&key];
        let gradients = Gradients {
            masters: setting.precision.is_some_and(Precision::is_mixed),
            accumulated: setting.accumulate > 1,
        };
        let updates = match &mut self.optimizers {
            Some(optimizers) => {
                let optimizer = match setting.frugal_optimizer {
                    true => &mut optimizers.frugal,
                    false => &mut optimizers.own,
                };
                optimizer.updates(&pass.trained, gradients)?
            }
            None => Vec::new(),
        };
        let cost = updates.iter().map(|update| update.cost).sum();
        Ok((pass.memory(&updates, gradients), cost))
    }
}

impl Plan {
    /// Note what changes would save, if anything.
    fn help(&mut self, changes: Vec<Change>, peak: u64) {
        let saves = self.memory.peak.saturating_sub(peak);
        if saves > 0 {
            self.helps.push(super::Help {
                fits: self.budget.is_none_or(|budget| peak <= budget),
                changes,
                saves,
                peak,
            });
        }
    }
}

impl From<FabricError> for PlanError {
    fn from(error: FabricError) -> Self {
        Self::Optimizer(Box::new(error))
    }
}
