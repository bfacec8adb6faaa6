//! How each kind of part is saved and loaded.

mod accumulation;
mod average;
mod containers;
mod loader;
mod module;
mod moments;
mod optimizer;
mod restore;
mod rng;
mod scheduler;
mod tensors;
mod value;

pub(crate) use optimizer::Remembered;
