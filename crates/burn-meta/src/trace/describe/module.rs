//! Whole layers in one operation.

use burn::backend::ir::{ModuleOperationIr, TensorIr};

use super::super::operation::{OperationKind, product};
use super::tensor::interpolated;
use super::{Described, elements, from_last, inner};

/// The bias of a layer: one addition an element of the result.
fn biased(bias: &Option<TensorIr>, out: &TensorIr) -> u64 {
    bias.as_ref().map_or(0, |_| elements(out))
}

/// A convolution from the side that each of the kernel's products is made for: `of` is the result
/// of a plain one, and the input of a transposed one. The kernel's first dimension is theirs.
fn convolution(name: &'static str, of: &TensorIr, weight: &TensorIr, more: u64) -> Described {
    let products = product([2, elements(of), inner(weight, 1)]);
    Described::products(name, OperationKind::Convolution, products, more)
}

/// A window that slides: one operation for each of its elements at each place.
fn pooled(name: &'static str, out: &TensorIr, window: usize) -> Described {
    Described::new(
        name,
        OperationKind::Pooling,
        elements(out).saturating_mul(window as u64),
    )
}

/// A window that divides: each element once.
fn divided(name: &'static str, one: &TensorIr, other: &TensorIr) -> Described {
    let each = elements(one).max(elements(other));
    Described::new(name, OperationKind::Pooling, each)
}

pub(super) fn module(operation: &ModuleOperationIr) -> Described {
    use ModuleOperationIr as Op;
    match operation {
        Op::Linear(op) => {
            let products = product([2, elements(&op.out), from_last(&op.x, 0)]);
            let bias = biased(&op.bias, &op.out);
            Described::products("linear", OperationKind::Product, products, bias)
        }
        Op::LinearXBackward(op) => {
            let products = product([2, elements(&op.out), from_last(&op.output_grad, 0)]);
            Described::products("linear_x_backward", OperationKind::Product, products, 0)
        }
        Op::LinearWeightBackward(op) => {
            let products = product([2, elements(&op.x), from_last(&op.output_grad, 0)]);
            Described::products(
                "linear_weight_backward",
                OperationKind::Product,
                products,
                0,
            )
        }
        Op::LinearBiasBackward(op) => Described::reduction("linear_bias_backward", &op.output_grad),

        Op::Conv1d(op) => convolution("conv1d", &op.out, &op.weight, biased(&op.bias, &op.out)),
        Op::Conv2d(op) => convolution("conv2d", &op.out, &op.weight, biased(&op.bias, &op.out)),
        Op::Conv3d(op) => convolution("conv3d", &op.out, &op.weight, biased(&op.bias, &op.out)),
        Op::Conv1dXBackward(op) => convolution("conv1d_x_backward", &op.output_grad, &op.weight, 0),
        Op::Conv2dXBackward(op) => convolution("conv2d_x_backward", &op.output_grad, &op.weight, 0),
        Op::Conv3dXBackward(op) => convolution("conv3d_x_backward", &op.output_grad, &op.weight, 0),
        Op::Conv1dWeightBackward(op) => {
            convolution("conv1d_weight_backward", &op.output_grad, &op.weight, 0)
        }
        Op::Conv2dWeightBackward(op) => {
            convolution("conv2d_weight_backward", &op.output_grad, &op.weight, 0)
        }
        Op::Conv3dWeightBackward(op) => {
            convolution("conv3d_weight_backward", &op.output_grad, &op.weight, 0)
        }
        Op::Conv1dBiasBackward(op) => Described::reduction("conv1d_bias_backward", &op.output_grad),
        Op::Conv2dBiasBackward(op) => Described::reduction("conv2d_bias_backward", &op.output_grad),
        Op::Conv3dBiasBackward(op) => Described::reduction("conv3d_bias_backward", &op.output_grad),
        Op::ConvTranspose1d(op) => {
            let bias = biased(&op.bias, &op.out);
            convolution("conv_transpose1d", &op.x, &op.weight, bias)
        }
        Op::ConvTranspose2d(op) => {
            let bias = biased(&op.bias, &op.out);
            convolution("conv_transpose2d", &op.x, &op.weight, bias)
        }
        Op::ConvTranspose3d(op) => {
            let bias = biased(&op.bias, &op.out);
            convolution("conv_transpose3d", &op.x, &op.weight, bias)
        }
        Op::ConvTranspose1dWeightBackward(op) => {
            convolution("conv_transpose1d_weight_backward", &op.x, &op.weight, 0)
        }
        Op::ConvTranspose2dWeightBackward(op) => {
            convolution("conv_transpose2d_weight_backward", &op.x, &op.weight, 0)
        }
        Op::ConvTranspose3dWeightBackward(op) => {
            convolution("conv_transpose3d_weight_backward", &op.x, &op.weight, 0)
        }
        Op::ConvTranspose1dBiasBackward(op) => {
            Described::reduction("conv_transpose1d_bias_backward", &op.output_grad)
        }
        Op::ConvTranspose2dBiasBackward(op) => {
            Described::reduction("conv_transpose2d_bias_backward", &op.output_grad)
        }
        Op::ConvTranspose3dBiasBackward(op) => {
            Described::reduction("conv_transpose3d_bias_backward", &op.output_grad)
        }
        Op::DeformableConv2d(op) => {
            let sampled = sampled(&op.x, &op.weight, &op.out, op.mask.is_some());
            let more = sampled.saturating_add(biased(&op.bias, &op.out));
            convolution("deform_conv2d", &op.out, &op.weight, more)
        }
        Op::DeformableConv2dBackward(op) => {
            // The products of both gradients; sampling once for the weight's, and its derivatives
            // towards value, offset and mask.
            let sampled = sampled(&op.x, &op.weight, &op.out_grad, op.mask.is_some());
            let bias = biased(&op.bias, &op.out_grad);
            let products = product([4, elements(&op.out_grad), inner(&op.weight, 1)]);
            Described::products(
                "deform_conv2d_backward",
                OperationKind::Convolution,
                products,
                sampled.saturating_mul(3).saturating_add(bias),
            )
        }

        // Difference, reciprocal root, multiplication, addition.
        Op::BatchNorm(op) => Described::new(
            "batch_norm",
            OperationKind::Normalization,
            elements(&op.out).saturating_mul(4),
        ),
        // Mean, difference, square, mean, quotient, multiplication; and addition.
        Op::LayerNorm(op) => Described::new(
            "layer_norm",
            OperationKind::Normalization,
            elements(&op.out)
                .saturating_mul(6)
                .saturating_add(biased(&op.beta, &op.out)),
        ),

        Op::Embedding(op) => Described::chosen("embedding", &op.indices, &op.out),
        Op::EmbeddingBackward(op) => Described::new(
            "embedding_backward",
            OperationKind::Indexing,
            elements(&op.out_grad),
        ),

        Op::AvgPool1d(op) => pooled("avg_pool1d", &op.out, op.kernel_size),
        Op::AvgPool2d(op) => pooled("avg_pool2d", &op.out, op.kernel_size.iter().product()),
        Op::AvgPool1dBackward(op) => pooled("avg_pool1d_backward", &op.grad, op.kernel_size),
        Op::AvgPool2dBackward(op) => pooled(
            "avg_pool2d_backward",
            &op.grad,
            op.kernel_size.iter().product(),
        ),
        Op::MaxPool1d(op) => pooled("max_pool1d", &op.out, op.kernel_size),
        Op::MaxPool1dWithIndices(op) => pooled("max_pool1d_with_indices", &op.out, op.kernel_size),
        Op::MaxPool1dWithIndicesBackward(op) => {
            pooled("max_pool1d_with_indices_backward", &op.grad, 1)
        }
        Op::MaxPool2d(op) => pooled("max_pool2d", &op.out, op.kernel_size.iter().product()),
        Op::MaxPool2dWithIndices(op) => pooled(
            "max_pool2d_with_indices",
            &op.out,
            op.kernel_size.iter().product(),
        ),
        Op::MaxPool2dWithIndicesBackward(op) => {
            pooled("max_pool2d_with_indices_backward", &op.grad, 1)
        }
        Op::AdaptiveAvgPool1d(op) => divided("adaptive_avg_pool1d", &op.x, &op.out),
        Op::AdaptiveAvgPool2d(op) => divided("adaptive_avg_pool2d", &op.x, &op.out),
        Op::AdaptiveAvgPool3d(op) => divided("adaptive_avg_pool3d", &op.x, &op.out),
        Op::AdaptiveAvgPool1dBackward(op) => {
            divided("adaptive_avg_pool1d_backward", &op.x, &op.grad)
        }
        Op::AdaptiveAvgPool2dBackward(op) => {
            divided("adaptive_avg_pool2d_backward", &op.x, &op.grad)
        }
        Op::AdaptiveAvgPool3dBackward(op) => {
            divided("adaptive_avg_pool3d_backward", &op.x, &op.grad)
        }
        Op::Interpolate(op) => {
            let each = interpolated(&op.options.mode);
            Described::new(
                "interpolate",
                OperationKind::Pooling,
                elements(&op.out).saturating_mul(each),
            )
        }
        Op::InterpolateBackward(op) => {
            // At least the addition where several results share a neighbour.
            let each = interpolated(&op.options.mode).max(1);
            Described::new(
                "interpolate_backward",
                OperationKind::Pooling,
                elements(&op.grad).saturating_mul(each),
            )
        }
        Op::Unfold4d(_) => Described::copy("unfold4d"),

        Op::Attention(op) => {
            let rows = elements(&op.query) / from_last(&op.query, 0).max(1);
            let scores = product([rows, from_last(&op.key, 1)]);
            let products = product([2, scores, from_last(&op.query, 0) + from_last(&op.value, 0)]);
            // The scale, softmax; a quotient, hyperbolic tangent and product; the additions.
            let softcap = if op.options.softcap.is_some() { 3 } else { 0 };
            let added = u64::from(op.mask.is_some()) + u64::from(op.attn_bias.is_some());
            let more = product([scores, 1 + 5 + softcap + added]);
            Described::products("attention", OperationKind::Attention, products, more)
        }
        Op::CtcLoss(op) => ctc("ctc_loss", &op.log_probs, &op.targets, 1),
        // Once more forward, and once backward.
        Op::CtcLossBackward(op) => ctc("ctc_loss_backward", &op.log_probs, &op.targets, 2),
    }
}

/// Sampling the input of a deformable convolution: four neighbours, each weighted and added, and the
/// mask, for each element that meets the kernel.
fn sampled(x: &TensorIr, weight: &TensorIr, out: &TensorIr, masked: bool) -> u64 {
    let places = product([x.shape[0] as u64, inner(out, 2)]);
    let each = 2 * 4 + u64::from(masked);
    product([places, x.shape[1] as u64, inner(weight, 2), each])
}

/// Connectionist temporal classification: at each time, for each label and each blank between them,
/// the logarithm of a sum of three exponentials.
fn ctc(name: &'static str, log_probs: &TensorIr, targets: &TensorIr, passes: u64) -> Described {
    let (times, batch) = (log_probs.shape[0] as u64, log_probs.shape[1] as u64);
    let states = 2 * from_last(targets, 0) + 1;
    Described::new(
        name,
        OperationKind::Loss,
        product([passes, times, batch, states, 8]),
    )
}
