//! What can go wrong.

use std::sync::Arc;

use burn::tensor::{ExecutionError, TensorReadError};
use burn::train::TrainingError;
use burn_fabric::FabricError;

/// Why a training ended before its last epoch.
#[derive(Debug, thiserror::Error)]
pub enum LearnerError {
    /// What a Fabric refuses.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// What stopped Burn's Learner. It is a field of what `launch` returns, easily overlooked.
    #[error("Burn's Learner stopped: {0}")]
    Learner(Arc<TrainingError>),
    /// A metric could not read its tensors.
    #[error("a metric cannot be computed: {0}")]
    Metric(#[from] TensorReadError),
    /// The device could not compute what a metric is fed with.
    #[error("the device failed: {0}")]
    Device(#[from] ExecutionError),
}
