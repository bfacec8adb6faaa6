//! Telling meta tensors from real ones, and reading these, without a rank or a kind.

use std::sync::Arc;

use burn::backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn::backend::{
    BackendTensor, Capture, Dispatch, DispatchDevice, DispatchTensor, DispatchTensorKind,
    ExecutionError,
};
use burn::tensor::kind::BridgeTensor;
use burn::tensor::{AllocationProperty, Bytes, Device, TensorData, read_sync};
use burn_capture::TensorId;

/// The id under which a recording knows `tensor`, or `None` for a real one.
pub fn tensor_id(tensor: &BridgeTensor) -> Option<TensorId> {
    match &tensor.as_parts().1.kind {
        DispatchTensorKind::Capture(tensor) => Some(recorded_id(tensor)),
        DispatchTensorKind::Autodiff(inner) => match inner.as_ref() {
            DispatchTensorKind::Capture(tensor) => Some(recorded_id(tensor)),
            _ => None,
        },
        _ => None,
    }
}

fn recorded_id(tensor: &BackendTensor<Capture>) -> TensorId {
    match tensor {
        BackendTensor::Float(tensor) => tensor.id(),
        BackendTensor::Int(tensor) => tensor.id(),
        BackendTensor::Bool(tensor) => tensor.id(),
        BackendTensor::Quantized(tensor) => tensor.id(),
        BackendTensor::Autodiff(_) => tensor.clone().autodiff_inner().id(),
    }
}

/// Whether `device` is a meta device: one that records and allocates nothing.
pub fn is_meta_device(device: &Device) -> bool {
    matches!(
        device.clone().without_autodiff().as_dispatch(),
        DispatchDevice::Capture(_)
    )
}

/// Read the values of a real tensor of any rank and kind, as they are now. What flex holds in the order
/// of its elements is not copied: the data shares the tensor's memory, and whoever writes to either
/// writes into a copy.
///
/// Burn's own `into_data` copies from a GPU only when the data is first looked at, and shows what an
/// operation in place has made of the tensor by then.
///
/// # Errors
/// The backend's own, and always for a meta tensor that was computed.
pub fn read(tensor: BridgeTensor) -> Result<TensorData, ExecutionError> {
    let dtype = tensor.dtype();
    let (_, tensor) = tensor.into_parts();
    if let Some(view) = view(&tensor) {
        return Ok(view);
    }
    let data = if dtype.is_float() {
        read_sync(Dispatch::float_into_data(tensor))?
    } else if dtype.is_bool() {
        read_sync(Dispatch::bool_into_data(tensor))?
    } else {
        read_sync(Dispatch::int_into_data(tensor))?
    };
    match data.bytes().read(Default::default()) {
        Ok(_) => Ok(data),
        Err(error) => Err(ExecutionError::with_context(error.to_string())),
    }
}

/// The memory of a flex tensor whose elements lie in order.
fn view(tensor: &DispatchTensor) -> Option<TensorData> {
    /// What keeps the memory, and with it the tensor from being written to in place.
    struct Owner(Arc<Bytes>);
    impl AsRef<[u8]> for Owner {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    let DispatchTensorKind::Flex(tensor) = &tensor.kind else {
        return None;
    };
    let (BackendTensor::Float(tensor) | BackendTensor::Int(tensor) | BackendTensor::Bool(tensor)) =
        tensor
    else {
        return None;
    };
    let (layout, dtype) = (tensor.layout(), tensor.dtype());
    if !layout.is_contiguous() {
        return None;
    }
    let start = layout.start_offset() * dtype.size();
    let end = start + layout.num_elements() * dtype.size();
    let memory = bytes::Bytes::from_owner(Owner(tensor.data_arc())).slice(start..end);
    let memory = Bytes::from_shared(memory, AllocationProperty::Native);
    let shape = layout.shape().clone();
    Some(TensorData::from_bytes(memory, shape, dtype))
}
