//! Products against PyTorch's count of the same models: `golden/products.json`, made by
//! `golden/products.py`.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::nn::attention::{MhaInput, MultiHeadAttention, MultiHeadAttentionConfig};
use burn::nn::conv::{
    Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, Conv3d, Conv3dConfig, ConvTranspose1d,
    ConvTranspose1dConfig, ConvTranspose2d, ConvTranspose2dConfig, ConvTranspose3d,
    ConvTranspose3dConfig,
};
use burn::nn::transformer::{TransformerEncoderConfig, TransformerEncoderInput};
use burn::nn::{
    GruConfig, LinearConfig, LstmConfig, PaddingConfig1d, PaddingConfig2d, PaddingConfig3d,
    RnnConfig,
};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};
use burn_materialize::{Materialize, Meta, OperationKind, Phase, ResetParameters, Trace};
use serde::Deserialize;

#[derive(Debug, Deserialize, PartialEq)]
struct Products {
    inference: u64,
    forward: u64,
    /// What PyTorch counts by another formula is left out.
    backward: Option<u64>,
}

/// What is counted for one model, in inference and in training on the mean of its squares.
fn count<M: Materialize, const D: usize>(
    build: impl FnOnce(&Device) -> M,
    forward: impl Fn(&M, &Device) -> Tensor<D>,
) -> Products {
    let meta = Meta::build(build).unwrap();
    let inference = meta.trace(&forward).unwrap();
    let training = meta
        .trace_training(|model, device| forward(model, device).square().mean())
        .unwrap();
    for trace in [&inference, &training] {
        products_are_in_products(trace);
    }
    Products {
        inference: inference.cost().products,
        forward: training.cost_of(Phase::Forward).products,
        backward: Some(training.cost_of(Phase::Backward).products),
    }
}

fn products_are_in_products(trace: &Trace) {
    assert!(trace.uncounted().is_empty());
    for traced in trace.operations() {
        let is_product = matches!(
            traced.operation.kind,
            OperationKind::Product | OperationKind::Convolution | OperationKind::Attention
        );
        let cost = traced.operation.cost;
        assert!(
            is_product || cost.products == 0,
            "{}",
            traced.operation.name
        );
        assert!(cost.products <= cost.flops, "{}", traced.operation.name);
    }
}

fn zeros<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::zeros(shape, device)
}

fn linears(device: &Device) -> [burn::nn::Linear; 2] {
    [
        LinearConfig::new(24, 40).init(device),
        LinearConfig::new(40, 8).with_bias(false).init(device),
    ]
}

fn conv1d(device: &Device) -> (Conv1d, ConvTranspose1d) {
    let conv = Conv1dConfig::new(8, 16, 5)
        .with_stride(2)
        .with_padding(PaddingConfig1d::Explicit(2, 2));
    let transpose = ConvTranspose1dConfig::new([16, 6], 4).with_stride(2);
    (conv.init(device), transpose.init(device))
}

fn conv2d(device: &Device) -> (Conv2d, Conv2d, ConvTranspose2d) {
    let first =
        Conv2dConfig::new([3, 16], [3, 3]).with_padding(PaddingConfig2d::Explicit(1, 1, 1, 1));
    let dilated = Conv2dConfig::new([16, 24], [3, 5])
        .with_stride([2, 1])
        .with_dilation([2, 2]);
    let transpose = ConvTranspose2dConfig::new([24, 8], [3, 3])
        .with_stride([2, 2])
        .with_padding([1, 1])
        .with_padding_out([1, 1]);
    (
        first.init(device),
        dilated.init(device),
        transpose.init(device),
    )
}

fn pointwise(device: &Device) -> [Conv2d; 2] {
    [[12, 20], [20, 5]].map(|channels| Conv2dConfig::new(channels, [1, 1]).init(device))
}

fn grouped(device: &Device) -> (Conv2d, Conv2d, ConvTranspose2d) {
    let depthwise = Conv2dConfig::new([16, 16], [3, 3])
        .with_groups(16)
        .with_padding(PaddingConfig2d::Explicit(1, 1, 1, 1));
    let transpose = ConvTranspose2dConfig::new([16, 8], [2, 2])
        .with_stride([2, 2])
        .with_groups(2);
    (
        Conv2dConfig::new([8, 16], [3, 3])
            .with_groups(4)
            .init(device),
        depthwise.init(device),
        transpose.init(device),
    )
}

fn conv3d(device: &Device) -> (Conv3d, ConvTranspose3d) {
    let conv = Conv3dConfig::new([2, 6], [3, 3, 3])
        .with_stride([2, 2, 2])
        .with_padding(PaddingConfig3d::Explicit(1, 1, 1));
    let transpose = ConvTranspose3dConfig::new([6, 3], [2, 2, 2]).with_stride([2, 2, 2]);
    (conv.init(device), transpose.init(device))
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Mlp {
    layers: [burn::nn::Linear; 2],
}

fn mlp(device: &Device) -> Mlp {
    let [inner, outer] = [[64, 128], [128, 10]];
    Mlp {
        layers: [inner, outer].map(|[d_in, d_out]| LinearConfig::new(d_in, d_out).init(device)),
    }
}

fn attention(device: &Device) -> MultiHeadAttention {
    MultiHeadAttentionConfig::new(32, 4)
        .with_dropout(0.0)
        .init(device)
}

fn counted() -> BTreeMap<&'static str, Products> {
    BTreeMap::from([
        (
            "mlp",
            count(mlp, |mlp, device| {
                let hidden = mlp.layers[0].forward(zeros([32, 64], device));
                mlp.layers[1].forward(relu(hidden))
            }),
        ),
        (
            "linear_3d",
            count(linears, |[inner, outer], device| {
                outer.forward(inner.forward(zeros([4, 7, 24], device)))
            }),
        ),
        (
            "conv1d",
            count(conv1d, |(conv, transpose), device| {
                transpose.forward(conv.forward(zeros([3, 8, 33], device)))
            }),
        ),
        (
            "conv2d",
            count(conv2d, |(first, dilated, transpose), device| {
                let features = relu(first.forward(zeros([2, 3, 20, 18], device)));
                transpose.forward(dilated.forward(features))
            }),
        ),
        (
            "conv2d_pointwise",
            count(pointwise, |[first, second], device| {
                second.forward(first.forward(zeros([2, 12, 9, 7], device)))
            }),
        ),
        (
            "conv2d_groups",
            count(grouped, |(first, depthwise, transpose), device| {
                let features = first.forward(zeros([2, 8, 12, 11], device));
                transpose.forward(depthwise.forward(features))
            }),
        ),
        (
            "conv3d",
            count(conv3d, |(conv, transpose), device| {
                transpose.forward(conv.forward(zeros([2, 2, 8, 9, 10], device)))
            }),
        ),
        (
            "attention",
            count(attention, |attention, device| {
                let [query, memory] = [zeros([2, 6, 32], device), zeros([2, 9, 32], device)];
                let input = MhaInput::new(query, memory.clone(), memory);
                attention.forward(input).context
            }),
        ),
        (
            "encoder",
            count(
                |device| TransformerEncoderConfig::new(32, 80, 4, 2).init(device),
                |encoder, device| {
                    encoder.forward(TransformerEncoderInput::new(zeros([3, 7, 32], device)))
                },
            ),
        ),
        (
            "rnn",
            count(
                |device| RnnConfig::new(20, 30, true).init(device),
                |rnn, device| rnn.forward(zeros([4, 5, 20], device), None).0,
            ),
        ),
        (
            "gru",
            count(
                |device| GruConfig::new(20, 30, true).init(device),
                |gru, device| gru.forward(zeros([4, 5, 20], device), None),
            ),
        ),
        (
            "lstm",
            count(
                |device| LstmConfig::new(20, 30, true).init(device),
                |lstm, device| lstm.forward(zeros([4, 5, 20], device), None).0,
            ),
        ),
    ])
}

#[test]
fn products_are_those_that_pytorch_counts() {
    let golden = include_str!("../golden/products.json");
    let golden: BTreeMap<&str, Products> = serde_json::from_str(golden).unwrap();
    let mut counted = counted();
    for (name, products) in &mut counted {
        // PyTorch's own count of it is left out.
        if golden[name].backward.is_none() {
            products.backward = None;
        }
    }
    assert_eq!(counted, golden);
}

/// A grouped kernel's gradient takes as many products as the forward pass: each element of the
/// kernel meets each element of the result that it makes.
#[test]
fn a_grouped_convolution_costs_as_much_backward_for_each_gradient() {
    let meta = Meta::build(grouped).unwrap();
    let trace = meta
        .trace_training(|(first, depthwise, transpose), device| {
            let features = first.forward(zeros([2, 8, 12, 11], device));
            transpose.forward(depthwise.forward(features)).mean()
        })
        .unwrap();
    let products: Vec<(u64, u64)> = trace
        .modules()
        .iter()
        .map(|module| (module.forward.products, module.backward.products))
        .filter(|products| *products != (0, 0))
        .collect();
    // The images need no gradient.
    let [first, depthwise, transpose] = [
        2 * 2 * 16 * 90 * 18,
        2 * 2 * 16 * 90 * 9,
        2 * 2 * 16 * 90 * 16,
    ];
    assert_eq!(
        products,
        [
            (first, first),
            (depthwise, 2 * depthwise),
            (transpose, 2 * transpose)
        ]
    );
}
