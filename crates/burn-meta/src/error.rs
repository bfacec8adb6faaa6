//! What can go wrong while recording and evaluating.

use burn::tensor::Shape;
use burn_capture::TensorId;

use crate::generator::GeneratorError;

/// Why a constructor could not be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The constructor read values of a tensor that has none yet.
    #[error(
        "the constructor reads values of a tensor on the meta device, which has a shape and a \
         dtype but no values until it is materialised: compute the value on a real device, or \
         from the configuration (Burn says: {message})"
    )]
    ValueRead {
        /// Burn's own text.
        message: String,
    },
    /// An operation was applied to a tensor that an earlier scope recorded.
    #[error(
        "an operation uses a tensor that was recorded earlier: a recording is closed when its \
         constructor returns, and what it holds can only be materialised; build everything that \
         depends on it in the same constructor, or materialise first (Burn says: {message})"
    )]
    ClosedScope {
        /// Burn's own text.
        message: String,
    },
    /// A constructor records on the device that it is itself being recorded on.
    #[error(
        "a recording was started inside another one on the same meta device: finish the outer \
         `map` first, or build the inner module with a `Meta` of its own"
    )]
    Nested,
    /// Burn has no more ids for meta devices.
    #[error(
        "65,536 meta devices are in use at once, which is all that Burn has: drop some of the \
         `Meta` modules that are still held"
    )]
    TooManyDevices,
}

/// Why a tensor has no recipe that can be evaluated, or why its evaluation failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecipeError {
    /// The recording does not hold the tensor.
    #[error(
        "this recording does not hold {tensor}: it was recorded in another one, so nothing here \
         says how to make it"
    )]
    Unrecorded {
        /// The tensor that was looked for.
        tensor: TensorId,
    },
    /// An operation that cannot be evaluated away from the device it was meant for.
    #[error(
        "the recipe contains the operation {operation}, which cannot be evaluated: build this \
         tensor on a real device instead"
    )]
    Unsupported {
        /// The operation's name.
        operation: String,
    },
    /// The random draw of this recipe is not defined.
    #[error("a random draw of shape {shape} cannot be made: {source}")]
    Draw {
        /// Shape of the drawn tensor.
        shape: Shape,
        /// Why not.
        source: Box<GeneratorError>,
    },
    /// A kernel panicked while the recipe was evaluated.
    #[error("Burn panicked while the recipe was evaluated: {message}")]
    Kernel {
        /// Burn's own text.
        message: String,
    },
}
