//! What a run will take, from passes that are traced and not computed.

mod display;
mod error;
mod help;
mod largest_batch;
mod memory;
mod needs;
mod planner;
mod request;
mod update_memory;

pub use error::PlanError;
pub use help::{Change, Help};
pub use memory::{PlanMemory, Stage};
pub use needs::TrainingNeeds;
pub(crate) use needs::{check_needs, half_precision, training_needs};
pub(crate) use planner::Optimizer;
pub use request::PlanRequest;

use std::sync::Arc;

use burn_materialize::{Materialize, Meta, Trace};
use burn_meta::Cost;
use serde::{Deserialize, Serialize};

use crate::precision::Precision;

/// What a run takes: memory against a budget, the largest batch that fits, and what would help
/// where it does not.
///
/// Everything is found by tracing the pass, the optimizer's step included, on tensors that take no
/// memory. Bytes are counted as flex (Burn's CPU device) allocates them; of a graphics card's, what it
/// fuses takes less, and what its allocator rounds up more. What else the process takes comes on top.
///
/// Its `Display` is a table; serde writes all but the trace.
///
/// ```
/// use burn::nn::{Linear, LinearConfig};
/// use burn::optim::AdamWConfig;
/// use burn::tensor::{Device, Tensor};
/// use burn_fabric::prelude::*;
/// use burn_fabric::Plan;
///
/// fn loss(linear: &Linear, device: &Device, batch: usize) -> Tensor<1> {
///     linear.forward(Tensor::<2>::zeros([batch, 4096], device)).powi_scalar(2).mean()
/// }
///
/// let meta = Meta::build(|device| LinearConfig::new(4096, 4096).init(device))?;
/// let request = Plan::of(&meta).precision(Precision::MixedBf16).batch(64).budget(256 << 20);
/// let plan = request.training(AdamWConfig::new(), loss)?;
/// assert!(!plan.fits());
/// assert_eq!(plan.memory.optimizer_state, 2 * 4 * (4096 * 4096 + 4096));
/// println!("{plan}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The batch that was traced.
    pub batch: usize,
    /// How many batches a step is taken of.
    pub accumulate: usize,
    /// The precision that was asked for; else the dtypes are those the module was built with.
    pub precision: Option<Precision>,
    /// Whether activations are computed again instead of kept.
    pub gradient_checkpointing: bool,
    /// Names of the optimizers, those of groups too; empty for inference.
    pub optimizers: Vec<String>,
    /// What it takes.
    pub memory: PlanMemory,
    /// What one step of the optimizer computes, beside the pass.
    pub update: Cost,
    /// What there is, in bytes.
    pub budget: Option<u64>,
    /// The largest batch that fits the budget, found by tracing; 0 where none does, and none where
    /// there is no budget, or even 16,777,216 fits.
    pub largest_batch: Option<usize>,
    /// What would help, the most helpful first, where it does not fit.
    pub helps: Vec<Help>,
    /// The pass, which plans in precisions of the same dtypes share.
    #[serde(skip)]
    pub trace: Arc<Trace>,
}

impl Plan {
    /// Start a plan for a module on the meta device.
    pub fn of<M: Materialize>(meta: &Meta<M>) -> PlanRequest<'_, M> {
        PlanRequest::of_meta(meta)
    }

    /// Start a plan for a module that is real, lazy or both.
    pub fn of_module<M: Materialize>(module: &M) -> PlanRequest<'_, M> {
        PlanRequest::of_module(module)
    }

    /// Whether it fits the budget; so it does where there is none.
    pub fn fits(&self) -> bool {
        self.excess() == 0
    }

    /// How many bytes there are too few.
    pub fn excess(&self) -> u64 {
        let budget = self.budget.unwrap_or(u64::MAX);
        self.memory.peak.saturating_sub(budget)
    }

    /// How many bytes there are left over; where there is no budget, all that can be counted.
    pub fn room(&self) -> u64 {
        let budget = self.budget.unwrap_or(u64::MAX);
        budget.saturating_sub(self.memory.peak)
    }
}
