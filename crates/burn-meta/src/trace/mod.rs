//! Tracing: a pass over tensors that have no values, listed operation by operation.

mod describe;
mod fault;
mod gradients;
mod list;
mod operation;

use std::any::Any;

use burn::backend::Dispatch;
use burn::backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn::tensor::kind::{BridgeTensor, Kind};
use burn::tensor::{DType, Device, GradientCheckpointingStrategy, Shape};
use burn_capture::{CaptureClient, TensorId};
use burn_router::RouterClient;

pub use fault::Fault;
pub use gradients::MetaGradients;
pub use list::{OperationList, Tape};
pub use operation::{Cost, Operation, OperationKind, TracedTensor};

use crate::device::MetaDevice;
use crate::error::RecordError;
use crate::record::{Captured, panic_text};

impl MetaDevice {
    /// Run `pass` on this device, in a scope of its own, and keep what it did. Waits while another
    /// thread records here.
    ///
    /// A panic of the pass ends it; the scope is closed in order, and what was recorded until then
    /// is kept.
    ///
    /// # Errors
    /// [`RecordError::Nested`] inside a recording on this very device, and
    /// [`RecordError::ClosedScope`] when the pass computes with a tensor of an earlier recording.
    ///
    /// ```
    /// use burn::tensor::Tensor;
    /// use burn_meta::{DefaultDTypes, MetaDevice};
    ///
    /// let traced = MetaDevice::new(DefaultDTypes::default())?.trace(|scope| {
    ///     let lhs = Tensor::<2>::ones([1 << 20, 1 << 20], scope.device()); // 4 TB
    ///     let begin = scope.mark();
    ///     lhs.clone().matmul(lhs);
    ///     begin
    /// })?;
    /// let begin = traced.outcome.unwrap();
    /// let list = traced.tape.list(begin);
    /// assert_eq!(list.operations[0].name, "matmul");
    /// assert_eq!(list.operations[0].cost.flops, 2 << 60);
    /// # Ok::<(), burn_meta::RecordError>(())
    /// ```
    pub fn trace<T>(
        &self,
        pass: impl FnOnce(&TraceScope<'_>) -> T,
    ) -> Result<Traced<T>, RecordError> {
        let Captured {
            outcome,
            operations,
            ..
        } = self.capture(|device, client| pass(&TraceScope { device, client }))?;
        Ok(Traced {
            outcome: outcome.map_err(Stopped::new),
            tape: Tape::new(operations),
        })
    }
}

/// The scope that a pass is traced in.
pub struct TraceScope<'s> {
    device: &'s Device,
    client: &'s CaptureClient,
}

impl TraceScope<'_> {
    /// The meta device, without autodiff.
    pub fn device(&self) -> &Device {
        self.device
    }

    /// The same device for a pass that is trained: with autodiff, under a gradient-checkpointing
    /// strategy.
    pub fn training_device(&self, strategy: GradientCheckpointingStrategy) -> Device {
        let device = self.device.clone().autodiff();
        match strategy {
            GradientCheckpointingStrategy::Balanced => device.gradient_checkpointing(),
            GradientCheckpointingStrategy::Disabled => device,
        }
    }

    /// A tensor that is only there, on `device`: this scope's, or its training device.
    ///
    /// ```
    /// use burn::tensor::kind::Kind;
    /// use burn::tensor::{DType, Tensor};
    /// use burn_meta::{DefaultDTypes, MetaDevice};
    ///
    /// MetaDevice::new(DefaultDTypes::default())?.trace(|scope| {
    ///     let shape = [3, 2].into();
    ///     let there = scope.placeholder(Kind::Float, shape, DType::BF16, scope.device());
    ///     assert_eq!(Tensor::<2>::from_bridge(there).dtype(), DType::BF16);
    /// })?;
    /// # Ok::<(), burn_meta::RecordError>(())
    /// ```
    pub fn placeholder(
        &self,
        kind: Kind,
        shape: Shape,
        dtype: DType,
        device: &Device,
    ) -> BridgeTensor {
        let device = device.as_dispatch();
        match kind {
            Kind::Float => BridgeTensor::float(Dispatch::float_empty(shape, device, dtype.into())),
            Kind::Int => BridgeTensor::int(Dispatch::int_empty(shape, device, dtype.into())),
            Kind::Bool => BridgeTensor::bool(Dispatch::bool_empty(shape, device, dtype.into())),
        }
    }

    /// Now, as a place among the operations.
    pub fn mark(&self) -> Mark {
        Mark(self.client.create_empty_handle())
    }
}

/// A place among the operations of a trace.
///
/// Ids of tensors only ever grow: what was recorded later makes tensors of higher ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(TensorId);

impl Mark {
    fn is_before(self, tensor: TensorId) -> bool {
        self.0 < tensor
    }
}

/// What a traced pass leaves.
pub struct Traced<T> {
    /// What it returned, or why it did not.
    pub outcome: Result<T, Stopped>,
    /// What it did.
    pub tape: Tape,
}

/// The panic that ended a pass.
pub struct Stopped {
    /// What kind of mistake it is.
    pub fault: Fault,
    /// Its text.
    pub message: String,
    panic: Box<dyn Any + Send>,
}

impl Stopped {
    fn new(panic: Box<dyn Any + Send>) -> Self {
        let message = panic_text(&*panic).unwrap_or_default();
        Self {
            fault: Fault::of(&message),
            message,
            panic,
        }
    }

    /// Let it go on.
    pub fn resume(self) -> ! {
        std::panic::resume_unwind(self.panic)
    }
}

impl std::fmt::Debug for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stopped")
            .field("fault", &self.fault)
            .field("message", &self.message)
            .finish_non_exhaustive()
    }
}
