//! What can go wrong.

use std::path::PathBuf;

use burn_fabric::FabricError;
use fashion_common::Settings;

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
