//! What flex's kernels of whole layers allocate. As in `kernels`, each follows the one of that name
//! in burn-flex.

use burn::backend::TensorMetadata;
use burn::backend::ops::conv::{
    calculate_conv_output_size, calculate_conv_transpose_output_size, calculate_pool_output_size,
};
use burn::backend::ops::{ConvOptions, ConvTransposeOptions};
use burn::tensor::{DType, Shape};

use super::ghost::{Ghost, Held, is_by_f32};
use super::kernels::cast;

/// A kernel that flex has for `f32` only, between two conversions.
pub(super) fn in_f32<const N: usize>(
    operands: [Option<Ghost>; N],
    kernel: impl FnOnce([Option<Ghost>; N]) -> Ghost,
) -> Ghost {
    let dtype = operands[0].as_ref().map_or(DType::F32, Ghost::dtype);
    let wide = operands.each_ref().map(|operand| {
        let operand = operand.as_ref()?;
        Some(cast(operand.clone(), DType::F32))
    });
    let out = kernel(wide);
    cast(out, dtype)
}

/// A convolution of one or two dimensions is one of three.
pub(super) fn in_3d(tensor: &Ghost, dims: usize) -> Ghost {
    let mut shape = tensor.shape().to_vec();
    for _ in dims..3 {
        shape.insert(2, 1);
    }
    tensor.clone().reshape(Shape::from(shape))
}

/// Back from three dimensions.
pub(super) fn out_of_3d(tensor: Ghost, dims: usize) -> Ghost {
    let mut shape = tensor.shape().to_vec();
    shape.drain(2..2 + 3 - dims);
    tensor.reshape(Shape::from(shape))
}

/// The value of the missing dimensions, then of those there are.
fn spread<const N: usize>(values: [usize; N], missing: usize) -> [usize; 3] {
    let mut spread = [missing; 3];
    spread[3 - N..].copy_from_slice(&values);
    spread
}

pub(super) fn conv_options<const N: usize>(options: &ConvOptions<N>) -> ConvOptions<3> {
    ConvOptions::new(
        spread(options.stride, 1),
        spread(options.padding_begin(), 0),
        spread(options.dilation, 1),
        options.groups,
    )
}

pub(super) fn conv_transpose_options<const N: usize>(
    options: &ConvTransposeOptions<N>,
) -> ConvTransposeOptions<3> {
    ConvTransposeOptions::new(
        spread(options.stride, 1),
        spread(options.padding, 0),
        spread(options.padding_out, 0),
        spread(options.dilation, 1),
        options.groups,
    )
}

/// How many jobs run at once, of so many.
fn at_once(jobs: usize) -> usize {
    jobs.min(rayon::current_num_threads()).max(1)
}

pub(super) fn conv3d(
    x: Ghost,
    weight: Ghost,
    bias: Option<Ghost>,
    options: &ConvOptions<3>,
) -> Ghost {
    if is_by_f32(x.dtype(), &[DType::BF16]) {
        return in_f32([Some(x), Some(weight), bias], |[x, weight, bias]| {
            let (x, weight) = x.zip(weight).expect("both were given");
            conv3d(x, weight, bias, options)
        });
    }
    let (in_shape, kernel) = (x.dims().to_vec(), weight.dims().to_vec());
    let padding = options.padding_begin();
    let size = |dim: usize| {
        calculate_conv_output_size(
            kernel[dim + 2],
            options.stride[dim],
            padding[dim],
            options.dilation[dim],
            in_shape[dim + 2],
        )
    };
    let out_shape = Shape::from(vec![in_shape[0], kernel[0], size(0), size(1), size(2)]);
    let (x, weight) = (x.to_contiguous(), weight.to_contiguous());
    let bytes = x.dtype().size();
    if is_direct(&in_shape, &kernel, options, size(2)) {
        return Ghost::alloc(out_shape, x.dtype());
    }
    // Tiles of the input as columns, beside input and kernel with their channels last.
    const TILE: usize = 512;
    let spatial: usize = out_shape[2..].iter().product();
    let columns: usize = kernel[1..].iter().product();
    let _kernel = Held::new(weight.bytes());
    let _channels_last = Held::new(x.bytes());
    let out = Ghost::alloc(out_shape, x.dtype());
    let tile = TILE.min(spatial);
    let each = (columns * tile + kernel[0] / options.groups * tile) * bytes;
    drop(Held::new(
        at_once(in_shape[0] * spatial.div_ceil(TILE)) * each,
    ));
    drop(bias);
    out
}

/// Whether flex reads the input as it is: kernels of one element, one channel a group, few channels,
/// or few places of many channels.
fn is_direct(
    in_shape: &[usize],
    kernel: &[usize],
    options: &ConvOptions<3>,
    out_width: usize,
) -> bool {
    let padding = options.padding_begin();
    let (channels_in, channels_out) = (in_shape[1], kernel[0]);
    if kernel[2..] == [1, 1, 1] && options.stride == [1, 1, 1] && padding == [0, 0, 0] {
        return true;
    }
    let is_flat = kernel[2] == 1
        && in_shape[2] == 1
        && (options.stride[0], padding[0], options.dilation[0]) == (1, 0, 1);
    let is_depthwise =
        kernel[1] == 1 && options.groups == channels_in && channels_out == channels_in;
    let is_small = options.groups == 1 && channels_in <= 4 && channels_out <= 16;
    if is_flat && (is_depthwise || is_small) {
        return true;
    }
    options.groups == 1
        && padding == [0, 0, 0]
        && options.dilation == [1, 1, 1]
        && kernel[2..4] == [1, 1]
        && in_shape[2..4] == [1, 1]
        && channels_in >= 32
        && kernel[4] <= 8
        && out_width <= 800
}

pub(super) fn conv_transpose3d(
    x: Ghost,
    weight: Ghost,
    bias: Option<Ghost>,
    options: &ConvTransposeOptions<3>,
) -> Ghost {
    if is_by_f32(x.dtype(), &[DType::BF16]) {
        return in_f32([Some(x), Some(weight), bias], |[x, weight, bias]| {
            let (x, weight) = x.zip(weight).expect("both were given");
            conv_transpose3d(x, weight, bias, options)
        });
    }
    const COLUMNS: usize = 8 << 20;
    const PARALLEL: usize = 256 * 1024;
    let (in_shape, kernel) = (x.dims().to_vec(), weight.dims().to_vec());
    let size = |dim: usize| {
        calculate_conv_transpose_output_size(
            kernel[dim + 2],
            options.stride[dim],
            options.padding[dim],
            options.padding_out[dim],
            options.dilation[dim],
            in_shape[dim + 2],
        )
    };
    let channels = kernel[1] * options.groups;
    let out_shape = Shape::from(vec![in_shape[0], channels, size(0), size(1), size(2)]);
    let (x, weight) = (x.to_contiguous(), weight.to_contiguous());
    let out = Ghost::alloc(out_shape, x.dtype());
    let places: usize = in_shape[2..].iter().product();
    let column = kernel[1..].iter().product::<usize>() * x.dtype().size();
    let columns = match column * places {
        all if all <= COLUMNS => all,
        _ => column * (COLUMNS / column.max(1)).clamp(1, places.max(1)),
    };
    let groups = in_shape[0] * options.groups;
    let at_once = match groups > 1 && out.elements() >= PARALLEL {
        true => at_once(groups),
        false => 1,
    };
    drop(Held::new(at_once * columns));
    drop((weight, bias));
    out
}

/// A pooling of planes; `sizes` are those of the result.
pub(super) fn pool<const N: usize>(x: Ghost, sizes: [usize; N]) -> Ghost {
    if is_by_f32(x.dtype(), &[DType::BF16]) {
        return in_f32([Some(x)], |[x]| pool(x.expect("it was given"), sizes));
    }
    let contiguous = x.to_contiguous();
    Ghost::alloc(pooled(&contiguous, sizes), x.dtype())
}

fn pooled<const N: usize>(x: &Ghost, sizes: [usize; N]) -> Shape {
    let mut shape = x.shape();
    let rank = shape.num_dims();
    for (dim, size) in sizes.into_iter().enumerate() {
        shape[rank - N + dim] = size;
    }
    shape
}

/// The same, and where each result comes from, in 64 bits.
pub(super) fn pool_with_places(x: Ghost, sizes: [usize; 2]) -> (Ghost, Ghost) {
    if is_by_f32(x.dtype(), &[DType::BF16]) {
        let (out, places) = pool_with_places(cast(x.clone(), DType::F32), sizes);
        return (cast(out, x.dtype()), places);
    }
    let contiguous = x.to_contiguous();
    let shape = pooled(&contiguous, sizes);
    let places = Ghost::alloc(shape.clone(), DType::I64);
    (Ghost::alloc(shape, x.dtype()), places)
}

pub(super) fn pool_sizes(
    x: &Ghost,
    kernel_size: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    dilation: [usize; 2],
    ceil_mode: bool,
) -> [usize; 2] {
    std::array::from_fn(|dim| {
        calculate_pool_output_size(
            kernel_size[dim],
            stride[dim],
            padding[dim],
            dilation[dim],
            x.dims()[2 + dim],
            ceil_mode,
        )
    })
}

/// The gradient of a pooling or an interpolation: one element for each of the input.
pub(super) fn unpool(x: Ghost, gradient: Ghost, at: Option<Ghost>) -> Ghost {
    if is_by_f32(x.dtype(), &[DType::BF16]) {
        return in_f32([Some(x), Some(gradient)], |[x, gradient]| {
            let (x, gradient) = x.zip(gradient).expect("both were given");
            unpool(x, gradient, at)
        });
    }
    let shape = x.shape();
    let _gradient = gradient.to_contiguous();
    let _at = at.map(|at| at.to_contiguous());
    Ghost::alloc(shape, x.dtype())
}

pub(super) fn attention(
    query: Ghost,
    key: Ghost,
    value: Ghost,
    mask: Option<Ghost>,
    bias: Option<Ghost>,
) -> Ghost {
    if is_by_f32(query.dtype(), &[DType::F16, DType::BF16]) {
        // The operands go with their conversions.
        let dtype = query.dtype();
        let [query, key, value] = [query, key, value].map(|one| cast(one, DType::F32));
        let bias = bias.map(|bias| cast(bias, DType::F32));
        return cast(attention(query, key, value, mask, bias), dtype);
    }
    /// Up to this many scores a head, all of them are held.
    const ALL_SCORES: usize = 256 * 1024;
    const TILE: usize = 64;
    const PARALLEL: usize = 256 * 1024;
    let (queries, keys) = (query.dims()[2], key.dims()[2]);
    let depth = query.dims()[3] + value.dims()[3];
    let heads = query.dims()[0] * query.dims()[1];
    let spread_out = |ghost: Ghost| match ghost.dims()[2..] == [queries, keys] {
        true => ghost.to_contiguous(),
        false => {
            let shape = vec![query.dims()[0], query.dims()[1], queries, keys];
            ghost.expand(Shape::from(shape)).to_contiguous()
        }
    };
    let _contiguous = [&query, &key, &value].map(Ghost::to_contiguous);
    let _mask = mask.map(spread_out);
    let _bias = bias.map(spread_out);
    let mut shape = query.shape();
    shape[3] = value.dims()[3];
    let out = Ghost::alloc(shape, query.dtype());
    let scores = match queries * keys <= ALL_SCORES {
        true => queries * keys,
        false => queries * (TILE + 2),
    };
    let work = heads * queries * keys * depth;
    let at_once = match heads > 1 && work >= PARALLEL {
        true => at_once(heads),
        false => 1,
    };
    drop(Held::new(
        at_once
            .saturating_mul(scores)
            .saturating_mul(query.dtype().size()),
    ));
    out
}

pub(super) fn softmax(tensor: Ghost, dim: usize) -> Ghost {
    let last = tensor.dims().len() - 1;
    let swapped = tensor.layout().transpose(dim, last);
    let tensor = tensor.view(swapped);
    let contiguous = tensor.to_contiguous();
    let out = Ghost::alloc(contiguous.shape(), tensor.dtype());
    let back = out.layout().transpose(dim, last);
    out.view(back)
}

pub(super) fn layer_norm(tensor: Ghost, gamma: Ghost, beta: Option<Ghost>) -> Ghost {
    if is_by_f32(tensor.dtype(), &[DType::F16, DType::BF16]) {
        return in_f32(
            [Some(tensor), Some(gamma), beta],
            |[tensor, gamma, beta]| {
                let (tensor, gamma) = tensor.zip(gamma).expect("both were given");
                layer_norm(tensor, gamma, beta)
            },
        );
    }
    let contiguous = tensor.to_contiguous();
    drop((gamma, beta));
    Ghost::alloc(contiguous.shape(), tensor.dtype())
}
