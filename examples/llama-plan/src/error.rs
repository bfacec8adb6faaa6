//! What can go wrong.

use burn_fabric::burn_materialize::TraceError;
use burn_fabric::{FabricError, PlanError};
use run_common::OutputError;

/// Why a model could not be planned, or is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum LlamaError {
    /// It could not be built, set up or trained.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// Its pass could not be traced.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// No plan could be made of it.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The pictures could not be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// What PyTorch computed, which comes with the program, cannot be read.
    #[error("golden/tiny.json: {0}; make it again by golden/tiny.py")]
    Golden(#[from] serde_json::Error),
    /// Two ways to know something disagree.
    #[error("{what}: {found}, expected {expected}")]
    Differs {
        /// What.
        what: &'static str,
        /// By one way.
        found: String,
        /// By the other.
        expected: String,
    },
}
