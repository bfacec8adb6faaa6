//! Flex as a backend that allocates nothing: Burn's interpreter runs a recording on it, and what its
//! tensors would take is counted.
//!
//! What flex leaves to Burn's defaults is left to them here too, so that an operation falls apart
//! into the same smaller ones.

use burn::backend::distributed::DistributedOps;
use burn::backend::ir::{BackendIr, HandleKind, TensorHandle};
use burn::backend::ops::{QTensorOps, TransactionOps};
use burn::backend::quantization::{QuantScheme, QuantizationParametersPrimitive};
use burn::backend::{
    Backend, BackendTypes, DTypeUsage, DTypeUsageSet, ExecutionError, GraphUnsupported,
};
use burn::tensor::{DType, FloatDType, Shape, TensorData};

use super::ghost::{Ghost, GhostDevice};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GhostFlex;

impl BackendTypes for GhostFlex {
    type Device = GhostDevice;
    type FloatTensorPrimitive = Ghost;
    type IntTensorPrimitive = Ghost;
    type BoolTensorPrimitive = Ghost;
    type QuantizedTensorPrimitive = Ghost;
    type GraphPrimitive = GraphUnsupported;
}

impl Backend for GhostFlex {
    fn name(_device: &GhostDevice) -> String {
        "flex, without memory".to_owned()
    }

    fn seed(_device: &GhostDevice, _seed: u64) {}

    fn device_count(_type_id: u16) -> usize {
        1
    }

    fn dtype_usage(_device: &GhostDevice, _dtype: DType) -> DTypeUsageSet {
        DTypeUsage::general()
    }

    fn flush(_device: &GhostDevice) -> Result<(), ExecutionError> {
        Ok(())
    }
}

impl TransactionOps<Self> for GhostFlex {}

impl DistributedOps<Self> for GhostFlex {}

/// There are no values to read.
pub(super) fn no_values() -> Result<TensorData, ExecutionError> {
    let reason = "tensors that are only counted have no values";
    Err(ExecutionError::with_context(reason.to_owned()))
}

/// Recordings have no quantised tensors: the meta device refuses them.
impl QTensorOps<Self> for GhostFlex {
    fn q_from_data(data: TensorData, _device: &GhostDevice) -> Ghost {
        Ghost::alloc(data.shape().clone(), data.dtype())
    }

    fn quantize(
        tensor: Ghost,
        scheme: &QuantScheme,
        _qparams: QuantizationParametersPrimitive<Self>,
    ) -> Ghost {
        let contiguous = tensor.to_contiguous();
        Ghost::alloc(contiguous.layout().shape().clone(), DType::QFloat(*scheme))
    }

    fn dequantize(tensor: Ghost, dtype: FloatDType) -> Ghost {
        Ghost::alloc(tensor.layout().shape().clone(), dtype.into())
    }

    fn q_to_device(tensor: Ghost, _device: &GhostDevice) -> Ghost {
        tensor
    }

    fn q_reshape(tensor: Ghost, shape: Shape) -> Ghost {
        tensor.reshape(shape)
    }

    async fn q_into_data(_tensor: Ghost) -> Result<TensorData, ExecutionError> {
        no_values()
    }

    fn q_swap_dims(tensor: Ghost, dim1: usize, dim2: usize) -> Ghost {
        let layout = tensor.layout().transpose(dim1, dim2);
        tensor.view(layout)
    }

    fn q_permute(tensor: Ghost, axes: &[usize]) -> Ghost {
        let layout = tensor.layout().permute(axes);
        tensor.view(layout)
    }

    fn q_flip(tensor: Ghost, axes: &[usize]) -> Ghost {
        let layout = tensor.layout().flip(axes);
        tensor.view(layout)
    }
}

impl BackendIr for GhostFlex {
    type Handle = HandleKind<Self>;

    fn float_tensor(handle: TensorHandle<Self::Handle>) -> Ghost {
        tensor_of(handle)
    }

    fn int_tensor(handle: TensorHandle<Self::Handle>) -> Ghost {
        tensor_of(handle)
    }

    fn bool_tensor(handle: TensorHandle<Self::Handle>) -> Ghost {
        tensor_of(handle)
    }

    fn quantized_tensor(handle: TensorHandle<Self::Handle>) -> Ghost {
        tensor_of(handle)
    }

    fn float_tensor_handle(tensor: Ghost) -> Self::Handle {
        HandleKind::Float(tensor)
    }

    fn int_tensor_handle(tensor: Ghost) -> Self::Handle {
        HandleKind::Int(tensor)
    }

    fn bool_tensor_handle(tensor: Ghost) -> Self::Handle {
        HandleKind::Bool(tensor)
    }

    fn quantized_tensor_handle(tensor: Ghost) -> Self::Handle {
        HandleKind::Quantized(tensor)
    }
}

fn tensor_of(handle: TensorHandle<HandleKind<GhostFlex>>) -> Ghost {
    match handle.handle {
        HandleKind::Float(tensor)
        | HandleKind::Int(tensor)
        | HandleKind::Bool(tensor)
        | HandleKind::Quantized(tensor) => tensor,
    }
}
