//! What flex's kernels allocate: which result goes where, and what they need besides.
//!
//! Each follows the one of the same name in burn-flex, and holds its operands as long as that does.

use burn::backend::TensorMetadata;
use burn::tensor::{DType, Shape};
use burn_flex::Layout;

use super::ghost::{Ghost, Held, is_by_f32};

/// Both operands in their common shape.
pub(super) fn broadcast(lhs: Ghost, rhs: Ghost) -> (Ghost, Ghost) {
    let shape = common_shape(&lhs, &rhs);
    let expand = |ghost: Ghost| match ghost.layout().shape() == &shape {
        true => ghost,
        false => ghost.expand(shape.clone()),
    };
    (expand(lhs), expand(rhs))
}

fn common_shape(lhs: &Ghost, rhs: &Ghost) -> Shape {
    let rank = lhs.dims().len().max(rhs.dims().len());
    let size = |ghost: &Ghost, dim: usize| {
        let own = (dim + ghost.dims().len()).checked_sub(rank);
        own.map_or(1, |own| ghost.dims()[own])
    };
    let sizes = (0..rank).map(|dim| match size(lhs, dim) {
        1 => size(rhs, dim),
        own => own,
    });
    Shape::from(sizes.collect::<Vec<_>>())
}

/// Elementwise over two operands; `simd` where flex has a kernel that also writes to the second.
pub(super) fn binary(lhs: Ghost, rhs: Ghost, simd: bool) -> Ghost {
    let (lhs, rhs) = broadcast(lhs, rhs);
    if lhs.is_unique() && lhs.starts_at_zero() && rhs.is_contiguous() {
        return lhs;
    }
    let simd = simd && lhs.dtype() == DType::F32;
    if simd && rhs.is_unique() && rhs.starts_at_zero() && lhs.is_contiguous() {
        return rhs;
    }
    if lhs.is_unique() && walks_densely(lhs.layout(), rhs.layout()) {
        return lhs;
    }
    if rhs.is_unique() && walks_densely(rhs.layout(), lhs.layout()) {
        return rhs;
    }
    Ghost::alloc(lhs.shape(), lhs.dtype())
}

/// Whether a loop nest over both, its dimensions merged where both allow, walks the first from zero
/// without a gap (`zip::collapse_for_zip`).
fn walks_densely(first: &Layout, second: &Layout) -> bool {
    const MAX_RANK: usize = 8;
    let mut strides = first.strides().iter().chain(second.strides());
    if first.num_dims() > MAX_RANK || strides.any(|&stride| stride < 0) {
        return false;
    }
    let mut nest: Vec<(usize, isize, isize)> = Vec::new();
    for dim in 0..first.num_dims() {
        let size = first.shape()[dim];
        if size == 1 {
            continue;
        }
        let (one, other) = (first.strides()[dim], second.strides()[dim]);
        match nest.last_mut() {
            Some(outer) if outer.1 == size as isize * one && outer.2 == size as isize * other => {
                *outer = (outer.0 * size, one, other);
            }
            _ => nest.push((size, one, other)),
        }
    }
    let mut expected = 1;
    let dense = nest.iter().rev().all(|&(size, stride, _)| {
        let fits = stride == expected;
        expected *= size as isize;
        fits
    });
    dense && first.start_offset() == 0
}

/// Elementwise over one.
pub(super) fn unary(tensor: Ghost) -> Ghost {
    if tensor.is_unique() && tensor.starts_at_zero() {
        return tensor;
    }
    let layout = tensor.layout().clone();
    let is_flipped = layout.strides().iter().any(|&stride| stride < 0);
    if !is_flipped && layout.start_offset() == 0 && tensor.covers_memory() {
        return Ghost::alloc_like(layout, tensor.dtype());
    }
    Ghost::alloc(tensor.shape(), tensor.dtype())
}

/// Elementwise with a number.
pub(super) fn scalar(tensor: Ghost) -> Ghost {
    if tensor.is_unique() && tensor.starts_at_zero() {
        return tensor;
    }
    Ghost::alloc(tensor.shape(), tensor.dtype())
}

pub(super) fn compare(lhs: Ghost, rhs: Ghost, out: DType) -> Ghost {
    let (lhs, _rhs) = broadcast(lhs, rhs);
    Ghost::alloc(lhs.shape(), out)
}

/// A new tensor for each element, read in order.
pub(super) fn map(tensor: Ghost, out: DType) -> Ghost {
    let contiguous = tensor.to_contiguous();
    Ghost::alloc(contiguous.shape(), out)
}

pub(super) fn cast(tensor: Ghost, out: DType) -> Ghost {
    if tensor.dtype() == out {
        return tensor;
    }
    map(tensor, out)
}

pub(super) fn mask_fill(tensor: Ghost, mask: Ghost) -> Ghost {
    let (tensor, _mask) = broadcast(tensor, mask);
    if tensor.is_dense_and_unique() {
        return tensor;
    }
    Ghost::alloc(tensor.shape(), tensor.dtype())
}

pub(super) fn mask_where(tensor: Ghost, mask: Ghost, value: Ghost) -> Ghost {
    let (tensor, mask) = broadcast(tensor, mask);
    let (tensor, value) = broadcast(tensor, value);
    let (_mask, value) = broadcast(mask, value);
    if tensor.is_dense_and_unique() {
        return tensor;
    }
    if value.dtype() == tensor.dtype() && value.is_dense_and_unique() {
        return value;
    }
    Ghost::alloc(tensor.shape(), tensor.dtype())
}

/// A sum of all, or the like.
pub(super) fn reduce(tensor: Ghost, out: DType) -> Ghost {
    drop(tensor);
    Ghost::alloc(Shape::from(vec![1]), out)
}

fn reduced_shape(tensor: &Ghost, dim: usize) -> Shape {
    let mut shape = tensor.shape();
    shape[dim] = 1;
    shape
}

/// A sum along a dimension, or the like: strides are enough where at most one dimension is on either
/// side.
pub(super) fn reduce_dim(tensor: Ghost, dim: usize, out: DType) -> Ghost {
    let (outer, inner) = (dim, tensor.dims().len() - dim - 1);
    let copies = !tensor.is_contiguous() && (outer > 1 || inner > 1);
    let _copy = copies.then(|| tensor.to_contiguous());
    Ghost::alloc(reduced_shape(&tensor, dim), out)
}

/// The largest along a dimension, or its place.
pub(super) fn extremum_dim(tensor: Ghost, dim: usize, out: DType) -> Ghost {
    let _contiguous = tensor.to_contiguous();
    Ghost::alloc(reduced_shape(&tensor, dim), out)
}

pub(super) fn cat(tensors: Vec<Ghost>, dim: usize) -> Ghost {
    let mut shape = tensors[0].shape();
    shape[dim] = tensors.iter().map(|tensor| tensor.dims()[dim]).sum();
    let out = Ghost::alloc(shape, tensors[0].dtype());
    let in_order = dim == 0 && tensors.iter().all(Ghost::is_contiguous);
    let _copies: Vec<Ghost> = match in_order {
        true => Vec::new(),
        false => tensors
            .into_iter()
            .map(|tensor| tensor.to_contiguous())
            .collect(),
    };
    out
}

pub(super) fn repeat_dim(tensor: Ghost, dim: usize, times: usize) -> Ghost {
    if times == 1 {
        return tensor;
    }
    let mut shape = tensor.shape();
    shape[dim] *= times;
    let _contiguous = tensor.to_contiguous();
    Ghost::alloc_aligned(shape, tensor.dtype())
}

pub(super) fn slice_assign(tensor: Ghost, value: Ghost) -> Ghost {
    let is_one_value = value.layout().strides().iter().all(|&stride| stride == 0);
    let _value = match is_one_value {
        true => None,
        false => Some(value.to_contiguous()),
    };
    write(if tensor.is_unique() && tensor.starts_at_zero() {
        tensor
    } else {
        tensor.into_contiguous()
    })
}

/// Memory to write to: a copy of what is shared.
fn write(tensor: Ghost) -> Ghost {
    match tensor.is_unique() {
        true => tensor,
        false => Ghost::alloc(tensor.shape(), tensor.dtype()),
    }
}

/// Indices in the machine's own width: a copy of all others.
fn indices(indices: &Ghost) -> Held {
    let is_native = indices.dtype() == DType::I64;
    Held::new(if is_native {
        0
    } else {
        indices.elements().saturating_mul(8)
    })
}

/// `gather`, `select` and `gather_nd`.
pub(super) fn choose(tensor: Ghost, at: Ghost, shape: Shape) -> Ghost {
    let _tensor = tensor.to_contiguous();
    let contiguous = at.to_contiguous();
    let _indices = indices(&contiguous);
    Ghost::alloc(shape, tensor.dtype())
}

/// `scatter` and `select_assign`.
pub(super) fn scatter(tensor: Ghost, at: Ghost, value: Ghost) -> Ghost {
    let contiguous = at.to_contiguous();
    let _value = value.to_contiguous();
    let _indices = indices(&contiguous);
    if tensor.is_dense_and_unique() {
        return tensor;
    }
    let _copy = (!tensor.is_contiguous()).then(|| tensor.to_contiguous());
    Ghost::alloc(tensor.shape(), tensor.dtype())
}

/// A copy in order of elements, sorted in place.
pub(super) fn sort(tensor: Ghost) -> Ghost {
    let _contiguous = tensor.to_contiguous();
    Ghost::alloc(tensor.shape(), tensor.dtype())
}

pub(super) fn argsort(tensor: Ghost) -> Ghost {
    let _contiguous = tensor.to_contiguous();
    Ghost::alloc(tensor.shape(), DType::I64)
}

/// A running sum, or the like.
pub(super) fn cumulate(tensor: Ghost) -> Ghost {
    let _contiguous = tensor.to_contiguous();
    Ghost::alloc(tensor.shape(), tensor.dtype())
}

pub(super) fn matmul(lhs: Ghost, rhs: Ghost) -> Ghost {
    let out = product_shape(&lhs, &rhs);
    if !is_by_f32(lhs.dtype(), &[DType::BF16]) {
        return Ghost::alloc_aligned(out, lhs.dtype());
    }
    let _left = (
        lhs.to_contiguous(),
        Held::new(lhs.elements().saturating_mul(4)),
    );
    let _right = (
        rhs.to_contiguous(),
        Held::new(rhs.elements().saturating_mul(4)),
    );
    let wide = Ghost::alloc_aligned(out, DType::F32);
    Ghost::alloc(wide.shape(), lhs.dtype())
}

pub(super) fn int_matmul(lhs: Ghost, rhs: Ghost) -> Ghost {
    let _contiguous = (lhs.to_contiguous(), rhs.to_contiguous());
    let _transposed = Held::new(rhs.bytes());
    Ghost::alloc(product_shape(&lhs, &rhs), lhs.dtype())
}

fn product_shape(lhs: &Ghost, rhs: &Ghost) -> Shape {
    let batch = |ghost: &Ghost| {
        let dims = ghost.dims();
        Shape::from(dims[..dims.len() - 2].to_vec())
    };
    let (left, right) = (batch(lhs), batch(rhs));
    let rank = left.num_dims().max(right.num_dims());
    let size = |shape: &Shape, dim: usize| {
        let own = (dim + shape.num_dims()).checked_sub(rank);
        own.map_or(1, |own| shape[own])
    };
    let mut out: Vec<usize> = (0..rank)
        .map(|dim| size(&left, dim).max(size(&right, dim)))
        .collect();
    out.push(lhs.dims()[lhs.dims().len() - 2]);
    out.push(rhs.dims()[rhs.dims().len() - 1]);
    Shape::from(out)
}

/// The shape of `select`'s result.
pub(super) fn selected(tensor: &Ghost, dim: usize, at: &Ghost) -> Shape {
    let mut shape = tensor.shape();
    shape[dim] = at.elements();
    shape
}

/// The shape of `gather_nd`'s result: the indices' without their last dimension, then what one of
/// them chooses.
pub(super) fn gathered(data: &Ghost, at: &Ghost) -> Shape {
    let (last, batch) = at.dims().split_last().expect("indices have a dimension");
    let shape = batch.iter().chain(&data.dims()[*last..]);
    Shape::from(shape.copied().collect::<Vec<_>>())
}

/// Always into a copy.
pub(super) fn scatter_nd(data: Ghost, at: Ghost, values: Ghost) -> Ghost {
    let contiguous = at.to_contiguous();
    let _copies = (data.to_contiguous(), values.to_contiguous());
    let _indices = indices(&contiguous);
    Ghost::alloc(data.shape(), data.dtype())
}
