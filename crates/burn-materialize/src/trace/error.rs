//! Why a pass could not be traced.

use burn_meta::{Fault, RecordError, Stopped};

/// Why a pass could not be traced. The module is as it was.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// There is no meta device to trace on.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Shapes do not fit.
    #[error(
        "shapes do not fit, {reached}: {message}; correct the input's shape or the module's \
         configuration"
    )]
    Shape {
        /// How far the pass came.
        reached: Reached,
        /// Burn's own text.
        message: String,
    },
    /// Dtypes do not go together.
    #[error(
        "tensors of different dtypes meet, {reached}: cast one of them, or make it in the dtype of the \
         other (Burn says: {message})"
    )]
    DType {
        /// How far the pass came.
        reached: Reached,
        /// Burn's own text.
        message: String,
    },
    /// The pass reads values.
    #[error(
        "the forward pass reads values of a tensor, {reached}; on the meta device a tensor has a \
         shape and a dtype and no values: decide from shapes, or leave that part out of what is \
         traced (Burn says: {message})"
    )]
    ValueRead {
        /// How far the pass came.
        reached: Reached,
        /// Burn's own text.
        message: String,
    },
    /// A tensor is not on the device of the trace.
    #[error(
        "the forward pass meets a tensor that is not on the device of the trace, {reached}: make \
         inputs on the device that is given to the closure, and derive `Materialize` for modules \
         that hold tensors out of its reach (Burn says: {message})"
    )]
    OtherDevice {
        /// How far the pass came.
        reached: Reached,
        /// Burn's own text.
        message: String,
    },
    /// A tensor on an autodiff device is moved, which a meta device refuses.
    #[error(
        "the forward pass moves a tensor that is on an autodiff device, {reached}, and a meta device \
         refuses that; a batch norm that is called a second time in one training pass does it with \
         its running statistics: call it once, or trace inference; elsewhere leave `to_device` out \
         where the tensor is on the device already (Burn says: {message})"
    )]
    MovedWithAutodiff {
        /// How far the pass came.
        reached: Reached,
        /// Burn's own text.
        message: String,
    },
    /// The pass takes gradients by itself.
    #[error(
        "the pass calls `backward`, `inner` or `Module::train` by itself, {reached}, which a meta \
         device refuses: return the loss, and `trace_training` takes the gradients (Burn says: \
         {message})"
    )]
    TakesGradients {
        /// How far the pass came.
        reached: Reached,
        /// Burn's own text.
        message: String,
    },
    /// The loss needs no gradient.
    #[error(
        "the loss depends on no parameter that requires a gradient, {reached}: use the module that \
         is given to the closure, and unfreeze what is to be trained"
    )]
    NothingToTrain {
        /// How far the pass came.
        reached: Reached,
    },
}

impl TraceError {
    /// The mistake behind a panic of the pass; a panic of the pass's own goes on.
    pub(super) fn of(stopped: Stopped, reached: Reached) -> Self {
        let message = stopped.message.clone();
        match stopped.fault {
            Fault::Shape => Self::Shape { reached, message },
            Fault::DType => Self::DType { reached, message },
            Fault::ValueRead => Self::ValueRead { reached, message },
            Fault::OtherDevice => Self::OtherDevice { reached, message },
            Fault::MovedWithAutodiff => Self::MovedWithAutodiff { reached, message },
            Fault::Autodiff => Self::TakesGradients { reached, message },
            Fault::Other => stopped.resume(),
        }
    }

    /// A tensor of an earlier recording may only be found once the scope is closed.
    pub(super) fn of_recording(error: RecordError) -> Self {
        match error {
            RecordError::ClosedScope { message } => Self::OtherDevice {
                reached: Reached::default(),
                message,
            },
            error => Self::Record(error),
        }
    }

    /// How far the pass came.
    pub fn reached(&self) -> Option<&Reached> {
        match self {
            Self::Record(_) => None,
            Self::Shape { reached, .. }
            | Self::DType { reached, .. }
            | Self::ValueRead { reached, .. }
            | Self::OtherDevice { reached, .. }
            | Self::MovedWithAutodiff { reached, .. }
            | Self::TakesGradients { reached, .. }
            | Self::NothingToTrain { reached } => Some(reached),
        }
    }
}

/// The last operation that was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Its name, where there was one.
    pub operation: Option<String>,
    /// The path of the module it belongs to.
    pub path: String,
}

impl std::fmt::Display for Reached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.operation, self.path.as_str()) {
            (None, _) => write!(f, "with nothing recorded before"),
            (Some(operation), "") => write!(f, "after `{operation}`"),
            (Some(operation), path) => write!(f, "after `{operation}` in `{path}`"),
        }
    }
}
