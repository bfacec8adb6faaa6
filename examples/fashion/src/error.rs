//! What can go wrong.

use burn_fabric::FabricError;
use run_common::RunError;

/// Why a training does not begin, or not go on.
#[derive(Debug, thiserror::Error)]
pub enum FashionError {
    /// What a Fabric refuses.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// There are no learning rates.
    #[error("no schedule: {0}")]
    Schedule(String),
    /// The settings ask for what this program does not do.
    #[error(
        "`accumulate` is {0}, and this program makes a step of each batch: leave it out, and give a \
         greater `batch_size`"
    )]
    Accumulate(usize),
    /// What an earlier run left, or was told.
    #[error(transparent)]
    Run(#[from] RunError),
}
