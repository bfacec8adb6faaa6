//! What Llama 3 takes to run and to train, before a byte of it exists.

mod error;
mod golden;
mod model;
mod options;
mod products;
mod report;
mod shape;
mod taken;
pub mod text;
mod tiny;

pub use error::LlamaError;
pub use golden::{Apart, Golden};
pub use model::{Attention, FeedForward, Layer, Llama};
pub use options::{Options, Size};
pub use products::Products;
pub use report::Report;
pub use shape::Shape;
pub use taken::{Taken, Watch};
pub use tiny::Tried;
