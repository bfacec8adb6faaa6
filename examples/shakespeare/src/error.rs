//! What can go wrong.

use std::path::PathBuf;

use burn_fabric::FabricError;
use test_assets::MissingAsset;

use crate::{Settings, TextError};

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
    /// The checkpoint is of a run that was told other things.
    #[error("the run in {} has seed {}, {}; this one was told seed {}, {}", folder.display(), there.0, there.1, here.0, here.1)]
    OtherSettings {
        /// The checkpoint.
        folder: PathBuf,
        /// Seed and settings of its run.
        there: Box<(u64, Settings)>,
        /// Seed and settings of this one.
        here: Box<(u64, Settings)>,
    },
    /// An earlier run in the folder did not come to its end, and would be lost.
    #[error(
        "{} has checkpoints of a run that did not end: go on with it by `--resume`, or give another \
         `--out`, or remove that folder",
        folder.display()
    )]
    Unfinished {
        /// The checkpoints.
        folder: PathBuf,
    },
    /// What an earlier run left cannot be removed.
    #[error("cannot remove `{}`: {source}", path.display())]
    Remove {
        /// A file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}
