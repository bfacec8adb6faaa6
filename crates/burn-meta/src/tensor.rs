//! Telling meta tensors from real ones, without a rank or a kind.

use burn::backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn::backend::{
    BackendTensor, Capture, Dispatch, DispatchDevice, DispatchTensorKind, ExecutionError,
};
use burn::tensor::kind::BridgeTensor;
use burn::tensor::{Device, TensorData, read_sync};
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

/// Read the values of a real tensor of any rank and kind, as they are now.
///
/// Burn's own `into_data` copies from a GPU only when the data is first looked at, and shows what an
/// operation in place has made of the tensor by then.
///
/// # Errors
/// The backend's own, and always for a meta tensor that was computed.
pub fn read(tensor: BridgeTensor) -> Result<TensorData, ExecutionError> {
    let dtype = tensor.dtype();
    let (_, tensor) = tensor.into_parts();
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
