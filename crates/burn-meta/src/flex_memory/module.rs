//! Flex's operations for whole layers.

use burn::backend::ops::{
    ActivationOps, AttentionModuleOptions, ConvOptions, ConvTransposeOptions, DeformConv2dBackward,
    DeformConvOptions, InterpolateOptions, MaxPool2dBackward, MaxPool2dWithIndices, ModuleOps,
    conv::pad_asymmetric_conv_input,
};
use burn::backend::{Scalar, TensorMetadata};
use burn::tensor::{IndexingUpdateOp, IntDType, Shape};

use burn::backend::ops::{FloatTensorOps, IntTensorOps};

use super::backend::GhostFlex;
use super::ghost::{Ghost, GhostDevice, Held};
use super::kernels::{binary, cast, unary};
use super::layers::{self, in_3d, out_of_3d};

impl ActivationOps<Self> for GhostFlex {
    each! {
        fn (tensor: Ghost) -> Ghost = unary(tensor);
            for relu, gelu, sigmoid, log_sigmoid;
        fn (one: Ghost, other: Ghost) -> Ghost = binary(one, other, false);
            for relu_backward, gelu_backward, sigmoid_backward, log_sigmoid_backward, prelu;
    }

    fn leaky_relu(tensor: Ghost, _slope: Scalar) -> Ghost {
        unary(tensor)
    }

    fn hard_sigmoid(tensor: Ghost, _alpha: Scalar, _beta: Scalar) -> Ghost {
        unary(tensor)
    }

    fn softmax(tensor: Ghost, dim: usize) -> Ghost {
        layers::softmax(tensor, dim)
    }
}

fn conv<const N: usize>(
    x: Ghost,
    weight: Ghost,
    bias: Option<Ghost>,
    options: ConvOptions<N>,
) -> Ghost {
    let (x, options) = pad_asymmetric_conv_input::<GhostFlex, N>(x, options);
    let (flat, kernel) = (in_3d(&x, N), in_3d(&weight, N));
    let out = layers::conv3d(flat, kernel, bias, &layers::conv_options(&options));
    out_of_3d(out, N)
}

fn conv_transpose<const N: usize>(
    x: Ghost,
    weight: Ghost,
    bias: Option<Ghost>,
    options: ConvTransposeOptions<N>,
) -> Ghost {
    let (flat, kernel) = (in_3d(&x, N), in_3d(&weight, N));
    let options = layers::conv_transpose_options(&options);
    let out = layers::conv_transpose3d(flat, kernel, bias, &options);
    out_of_3d(out, N)
}

impl ModuleOps<Self> for GhostFlex {
    fn conv1d(x: Ghost, weight: Ghost, bias: Option<Ghost>, options: ConvOptions<1>) -> Ghost {
        conv(x, weight, bias, options)
    }

    fn conv2d(x: Ghost, weight: Ghost, bias: Option<Ghost>, options: ConvOptions<2>) -> Ghost {
        conv(x, weight, bias, options)
    }

    fn conv3d(x: Ghost, weight: Ghost, bias: Option<Ghost>, options: ConvOptions<3>) -> Ghost {
        conv(x, weight, bias, options)
    }

    fn conv_transpose1d(
        x: Ghost,
        weight: Ghost,
        bias: Option<Ghost>,
        options: ConvTransposeOptions<1>,
    ) -> Ghost {
        conv_transpose(x, weight, bias, options)
    }

    fn conv_transpose2d(
        x: Ghost,
        weight: Ghost,
        bias: Option<Ghost>,
        options: ConvTransposeOptions<2>,
    ) -> Ghost {
        conv_transpose(x, weight, bias, options)
    }

    fn conv_transpose3d(
        x: Ghost,
        weight: Ghost,
        bias: Option<Ghost>,
        options: ConvTransposeOptions<3>,
    ) -> Ghost {
        conv_transpose(x, weight, bias, options)
    }

    fn deform_conv2d(
        x: Ghost,
        offset: Ghost,
        weight: Ghost,
        mask: Option<Ghost>,
        _bias: Option<Ghost>,
        _options: DeformConvOptions<2>,
    ) -> Ghost {
        let _copies = [&x, &offset, &weight].map(Ghost::to_contiguous);
        let _mask = mask.map(|mask| mask.to_contiguous());
        let (at, kernel) = (offset.dims(), weight.dims());
        let shape = Shape::from(vec![x.dims()[0], kernel[0], at[2], at[3]]);
        let _kernel = Held::new(weight.bytes());
        // Each image's columns and result, then all results in one.
        let columns = kernel[1..].iter().product::<usize>() * at[2] * at[3] * x.dtype().size();
        drop(Held::new(
            columns * x.dims()[0].min(rayon::current_num_threads()),
        ));
        let _results = Ghost::alloc(shape.clone(), x.dtype());
        Ghost::alloc(shape, x.dtype())
    }

    fn deform_conv2d_backward(
        x: Ghost,
        offset: Ghost,
        weight: Ghost,
        mask: Option<Ghost>,
        bias: Option<Ghost>,
        output_grad: Ghost,
        _options: DeformConvOptions<2>,
    ) -> DeformConv2dBackward<Self> {
        let _copies = [&x, &offset, &weight, &output_grad].map(Ghost::to_contiguous);
        let _mask = mask.as_ref().map(Ghost::to_contiguous);
        let like = |of: &Ghost| Ghost::alloc(of.shape(), of.dtype());
        DeformConv2dBackward::new(
            like(&x),
            like(&offset),
            like(&weight),
            mask.as_ref().map(like),
            bias.as_ref().map(like),
        )
    }

    fn avg_pool2d(
        x: Ghost,
        kernel_size: [usize; 2],
        stride: [usize; 2],
        padding: [usize; 2],
        _count_include_pad: bool,
        ceil_mode: bool,
    ) -> Ghost {
        let sizes = layers::pool_sizes(&x, kernel_size, stride, padding, [1, 1], ceil_mode);
        layers::pool(x, sizes)
    }

    fn avg_pool2d_backward(
        x: Ghost,
        grad: Ghost,
        _kernel_size: [usize; 2],
        _stride: [usize; 2],
        _padding: [usize; 2],
        _count_include_pad: bool,
        _ceil_mode: bool,
    ) -> Ghost {
        layers::unpool(x, grad, None)
    }

    fn adaptive_avg_pool2d(x: Ghost, output_size: [usize; 2]) -> Ghost {
        layers::pool(x, output_size)
    }

    fn adaptive_avg_pool2d_backward(x: Ghost, grad: Ghost) -> Ghost {
        layers::unpool(x, grad, None)
    }

    fn adaptive_avg_pool3d(x: Ghost, output_size: [usize; 3]) -> Ghost {
        layers::pool(x, output_size)
    }

    fn adaptive_avg_pool3d_backward(x: Ghost, grad: Ghost) -> Ghost {
        layers::unpool(x, grad, None)
    }

    fn max_pool2d(
        x: Ghost,
        kernel_size: [usize; 2],
        stride: [usize; 2],
        padding: [usize; 2],
        dilation: [usize; 2],
        ceil_mode: bool,
    ) -> Ghost {
        // Places are found too, and dropped.
        let sizes = layers::pool_sizes(&x, kernel_size, stride, padding, dilation, ceil_mode);
        layers::pool_with_places(x, sizes).0
    }

    fn max_pool2d_with_indices(
        x: Ghost,
        kernel_size: [usize; 2],
        stride: [usize; 2],
        padding: [usize; 2],
        dilation: [usize; 2],
        ceil_mode: bool,
        indices_dtype: IntDType,
    ) -> MaxPool2dWithIndices<Self> {
        let sizes = layers::pool_sizes(&x, kernel_size, stride, padding, dilation, ceil_mode);
        let (out, places) = layers::pool_with_places(x, sizes);
        MaxPool2dWithIndices::new(out, cast(places, indices_dtype.into()))
    }

    fn max_pool2d_with_indices_backward(
        x: Ghost,
        _kernel_size: [usize; 2],
        _stride: [usize; 2],
        _padding: [usize; 2],
        _dilation: [usize; 2],
        _ceil_mode: bool,
        output_grad: Ghost,
        indices: Ghost,
    ) -> MaxPool2dBackward<Self> {
        MaxPool2dBackward::new(layers::unpool(x, output_grad, Some(indices)))
    }

    fn interpolate(x: Ghost, output_size: [usize; 2], _options: InterpolateOptions) -> Ghost {
        layers::pool(x, output_size)
    }

    fn interpolate_backward(
        x: Ghost,
        grad: Ghost,
        _output_size: [usize; 2],
        _options: InterpolateOptions,
    ) -> Ghost {
        layers::unpool(x, grad, None)
    }

    fn attention(
        query: Ghost,
        key: Ghost,
        value: Ghost,
        mask: Option<Ghost>,
        attn_bias: Option<Ghost>,
        _options: AttentionModuleOptions,
    ) -> Ghost {
        layers::attention(query, key, value, mask, attn_bias)
    }

    fn layer_norm(tensor: Ghost, gamma: Ghost, beta: Option<Ghost>, _epsilon: f64) -> Ghost {
        layers::layer_norm(tensor, gamma, beta)
    }

    fn embedding_backward(weights: Ghost, output_grad: Ghost, indices: Ghost) -> Ghost {
        let rows = indices.elements();
        let indices = Self::int_reshape(indices, Shape::from(vec![rows]));
        let flat = Shape::from(vec![rows, weights.dims()[1]]);
        let output_grad = Self::float_reshape(output_grad, flat);
        let grad = Self::float_zeros(weights.shape(), &GhostDevice, output_grad.dtype().into());
        Self::float_select_assign(grad, 0, indices, output_grad, IndexingUpdateOp::Add)
    }
}
