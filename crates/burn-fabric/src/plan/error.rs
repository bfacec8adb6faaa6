//! Why there is no plan.

use burn_materialize::TraceError;

use crate::error::FabricError;

/// Why a run could not be planned. Nothing was allocated, and the module is as it was.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The pass could not be traced.
    #[error("at a batch of {batch}: {source}")]
    Trace {
        /// The batch that the pass was given.
        batch: usize,
        /// Why.
        source: TraceError,
    },
    /// A batch of nothing takes nothing.
    #[error("a batch of 0 has no plan: ask for at least 1, and for `accumulate` at least 1")]
    EmptyBatch,
    /// The optimizer does not go with the module.
    #[error(transparent)]
    Optimizer(#[from] Box<FabricError>),
    /// The optimizer's step could not be traced.
    #[error(
        "the step of {optimizer} cannot be traced for `{parameter}`: {message}; what is traced has \
         no values, so a step of your own must not read any"
    )]
    Step {
        /// The optimizer.
        optimizer: String,
        /// Path of the parameter.
        parameter: String,
        /// Burn's own text.
        message: String,
    },
}
