//! Dry runs: a forward pass, or a whole training pass, on a copy of a module that has no values.

mod attribution;
mod display;
mod error;
mod leaf;
mod memory;
mod output;
mod placeholders;
mod report;
mod run;

pub use error::{Reached, TraceError};
pub use leaf::TracedLeaf;
pub use memory::TraceMemory;
pub use output::{TraceOutput, TracedOutput, TracedOutputs};
pub use report::{ModuleCost, Phase, Trace, TracedOperation};
pub use run::{TraceOptions, trace, trace_training};
