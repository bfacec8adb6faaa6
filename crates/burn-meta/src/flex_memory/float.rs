//! Flex's operations on float tensors.

use burn::backend::ops::{FloatTensorOps, GridSampleOptions, IntTensorOps};
use burn::backend::{ExecutionError, Scalar, TensorMetadata};
use burn::tensor::{
    BoolDType, DType, Distribution, FloatDType, IndexingUpdateOp, IntDType, Shape, Slice,
    TensorData,
};

use super::backend::{GhostFlex, no_values};
use super::ghost::{Ghost, GhostDevice};
use super::kernels::{self, binary, cast, compare, map, reduce, reduce_dim, scalar, unary};

impl FloatTensorOps<Self> for GhostFlex {
    each! {
        fn (tensor: Ghost) -> Ghost = unary(tensor);
            for float_exp, float_log, float_log1p, float_sqrt, float_abs, float_cos, float_sin,
                float_tan, float_cosh, float_sinh, float_tanh, float_acos, float_acosh, float_asin,
                float_asinh, float_atan, float_atanh, float_round, float_floor, float_ceil,
                float_trunc, float_erf, float_recip, float_neg, float_sign;
        fn (tensor: Ghost, _bound: Scalar) -> Ghost = unary(tensor);
            for float_clamp_min, float_clamp_max;
        fn (lhs: Ghost, rhs: Ghost) -> Ghost = binary(lhs, rhs, true);
            for float_add, float_sub, float_mul, float_div;
        fn (lhs: Ghost, rhs: Ghost) -> Ghost = binary(lhs, rhs, false);
            for float_remainder, float_powf, float_atan2, float_hypot;
        fn (lhs: Ghost, _rhs: Scalar) -> Ghost = scalar(lhs);
            for float_add_scalar, float_sub_scalar, float_mul_scalar, float_div_scalar,
                float_remainder_scalar, float_powf_scalar_impl;
        fn (lhs: Ghost, rhs: Ghost, out: BoolDType) -> Ghost = compare(lhs, rhs, out.into());
            for float_equal, float_not_equal, float_greater, float_greater_equal, float_lower,
                float_lower_equal;
        fn (lhs: Ghost, _rhs: Scalar, out: BoolDType) -> Ghost
            = Ghost::alloc(lhs.shape(), out.into());
            for float_equal_elem, float_not_equal_elem, float_greater_elem,
                float_greater_equal_elem, float_lower_elem, float_lower_equal_elem;
        fn (tensor: Ghost, out: BoolDType) -> Ghost = map(tensor, out.into());
            for float_is_nan, float_is_inf;
        fn (tensor: Ghost, out: BoolDType) -> Ghost = reduce(tensor, out.into());
            for float_any, float_all;
        fn (tensor: Ghost, dim: usize, out: BoolDType) -> Ghost
            = kernels::extremum_dim(tensor, dim, out.into());
            for float_any_dim, float_all_dim;
        fn (tensor: Ghost) -> Ghost = { let dtype = tensor.dtype(); reduce(tensor, dtype) };
            for float_sum, float_mean, float_prod, float_max, float_min, float_max_abs;
        fn (tensor: Ghost, dim: usize) -> Ghost = {
            let dtype = tensor.dtype();
            reduce_dim(tensor, dim, dtype)
        };
            for float_sum_dim, float_mean_dim, float_prod_dim;
        fn (tensor: Ghost, dim: usize) -> Ghost = {
            let dtype = tensor.dtype();
            kernels::extremum_dim(tensor, dim, dtype)
        };
            for float_max_dim, float_min_dim;
        fn (tensor: Ghost, dim: usize, out: IntDType) -> (Ghost, Ghost) = {
            let dtype = tensor.dtype();
            let found = kernels::extremum_dim(tensor.clone(), dim, DType::I64);
            (kernels::extremum_dim(tensor, dim, dtype), cast(found, out.into()))
        };
            for float_max_dim_with_indices, float_min_dim_with_indices;
        fn (tensor: Ghost, dim: usize, out: IntDType) -> Ghost
            = cast(kernels::extremum_dim(tensor, dim, DType::I64), out.into());
            for float_argmax, float_argmin;
        fn (tensor: Ghost, _dim: usize) -> Ghost = kernels::cumulate(tensor);
            for float_cumsum, float_cumprod, float_cummin, float_cummax;
        fn (shape: Shape, _device: &GhostDevice, dtype: FloatDType) -> Ghost
            = Ghost::alloc_aligned(shape, dtype.into());
            for float_empty, float_zeros;
    }

    fn float_from_data(data: TensorData, _device: &GhostDevice) -> Ghost {
        Ghost::alloc(data.shape().clone(), data.dtype())
    }

    fn float_random(
        shape: Shape,
        _distribution: Distribution,
        _device: &GhostDevice,
        dtype: FloatDType,
    ) -> Ghost {
        Ghost::alloc(shape, dtype.into())
    }

    fn float_ones(shape: Shape, _device: &GhostDevice, dtype: FloatDType) -> Ghost {
        Ghost::alloc(shape, dtype.into())
    }

    fn float_full(shape: Shape, _value: Scalar, _device: &GhostDevice, dtype: FloatDType) -> Ghost {
        Ghost::alloc(shape, dtype.into())
    }

    async fn float_into_data(_tensor: Ghost) -> Result<TensorData, ExecutionError> {
        no_values()
    }

    fn float_to_device(tensor: Ghost, _device: &GhostDevice) -> Ghost {
        tensor
    }

    fn float_into_int(tensor: Ghost, out: IntDType) -> Ghost {
        map(tensor, out.into())
    }

    fn float_cast(tensor: Ghost, dtype: FloatDType) -> Ghost {
        cast(tensor, dtype.into())
    }

    fn float_clamp(tensor: Ghost, _min: Scalar, _max: Scalar) -> Ghost {
        unary(tensor)
    }

    fn float_powi(lhs: Ghost, rhs: Ghost) -> Ghost {
        let dtype = lhs.dtype();
        binary(lhs, map(rhs, dtype), false)
    }

    fn float_powi_scalar(lhs: Ghost, rhs: Scalar) -> Ghost {
        match rhs.try_as_integer().map(|rhs| rhs.elem::<i64>()) {
            Some(0) => Ghost::alloc(lhs.shape(), lhs.dtype()),
            Some(1) => lhs,
            Some(2) => Self::float_mul(lhs.clone(), lhs),
            Some(-1) => unary(lhs),
            Some(-2) => unary(Self::float_mul(lhs.clone(), lhs)),
            _ => scalar(lhs),
        }
    }

    fn float_powf_scalar(tensor: Ghost, value: Scalar) -> Ghost {
        Self::float_powi_scalar(tensor, value)
    }

    fn float_matmul(lhs: Ghost, rhs: Ghost) -> Ghost {
        kernels::matmul(lhs, rhs)
    }

    fn float_cross(lhs: Ghost, rhs: Ghost, dim: usize) -> Ghost {
        let part = |of: &Ghost, at: isize| {
            let mut slices = vec![Slice::new(0, None, 1); of.dims().len()];
            slices[dim] = Slice::new(at, Some(at + 1), 1);
            Self::float_slice(of.clone(), &slices)
        };
        let difference = |one, other| {
            Self::float_sub(
                Self::float_mul(part(&lhs, one), part(&rhs, other)),
                Self::float_mul(part(&lhs, other), part(&rhs, one)),
            )
        };
        let parts = vec![difference(1, 2), difference(2, 0), difference(0, 1)];
        kernels::cat(parts, dim)
    }

    fn float_swap_dims(tensor: Ghost, dim1: usize, dim2: usize) -> Ghost {
        let layout = tensor.layout().transpose(dim1, dim2);
        tensor.view(layout)
    }

    fn float_permute(tensor: Ghost, axes: &[usize]) -> Ghost {
        let layout = tensor.layout().permute(axes);
        tensor.view(layout)
    }

    fn float_flip(tensor: Ghost, axes: &[usize]) -> Ghost {
        let layout = tensor.layout().flip(axes);
        tensor.view(layout)
    }

    fn float_reshape(tensor: Ghost, shape: Shape) -> Ghost {
        tensor.reshape(shape)
    }

    fn float_expand(tensor: Ghost, shape: Shape) -> Ghost {
        tensor.expand(shape)
    }

    fn float_unfold(tensor: Ghost, dim: usize, size: usize, step: usize) -> Ghost {
        tensor.unfold(dim, size, step)
    }

    fn float_slice(tensor: Ghost, slices: &[Slice]) -> Ghost {
        let (layout, _) = tensor.layout().slice(slices);
        tensor.view(layout)
    }

    fn float_slice_assign(tensor: Ghost, _slices: &[Slice], value: Ghost) -> Ghost {
        kernels::slice_assign(tensor, value)
    }

    fn float_gather(_dim: usize, tensor: Ghost, indices: Ghost) -> Ghost {
        let shape = indices.shape();
        kernels::choose(tensor, indices, shape)
    }

    fn float_gather_nd(data: Ghost, indices: Ghost) -> Ghost {
        let shape = kernels::gathered(&data, &indices);
        kernels::choose(data, indices, shape)
    }

    fn float_select(tensor: Ghost, dim: usize, indices: Ghost) -> Ghost {
        let shape = kernels::selected(&tensor, dim, &indices);
        kernels::choose(tensor, indices, shape)
    }

    fn float_scatter(
        _dim: usize,
        tensor: Ghost,
        indices: Ghost,
        value: Ghost,
        _update: IndexingUpdateOp,
    ) -> Ghost {
        kernels::scatter(tensor, indices, value)
    }

    fn float_scatter_nd(
        data: Ghost,
        indices: Ghost,
        values: Ghost,
        _reduction: IndexingUpdateOp,
    ) -> Ghost {
        kernels::scatter_nd(data, indices, values)
    }

    fn float_select_assign(
        tensor: Ghost,
        _dim: usize,
        indices: Ghost,
        value: Ghost,
        _update: IndexingUpdateOp,
    ) -> Ghost {
        kernels::scatter(tensor, indices, value)
    }

    fn float_mask_where(tensor: Ghost, mask: Ghost, value: Ghost) -> Ghost {
        kernels::mask_where(tensor, mask, value)
    }

    fn float_mask_fill(tensor: Ghost, mask: Ghost, _value: Scalar) -> Ghost {
        kernels::mask_fill(tensor, mask)
    }

    fn float_cat(tensors: Vec<Ghost>, dim: usize) -> Ghost {
        kernels::cat(tensors, dim)
    }

    fn float_repeat_dim(tensor: Ghost, dim: usize, times: usize) -> Ghost {
        kernels::repeat_dim(tensor, dim, times)
    }

    fn float_max_abs_dim(tensor: Ghost, dim: usize) -> Ghost {
        Self::float_max_dim(unary(tensor), dim)
    }

    fn float_sort(tensor: Ghost, _dim: usize, _descending: bool) -> Ghost {
        kernels::sort(tensor)
    }

    fn float_sort_with_indices(
        tensor: Ghost,
        _dim: usize,
        _descending: bool,
        out: IntDType,
    ) -> (Ghost, Ghost) {
        let places = kernels::argsort(tensor.clone());
        (kernels::sort(tensor), Self::int_cast(places, out))
    }

    fn float_argsort(tensor: Ghost, _dim: usize, _descending: bool, out: IntDType) -> Ghost {
        Self::int_cast(kernels::argsort(tensor), out)
    }

    fn float_grid_sample_2d(tensor: Ghost, grid: Ghost, _options: GridSampleOptions) -> Ghost {
        let _contiguous = (tensor.to_contiguous(), grid.to_contiguous());
        let (of, at) = (tensor.dims(), grid.dims());
        Ghost::alloc(
            Shape::from(vec![of[0], of[1], at[1], at[2]]),
            tensor.dtype(),
        )
    }
}
