//! What the examples share as programs, so that what is left of each is what it shows.

#[cfg(feature = "command")]
pub mod command;
mod exit;
mod options;
mod output;
mod plot;
#[cfg(feature = "fabric")]
mod run_folder;
#[cfg(feature = "fabric")]
mod told;
mod weights;

pub use exit::exit;
pub use options::{parse, plain_device};
pub use output::{Output, OutputError};
pub use plot::{Curve, draw_curves};
#[cfg(feature = "fabric")]
pub use run_folder::{Ended, RunError, RunFolder};
#[cfg(feature = "fabric")]
pub use told::Told;
pub use weights::{digest, tensors};
