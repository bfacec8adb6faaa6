//! Flex's operations on bool tensors, which take a byte an element.

use burn::backend::ops::BoolTensorOps;
use burn::backend::{ExecutionError, Scalar, TensorMetadata};
use burn::tensor::{BoolDType, FloatDType, IntDType, Shape, Slice, TensorData};

use super::backend::{GhostFlex, no_values};
use super::ghost::{Ghost, GhostDevice};
use super::kernels::{self, compare, map, reduce};

/// In place where one of the operands may be written to.
fn combine(lhs: Ghost, rhs: Ghost) -> Ghost {
    let (lhs, rhs) = kernels::broadcast(lhs, rhs);
    let may_write =
        |to: &Ghost, from: &Ghost| to.is_unique() && to.starts_at_zero() && from.is_contiguous();
    if may_write(&lhs, &rhs) {
        return lhs;
    }
    if may_write(&rhs, &lhs) {
        return rhs;
    }
    Ghost::alloc(lhs.shape(), lhs.dtype())
}

impl BoolTensorOps<Self> for GhostFlex {
    each! {
        fn (lhs: Ghost, rhs: Ghost) -> Ghost = combine(lhs, rhs);
            for bool_and, bool_or, bool_xor;
        fn (lhs: Ghost, rhs: Ghost) -> Ghost = {
            let dtype = lhs.dtype();
            compare(lhs, rhs, dtype)
        };
            for bool_equal, bool_not_equal;
        fn (lhs: Ghost, _rhs: Scalar) -> Ghost = Ghost::alloc(lhs.shape(), lhs.dtype());
            for bool_equal_elem, bool_not_equal_elem;
        fn (tensor: Ghost) -> Ghost = {
            let _contiguous = tensor.to_contiguous();
            let dtype = tensor.dtype();
            reduce(tensor, dtype)
        };
            for bool_any, bool_all;
        fn (tensor: Ghost, dim: usize) -> Ghost = {
            let dtype = tensor.dtype();
            kernels::extremum_dim(tensor, dim, dtype)
        };
            for bool_any_dim, bool_all_dim;
        fn (shape: Shape, _device: &GhostDevice, dtype: BoolDType) -> Ghost
            = Ghost::alloc_aligned(shape, dtype.into());
            for bool_empty, bool_zeros;
    }

    fn bool_ones(shape: Shape, _device: &GhostDevice, dtype: BoolDType) -> Ghost {
        Ghost::alloc(shape, dtype.into())
    }

    fn bool_from_data(data: TensorData, _device: &GhostDevice) -> Ghost {
        Ghost::alloc(data.shape().clone(), data.dtype())
    }

    async fn bool_into_data(_tensor: Ghost) -> Result<TensorData, ExecutionError> {
        no_values()
    }

    fn bool_to_device(tensor: Ghost, _device: &GhostDevice) -> Ghost {
        tensor
    }

    fn bool_into_int(tensor: Ghost, out: IntDType) -> Ghost {
        map(tensor, out.into())
    }

    fn bool_into_float(tensor: Ghost, out: FloatDType) -> Ghost {
        map(tensor, out.into())
    }

    fn bool_not(tensor: Ghost) -> Ghost {
        kernels::scalar(tensor)
    }

    fn bool_swap_dims(tensor: Ghost, dim1: usize, dim2: usize) -> Ghost {
        let layout = tensor.layout().transpose(dim1, dim2);
        tensor.view(layout)
    }

    fn bool_permute(tensor: Ghost, axes: &[usize]) -> Ghost {
        let layout = tensor.layout().permute(axes);
        tensor.view(layout)
    }

    fn bool_flip(tensor: Ghost, axes: &[usize]) -> Ghost {
        let layout = tensor.layout().flip(axes);
        tensor.view(layout)
    }

    fn bool_reshape(tensor: Ghost, shape: Shape) -> Ghost {
        tensor.reshape(shape)
    }

    fn bool_expand(tensor: Ghost, shape: Shape) -> Ghost {
        tensor.expand(shape)
    }

    fn bool_unfold(tensor: Ghost, dim: usize, size: usize, step: usize) -> Ghost {
        tensor.unfold(dim, size, step)
    }

    fn bool_slice(tensor: Ghost, slices: &[Slice]) -> Ghost {
        let (layout, _) = tensor.layout().slice(slices);
        tensor.view(layout)
    }

    fn bool_slice_assign(tensor: Ghost, _slices: &[Slice], value: Ghost) -> Ghost {
        kernels::slice_assign(tensor, value)
    }

    fn bool_mask_where(tensor: Ghost, mask: Ghost, value: Ghost) -> Ghost {
        kernels::mask_where(tensor, mask, value)
    }

    fn bool_mask_fill(tensor: Ghost, mask: Ghost, _value: Scalar) -> Ghost {
        kernels::mask_fill(tensor, mask)
    }

    fn bool_gather(_dim: usize, tensor: Ghost, indices: Ghost) -> Ghost {
        let shape = indices.shape();
        kernels::choose(tensor, indices, shape)
    }

    fn bool_select(tensor: Ghost, dim: usize, indices: Ghost) -> Ghost {
        let shape = kernels::selected(&tensor, dim, &indices);
        kernels::choose(tensor, indices, shape)
    }

    fn bool_scatter_or(_dim: usize, tensor: Ghost, indices: Ghost, value: Ghost) -> Ghost {
        kernels::scatter(tensor, indices, value)
    }

    fn bool_select_or(tensor: Ghost, _dim: usize, indices: Ghost, value: Ghost) -> Ghost {
        kernels::scatter(tensor, indices, value)
    }

    fn bool_cat(tensors: Vec<Ghost>, dim: usize) -> Ghost {
        kernels::cat(tensors, dim)
    }

    fn bool_repeat_dim(tensor: Ghost, dim: usize, times: usize) -> Ghost {
        kernels::repeat_dim(tensor, dim, times)
    }
}
