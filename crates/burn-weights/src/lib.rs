//! Files of tensors: opened by their headers, read without a copy, written so that a crash leaves
//! the old file or the new one.
//!
//! [`Checkpoint::open`] takes a safetensors file, burnpack, what `torch.save` writes, an index of
//! shards, or a folder of one of these, and tells them apart by content. Nothing in a file is
//! trusted: whatever is wrong with it is a [`CheckpointError`] that names file, tensor and offset.
//!
//! This crate knows nothing of modules; `burn-materialize` loads them from it.

mod burnpack;
mod checkpoint;
mod dtype;
mod error;
mod folder;
mod index;
mod map;
mod nearest;
mod pairs;
mod pickle;
mod pytorch;
mod safetensors;
mod shard;
mod storage;
mod write;

pub use checkpoint::{Checkpoint, FileInfo, TensorInfo};
pub use dtype::FileDType;
pub use error::CheckpointError;
pub use nearest::{hint, nearest};
pub use shard::{Copied, Format, Read, Reading};
pub use write::{Outgoing, WriteFormat, WriteOptions, Written, write};
