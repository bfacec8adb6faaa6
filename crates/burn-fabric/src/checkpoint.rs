//! The state of a training run in files: written whole or not at all, checked whole before it is
//! taken.
//!
//! A checkpoint is a folder: a manifest, and a safetensors file for each part that has tensors. The
//! manifest names each file with its length and hash, and carries a hash of itself; it is renamed
//! into its place last. Until then the folder is what it was.

mod busy;
mod folder;
mod load;
mod loading;
mod manifest;
mod obsolete;
mod part;
mod parts;
mod plain;
mod problem;
mod save;
mod saved;
mod saving;
mod writing;

pub use folder::{Better, Checkpoints};
pub use load::{LoadOptions, LoadedState, OptimizerMatch};
pub use loading::Loading;
pub use part::TrainingState;
pub use problem::StateProblem;
pub use save::PendingSave;
pub use saved::SavedState;
pub use saving::Saving;

pub(crate) use part::{Content, Kind};
pub(crate) use parts::Remembered;
