//! A character transformer on Shakespeare's plays and poems, trained with burn-fabric.

mod error;
mod journal;
mod model;
mod options;
mod sample;
mod state;
mod texts;
mod tie;
mod train;
mod windows;

pub use error::ShakespeareError;
pub use journal::{Journal, Tested};
pub use model::{Attention, Block, Head, Transformer};
pub use options::{Options, Settings, Shape};
pub use sample::Sampling;
pub use state::{RESULTS, Training, run_folder};
pub use texts::{Symbols, Text, TextError, Texts, length};
pub use tie::check_tie;
pub use train::{test_loader, train};
pub use windows::{Batch, Stacked, Window, Windows};
