//! Spans of what takes time, for whatever collects them: target `burn_fabric`.

use std::path::Path;

use tracing::span::EnteredSpan;
use tracing::{debug_span, info_span};

const TARGET: &str = "burn_fabric";

/// Allocating a module on its device, from a checkpoint or not.
pub(crate) fn setup<M>(loads: bool) -> EnteredSpan {
    let module = std::any::type_name::<M>();
    info_span!(target: TARGET, "setup", module, loads).entered()
}

/// Writing a checkpoint.
pub(crate) fn save(folder: &Path) -> EnteredSpan {
    info_span!(target: TARGET, "save", folder = %folder.display()).entered()
}

/// Reading one.
pub(crate) fn load(folder: &Path) -> EnteredSpan {
    info_span!(target: TARGET, "load", folder = %folder.display()).entered()
}

/// From a loss to gradients.
pub(crate) fn backward() -> EnteredSpan {
    debug_span!(target: TARGET, "backward").entered()
}

/// Measuring gradients, and making them smaller.
pub(crate) fn clip() -> EnteredSpan {
    debug_span!(target: TARGET, "clip_gradients").entered()
}

/// One step of an optimizer.
pub(crate) fn step(parameters: usize) -> EnteredSpan {
    debug_span!(target: TARGET, "step", parameters).entered()
}

/// A user's evaluation.
pub(crate) fn evaluate() -> EnteredSpan {
    debug_span!(target: TARGET, "evaluate").entered()
}

/// Waiting for a batch, or making it.
pub(crate) fn batch() -> EnteredSpan {
    debug_span!(target: TARGET, "batch").entered()
}
