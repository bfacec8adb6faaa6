//! A model that a Fabric set up, in Burn's own `Learner`, and back in a loop of one's own.

mod data;
mod error;
mod learn;
mod model;
mod resume;

pub use data::{Digit, Stack, dataset};
pub use error::LearnerError;
pub use learn::{Learned, learn, training};
pub use model::Mlp;
pub use resume::{Scores, one_more_epoch};

/// Samples a batch.
pub const BATCH: usize = 32;
/// The learning rate, here and there.
pub const RATE: f64 = 3e-3;
