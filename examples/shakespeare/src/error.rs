//! What can go wrong.

use burn_fabric::FabricError;
use run_common::RunError;
use test_assets::MissingAsset;

use crate::TextError;

/// Why a training does not begin, or not go on.
#[derive(Debug, thiserror::Error)]
pub enum ShakespeareError {
    /// What a Fabric refuses.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// The texts are not what they should be.
    #[error(transparent)]
    Texts(#[from] TextError),
    /// They were not fetched.
    #[error(transparent)]
    Missing(#[from] MissingAsset),
    /// There are no learning rates.
    #[error("no schedule: {0}")]
    Schedule(String),
    /// A rotary encoding turns features in pairs, within each head.
    #[error(
        "`--width` {width} cannot be split into {heads} heads of an even size: give a multiple of {}",
        2 * heads
    )]
    Heads {
        /// Features of a character.
        width: usize,
        /// Heads of an attention.
        heads: usize,
    },
    /// The learning rate would never get to its highest.
    #[error("`--warm-up` {warm_up} of {steps} steps: give less than `--steps`")]
    WarmUp {
        /// Steps in which it rises.
        warm_up: u32,
        /// All steps.
        steps: u32,
    },
    /// The head and the embedding came apart.
    #[error("the tie is gone: embedding.weight and head.weight are {0}")]
    Untied(&'static str),
    /// What an earlier run left, or was told.
    #[error(transparent)]
    Run(#[from] RunError),
}
