//! Asking for a plan.

use std::collections::HashMap;

use burn::optim::AdafactorConfig;
use burn::tensor::{Device, Tensor};
use burn_materialize::{
    DefaultDTypes, HalfPrecision, Materialize, Meta, Realize, TraceOptions, TraceOutput, inventory,
    trace, trace_training,
};

use super::Plan;
use super::error::PlanError;
use super::planner::{Optimizer, Optimizers, Planner, Setting, TraceAt};
use crate::optimizer::{OptimizerConfig, ParameterGroups};
use crate::parameters::{Resolved, look_for_parameters, parameters};
use crate::precision::Precision;

/// A plan to be made: [`inference`](PlanRequest::inference) or
/// [`training`](PlanRequest::training) makes it.
#[derive(Clone, Debug)]
pub struct PlanRequest<'m, M> {
    module: Module<'m, M>,
    dtypes: DefaultDTypes,
    precision: Option<Precision>,
    gradient_checkpointing: bool,
    half: HalfPrecision,
    budget: Option<u64>,
    batch: usize,
    accumulate: usize,
}

#[derive(Debug)]
enum Module<'m, M> {
    Meta(&'m Meta<M>),
    Plain(&'m M),
}

impl<M> Clone for Module<'_, M> {
    fn clone(&self) -> Self {
        match self {
            Self::Meta(meta) => Self::Meta(meta),
            Self::Plain(module) => Self::Plain(module),
        }
    }
}

impl<'m, M: Materialize> PlanRequest<'m, M> {
    pub(super) fn of_meta(meta: &'m Meta<M>) -> Self {
        Self::new(Module::Meta(meta), meta.dtypes())
    }

    pub(super) fn of_module(module: &'m M) -> Self {
        let entries = inventory(module);
        let device = entries.first().map(|entry| &entry.device);
        let dtypes = device.map_or_else(DefaultDTypes::default, DefaultDTypes::of);
        Self::new(Module::Plain(module), dtypes)
    }

    fn new(module: Module<'m, M>, dtypes: DefaultDTypes) -> Self {
        Self {
            module,
            dtypes,
            precision: None,
            gradient_checkpointing: false,
            half: HalfPrecision::default(),
            budget: None,
            batch: 1,
            accumulate: 1,
        }
    }

    /// The dtypes of whatever names none; else those that the module was built with.
    pub fn dtypes(mut self, dtypes: DefaultDTypes) -> Self {
        self.dtypes = dtypes;
        self
    }

    /// As a Fabric of this precision would set the module up and train it.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = Some(precision);
        self
    }

    /// Compute activations again in the backward pass instead of keeping them.
    pub fn gradient_checkpointing(mut self, gradient_checkpointing: bool) -> Self {
        self.gradient_checkpointing = gradient_checkpointing;
        self
    }

    /// How the device computes in half precision; natively unless set, which flex does not.
    pub fn half_precision(mut self, half: HalfPrecision) -> Self {
        self.half = half;
        self
    }

    /// How many bytes there are.
    pub fn budget(mut self, bytes: u64) -> Self {
        self.budget = Some(bytes);
        self
    }

    /// The batch to trace; 1 unless set.
    pub fn batch(mut self, batch: usize) -> Self {
        self.batch = batch;
        self
    }

    /// How many batches a step is taken of, whose gradients are summed; 1 unless set.
    pub fn accumulate(mut self, batches: usize) -> Self {
        self.accumulate = batches;
        self
    }

    /// Plan a forward pass. It is given the module, the device to make its inputs on, and the batch
    /// to make; and is run several times, with several batches.
    ///
    /// # Errors
    /// [`PlanError::Trace`], [`PlanError::EmptyBatch`].
    ///
    /// ```
    /// use burn::nn::{Linear, LinearConfig};
    /// use burn::tensor::Tensor;
    /// use burn_materialize::Meta;
    /// use burn_fabric::Plan;
    ///
    /// let meta = Meta::build(|device| LinearConfig::new(1000, 1000).init(device))?;
    /// let plan = Plan::of(&meta).budget(64 << 20).inference(|linear: &Linear, device, batch| {
    ///     linear.forward(Tensor::<2>::zeros([batch, 1000], device))
    /// })?;
    /// // 4 MB of weights; of each row 4 kB for the input and for the output, and once more while flex
    /// // puts the output into aligned memory.
    /// assert_eq!(plan.largest_batch, Some(5258));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn inference<O: TraceOutput>(
        &self,
        forward: impl Fn(&M, &Device, usize) -> O,
    ) -> Result<Plan, PlanError> {
        let mut plans = self.inference_in([self.precision], forward)?;
        Ok(plans.remove(0))
    }

    /// The same in several precisions, a plan for each; what they have in common is traced once.
    ///
    /// # Errors
    /// As [`inference`](PlanRequest::inference).
    pub fn inference_in<O: TraceOutput>(
        &self,
        precisions: impl IntoIterator<Item = impl Into<Option<Precision>>>,
        forward: impl Fn(&M, &Device, usize) -> O,
    ) -> Result<Vec<Plan>, PlanError> {
        let trace_at = |options: TraceOptions, batch| {
            let forward = |module: &M, device: &Device| forward(module, device, batch);
            match self.module {
                Module::Meta(meta) => meta.trace_with(options, forward),
                Module::Plain(module) => trace(module, options, forward),
            }
        };
        self.plans(precisions, &trace_at, None)
    }

    /// Plan steps of training: the pass from which `forward` returns the loss, its backward pass, and
    /// the optimizer's step. `forward` is given the module, the device to make its inputs on, and the
    /// batch to make; and is run several times, with several batches.
    ///
    /// # Errors
    /// [`PlanError::Trace`], [`PlanError::EmptyBatch`], [`PlanError::Optimizer`],
    /// [`PlanError::Step`].
    pub fn training<const D: usize>(
        &self,
        optimizer: impl OptimizerConfig,
        forward: impl Fn(&M, &Device, usize) -> Tensor<D>,
    ) -> Result<Plan, PlanError> {
        let mut plans = self.training_in([self.precision], optimizer, forward)?;
        Ok(plans.remove(0))
    }

    /// The same in several precisions, a plan for each; what they have in common is traced once.
    ///
    /// # Errors
    /// As [`training`](PlanRequest::training).
    pub fn training_in<const D: usize>(
        &self,
        precisions: impl IntoIterator<Item = impl Into<Option<Precision>>>,
        optimizer: impl OptimizerConfig,
        forward: impl Fn(&M, &Device, usize) -> Tensor<D>,
    ) -> Result<Vec<Plan>, PlanError> {
        let parameters = Resolved::of_one(match self.module {
            Module::Meta(meta) => look_for_parameters(|pass| meta.look(pass)),
            Module::Plain(module) => parameters(module),
        });
        let frugal = ParameterGroups::new(AdafactorConfig::new());
        let optimizers = Optimizers {
            own: Optimizer::new(&optimizer.into_groups(), &parameters, self.half)?,
            frugal: Optimizer::new(&frugal, &parameters, self.half)?,
        };
        let trace_at = |options: TraceOptions, batch| {
            let forward = |module: &M, device: &Device| forward(module, device, batch);
            match self.module {
                Module::Meta(meta) => meta.trace_training_with(options, forward),
                Module::Plain(module) => trace_training(module, options, forward),
            }
        };
        self.plans(precisions, &trace_at, Some(optimizers))
    }

    fn plans(
        &self,
        precisions: impl IntoIterator<Item = impl Into<Option<Precision>>>,
        trace_at: &TraceAt<'_>,
        optimizers: Option<Optimizers>,
    ) -> Result<Vec<Plan>, PlanError> {
        let mut planner = Planner {
            trace_at,
            dtypes: self.dtypes,
            half: self.half,
            budget: self.budget,
            optimizers,
            traces: HashMap::new(),
            passes: HashMap::new(),
        };
        let plans = precisions.into_iter().map(|precision| {
            planner.plan(Setting {
                precision: precision.into(),
                gradient_checkpointing: self.gradient_checkpointing,
                batch: self.batch,
                accumulate: self.accumulate,
                frugal_optimizer: false,
            })
        });
        plans.collect()
    }
}
