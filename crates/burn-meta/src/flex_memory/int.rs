//! Flex's operations on integer tensors.

use std::ops::Range;

use burn::backend::ops::IntTensorOps;
use burn::backend::{ExecutionError, Scalar, TensorMetadata};
use burn::tensor::{
    BoolDType, DType, Distribution, FloatDType, IndexingUpdateOp, IntDType, Shape, Slice,
    TensorData,
};

use super::backend::{GhostFlex, no_values};
use super::ghost::{Ghost, GhostDevice};
use super::kernels::{self, binary, cast, compare, map, reduce, reduce_dim, scalar};

impl IntTensorOps<Self> for GhostFlex {
    each! {
        fn (lhs: Ghost, rhs: Ghost) -> Ghost = binary(lhs, rhs, false);
            for int_add, int_sub, int_mul, int_div, int_remainder, int_powi, bitwise_and,
                bitwise_or, bitwise_xor, bitwise_left_shift, bitwise_right_shift;
        fn (lhs: Ghost, _rhs: Scalar) -> Ghost = scalar(lhs);
            for int_add_scalar, int_sub_scalar, int_mul_scalar, int_div_scalar,
                int_remainder_scalar, int_powi_scalar_impl, int_clamp_min, int_clamp_max,
                bitwise_and_scalar, bitwise_or_scalar, bitwise_xor_scalar,
                bitwise_left_shift_scalar, bitwise_right_shift_scalar;
        fn (tensor: Ghost) -> Ghost = scalar(tensor);
            for int_abs, int_neg, int_sign, bitwise_not;
        fn (lhs: Ghost, rhs: Ghost, out: BoolDType) -> Ghost = compare(lhs, rhs, out.into());
            for int_equal, int_not_equal, int_greater, int_greater_equal, int_lower,
                int_lower_equal;
        fn (lhs: Ghost, _rhs: Scalar, out: BoolDType) -> Ghost
            = Ghost::alloc(lhs.shape(), out.into());
            for int_equal_elem, int_not_equal_elem, int_greater_elem, int_greater_equal_elem,
                int_lower_elem, int_lower_equal_elem;
        fn (tensor: Ghost, out: BoolDType) -> Ghost = reduce(tensor, out.into());
            for int_any, int_all;
        fn (tensor: Ghost, dim: usize, out: BoolDType) -> Ghost
            = kernels::extremum_dim(tensor, dim, out.into());
            for int_any_dim, int_all_dim;
        fn (tensor: Ghost) -> Ghost = { let dtype = tensor.dtype(); reduce(tensor, dtype) };
            for int_sum, int_mean, int_prod, int_max, int_min, int_max_abs;
        fn (tensor: Ghost, dim: usize) -> Ghost = {
            let dtype = tensor.dtype();
            reduce_dim(tensor, dim, dtype)
        };
            for int_sum_dim, int_mean_dim, int_prod_dim;
        fn (tensor: Ghost, dim: usize) -> Ghost = {
            let dtype = tensor.dtype();
            kernels::extremum_dim(tensor, dim, dtype)
        };
            for int_max_dim, int_min_dim;
        fn (tensor: Ghost, dim: usize) -> (Ghost, Ghost) = {
            let dtype = tensor.dtype();
            let found = kernels::extremum_dim(tensor.clone(), dim, DType::I64);
            (kernels::extremum_dim(tensor, dim, dtype), cast(found, dtype))
        };
            for int_max_dim_with_indices, int_min_dim_with_indices;
        fn (tensor: Ghost, dim: usize) -> Ghost = {
            let dtype = tensor.dtype();
            cast(kernels::extremum_dim(tensor, dim, DType::I64), dtype)
        };
            for int_argmax, int_argmin;
        fn (tensor: Ghost, _dim: usize) -> Ghost = kernels::cumulate(tensor);
            for int_cumsum, int_cumprod, int_cummin, int_cummax;
        fn (shape: Shape, _device: &GhostDevice, dtype: IntDType) -> Ghost
            = Ghost::alloc_aligned(shape, dtype.into());
            for int_empty, int_zeros;
    }

    fn int_from_data(data: TensorData, _device: &GhostDevice) -> Ghost {
        Ghost::alloc(data.shape().clone(), data.dtype())
    }

    fn int_ones(shape: Shape, _device: &GhostDevice, dtype: IntDType) -> Ghost {
        Ghost::alloc(shape, dtype.into())
    }

    fn int_full(shape: Shape, _value: Scalar, _device: &GhostDevice, dtype: IntDType) -> Ghost {
        Ghost::alloc(shape, dtype.into())
    }

    fn int_random(
        shape: Shape,
        _distribution: Distribution,
        _device: &GhostDevice,
        dtype: IntDType,
    ) -> Ghost {
        Ghost::alloc(shape, dtype.into())
    }

    fn int_arange_step(
        range: Range<i64>,
        step: usize,
        _device: &GhostDevice,
        dtype: IntDType,
    ) -> Ghost {
        let elements = range.step_by(step).count();
        Ghost::alloc(Shape::from(vec![elements]), dtype.into())
    }

    async fn int_into_data(_tensor: Ghost) -> Result<TensorData, ExecutionError> {
        no_values()
    }

    fn int_to_device(tensor: Ghost, _device: &GhostDevice) -> Ghost {
        tensor
    }

    fn int_into_float(tensor: Ghost, out: FloatDType) -> Ghost {
        map(tensor, out.into())
    }

    fn int_cast(tensor: Ghost, dtype: IntDType) -> Ghost {
        cast(tensor, dtype.into())
    }

    fn int_clamp(tensor: Ghost, _min: Scalar, _max: Scalar) -> Ghost {
        scalar(tensor)
    }

    fn int_powi_scalar(lhs: Ghost, rhs: Scalar) -> Ghost {
        match rhs.try_as_integer().map(|rhs| rhs.elem::<i64>()) {
            Some(0) => Ghost::alloc(lhs.shape(), lhs.dtype()),
            Some(1) => lhs,
            Some(2) => Self::int_mul(lhs.clone(), lhs),
            _ => scalar(lhs),
        }
    }

    fn int_matmul(lhs: Ghost, rhs: Ghost) -> Ghost {
        kernels::int_matmul(lhs, rhs)
    }

    fn int_swap_dims(tensor: Ghost, dim1: usize, dim2: usize) -> Ghost {
        let layout = tensor.layout().transpose(dim1, dim2);
        tensor.view(layout)
    }

    fn int_permute(tensor: Ghost, axes: &[usize]) -> Ghost {
        let layout = tensor.layout().permute(axes);
        tensor.view(layout)
    }

    fn int_flip(tensor: Ghost, axes: &[usize]) -> Ghost {
        let layout = tensor.layout().flip(axes);
        tensor.view(layout)
    }

    fn int_reshape(tensor: Ghost, shape: Shape) -> Ghost {
        tensor.reshape(shape)
    }

    fn int_expand(tensor: Ghost, shape: Shape) -> Ghost {
        tensor.expand(shape)
    }

    fn int_unfold(tensor: Ghost, dim: usize, size: usize, step: usize) -> Ghost {
        tensor.unfold(dim, size, step)
    }

    fn int_slice(tensor: Ghost, slices: &[Slice]) -> Ghost {
        let (layout, _) = tensor.layout().slice(slices);
        tensor.view(layout)
    }

    fn int_slice_assign(tensor: Ghost, _slices: &[Slice], value: Ghost) -> Ghost {
        kernels::slice_assign(tensor, value)
    }

    fn int_gather(_dim: usize, tensor: Ghost, indices: Ghost) -> Ghost {
        let shape = indices.shape();
        kernels::choose(tensor, indices, shape)
    }

    fn int_gather_nd(data: Ghost, indices: Ghost) -> Ghost {
        let shape = kernels::gathered(&data, &indices);
        kernels::choose(data, indices, shape)
    }

    fn int_select(tensor: Ghost, dim: usize, indices: Ghost) -> Ghost {
        let shape = kernels::selected(&tensor, dim, &indices);
        kernels::choose(tensor, indices, shape)
    }

    fn int_scatter(
        _dim: usize,
        tensor: Ghost,
        indices: Ghost,
        value: Ghost,
        _update: IndexingUpdateOp,
    ) -> Ghost {
        kernels::scatter(tensor, indices, value)
    }

    fn int_scatter_nd(
        data: Ghost,
        indices: Ghost,
        values: Ghost,
        _reduction: IndexingUpdateOp,
    ) -> Ghost {
        kernels::scatter_nd(data, indices, values)
    }

    fn int_select_assign(
        tensor: Ghost,
        _dim: usize,
        indices: Ghost,
        value: Ghost,
        _update: IndexingUpdateOp,
    ) -> Ghost {
        kernels::scatter(tensor, indices, value)
    }

    fn int_mask_where(tensor: Ghost, mask: Ghost, value: Ghost) -> Ghost {
        kernels::mask_where(tensor, mask, value)
    }

    fn int_mask_fill(tensor: Ghost, mask: Ghost, _value: Scalar) -> Ghost {
        kernels::mask_fill(tensor, mask)
    }

    fn int_cat(tensors: Vec<Ghost>, dim: usize) -> Ghost {
        kernels::cat(tensors, dim)
    }

    fn int_repeat_dim(tensor: Ghost, dim: usize, times: usize) -> Ghost {
        kernels::repeat_dim(tensor, dim, times)
    }

    fn int_max_abs_dim(tensor: Ghost, dim: usize) -> Ghost {
        Self::int_max_dim(scalar(tensor), dim)
    }

    fn int_sort(tensor: Ghost, _dim: usize, _descending: bool) -> Ghost {
        kernels::sort(tensor)
    }

    fn int_sort_with_indices(tensor: Ghost, _dim: usize, _descending: bool) -> (Ghost, Ghost) {
        let dtype = tensor.dtype();
        let places = kernels::argsort(tensor.clone());
        (kernels::sort(tensor), cast(places, dtype))
    }

    fn int_argsort(tensor: Ghost, _dim: usize, _descending: bool) -> Ghost {
        let dtype = tensor.dtype();
        cast(kernels::argsort(tensor), dtype)
    }
}
