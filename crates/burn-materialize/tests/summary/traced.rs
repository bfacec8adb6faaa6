//! What a trace adds, against the shapes of real passes.

use burn::module::Module;
use burn::nn::attention::MhaInput;
use burn::nn::conv::Conv2dConfig;
use burn::nn::transformer::{TransformerEncoderConfig, TransformerEncoderInput};
use burn::nn::{
    BatchNorm, BatchNormConfig, BiLstmConfig, GruConfig, Linear, LinearConfig, LstmConfig,
    RnnConfig,
};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Int, Tensor};
use burn_materialize::{
    Materialize, Meta, Phase, ResetParameters, Summary, SummaryLine, Trace, TraceOutput,
};

use crate::models::Decoder;

fn traced<M: Materialize, O: TraceOutput>(
    build: impl FnOnce(&Device) -> M,
    forward: impl FnOnce(&M, &Device) -> O,
) -> (Summary, Trace) {
    let meta = Meta::build(build).unwrap();
    let trace = meta.trace(forward).unwrap();
    (meta.summary().traced(&trace), trace)
}

fn line(summary: &Summary, path: &str) -> SummaryLine {
    let mut lines = summary.clone().unfolded().lines().into_iter();
    lines
        .find(|line| line.path == path && line.tensor.is_none())
        .unwrap()
}

fn output(summary: &Summary, path: &str) -> Vec<usize> {
    let outputs = line(summary, path).cost.unwrap().outputs;
    assert_eq!(outputs.len(), 1, "{path}");
    outputs[0].clone()
}

/// What lies under a module adds up to what all of it costs.
fn check_sums(summary: &Summary, trace: &Trace) {
    let whole = line(summary, "").cost.unwrap();
    assert_eq!(whole.forward, trace.cost_of(Phase::Forward));
    assert_eq!(whole.backward, trace.cost_of(Phase::Backward));
    assert_eq!(whole.operations, trace.operations().len());
    let activations: u64 = trace
        .modules()
        .iter()
        .map(|module| module.activations)
        .sum();
    assert_eq!(whole.activations, activations);
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Cnn {
    stem: burn::nn::conv::Conv2d,
    norm: BatchNorm,
    head: Linear,
}

#[test]
fn convolution_norm_and_linear() {
    let build = |device: &Device| Cnn {
        stem: Conv2dConfig::new([3, 8], [3, 3])
            .with_stride([2, 2])
            .init(device),
        norm: BatchNormConfig::new(8).init(device),
        head: LinearConfig::new(8, 5).init(device),
    };
    let forward = |cnn: &Cnn, device: &Device| {
        let features = relu(
            cnn.norm
                .forward(cnn.stem.forward(Tensor::<4>::zeros([2, 3, 9, 9], device))),
        );
        // Pooled without reading anything: belongs to the norm, and is not its output.
        let pooled: Tensor<2> = features.mean_dim(3).mean_dim(2).reshape([2, 8]);
        cnn.head.forward(pooled)
    };
    let (summary, trace) = traced(build, forward);
    let real = build(&Device::flex());
    let stem = real
        .stem
        .forward(Tensor::<4>::zeros([2, 3, 9, 9], &Device::flex()));
    assert_eq!(output(&summary, "stem"), stem.dims());
    assert_eq!(output(&summary, "norm"), real.norm.forward(stem).dims());
    assert_eq!(output(&summary, "head"), [2, 5]);
    assert_eq!(output(&summary, ""), [2, 5]);
    let products = 2 * 2 * 8 * 5;
    assert_eq!(
        line(&summary, "head").cost.unwrap().forward.products,
        products
    );
    check_sums(&summary, &trace);
    let table = summary.width(100).to_string();
    assert!(
        table.contains("[2, 8, 4, 4]") && table.contains("FLOPs"),
        "{table}"
    );
    assert!(!table.contains("backward"), "{table}");
}

#[test]
fn a_transformer_encoder() {
    let config = TransformerEncoderConfig::new(16, 32, 2, 3);
    let forward = |encoder: &burn::nn::transformer::TransformerEncoder, device: &Device| {
        encoder.forward(TransformerEncoderInput::new(Tensor::zeros(
            [2, 5, 16],
            device,
        )))
    };
    let (summary, trace) = traced(|device| config.init(device), forward);
    let device = Device::flex();
    let real = config.init(&device);
    let layer = &real.layers[0];
    let x = Tensor::<3>::zeros([2, 5, 16], &device);
    let attended = layer.mha.forward(MhaInput::self_attn(x.clone())).context;
    assert_eq!(output(&summary, "layers.1.mha"), attended.dims());
    let inner = layer.pwff.linear_inner.forward(x.clone());
    assert_eq!(output(&summary, "layers.1.pwff.linear_inner"), inner.dims());
    assert_eq!(
        output(&summary, "layers.1.pwff"),
        layer.pwff.forward(x.clone()).dims()
    );
    assert_eq!(
        output(&summary, "layers.1.norm_2"),
        layer.norm_2.forward(x).dims()
    );
    assert_eq!(output(&summary, "layers.2"), forward(&real, &device).dims());
    check_sums(&summary, &trace);
    let table = summary.width(100).to_string();
    assert!(table.contains("layers.0 … layers.2 (3 x)"), "{table}");
}

#[test]
fn recurrent_layers_show_all_steps() {
    let x = |device: &Device| Tensor::<3>::zeros([2, 5, 4], device);
    let device = Device::flex();

    let lstm = LstmConfig::new(4, 6, true);
    let (summary, trace) = traced(
        |d| vec![lstm.init(d)],
        |list, d| list[0].forward(x(d), None),
    );
    assert_eq!(
        output(&summary, "0"),
        lstm.init(&device).forward(x(&device), None).0.dims()
    );
    let whole = line(&summary, "").cost.unwrap().outputs;
    assert_eq!(whole.len(), trace.outputs.len());
    check_sums(&summary, &trace);

    let both = BiLstmConfig::new(4, 6, true);
    let (summary, _) = traced(
        |d| vec![both.init(d)],
        |list, d| list[0].forward(x(d), None),
    );
    assert_eq!(
        output(&summary, "0"),
        both.init(&device).forward(x(&device), None).0.dims()
    );
    assert_eq!(output(&summary, "0.forward"), [2, 5, 6]);

    let gru = GruConfig::new(4, 6, true);
    let (summary, _) = traced(|d| vec![gru.init(d)], |list, d| list[0].forward(x(d), None));
    assert_eq!(
        output(&summary, "0"),
        gru.init(&device).forward(x(&device), None).dims()
    );

    let rnn = RnnConfig::new(4, 6, true);
    let (summary, _) = traced(|d| vec![rnn.init(d)], |list, d| list[0].forward(x(d), None));
    assert_eq!(
        output(&summary, "0"),
        rnn.init(&device).forward(x(&device), None).0.dims()
    );
}

#[test]
fn a_decoder_stays_folded_in_inference_and_in_training() {
    let meta = Meta::build(|device| Decoder::new(80, 16, device)).unwrap();
    let tokens = |device: &Device| Tensor::<2, Int>::zeros([2, 7], device);
    let trace = meta
        .trace(|model, device| model.forward(tokens(device)))
        .unwrap();
    let summary = meta.summary().traced(&trace);
    let table = summary.to_string();
    assert!(table.lines().count() < 40, "{table}");
    assert_eq!(output(&summary, "layers.7.attention.query"), [2, 7, 16]);
    assert_eq!(output(&summary, "layers.7.feed_forward.up"), [2, 7, 64]);
    assert_eq!(output(&summary, "layers.7"), [2, 7, 16]);
    assert_eq!(output(&summary, "norm"), [2, 7, 16]);
    check_sums(&summary, &trace);

    let trace = meta
        .trace_training(|model, device| model.forward(tokens(device)).mean())
        .unwrap();
    let summary = meta.summary().traced(&trace);
    let table = summary.clone().width(100).to_string();
    assert!(table.contains("backward"), "{table}");
    assert!(table.lines().count() < 40, "{table}");
    check_sums(&summary, &trace);
    let json = serde_json::to_value(&summary).unwrap();
    assert!(
        json["lines"][0]["cost"]["backward"]["flops"]
            .as_u64()
            .unwrap()
            > 0
    );
}

#[test]
fn a_module_that_runs_several_times_shows_the_last_output() {
    let linear = |device: &Device| LinearConfig::new(4, 4).with_bias(false).init(device);
    let (summary, _) = traced(
        |device| vec![linear(device)],
        |list: &Vec<Linear>, device| {
            list[0].forward(Tensor::<2>::zeros([3, 4], device));
            list[0].forward(Tensor::<2>::zeros([5, 4], device))
        },
    );
    assert_eq!(output(&summary, "0"), [5, 4]);
    let cost = line(&summary, "0").cost.unwrap();
    assert_eq!(cost.forward.products, 2 * (3 + 5) * 4 * 4);
}

#[test]
fn a_trace_of_another_module_counts_for_the_whole() {
    let meta = Meta::build(|device| Decoder::new(2, 16, device)).unwrap();
    let trace = meta
        .trace(|model, device| model.forward(Tensor::zeros([2, 7], device)))
        .unwrap();
    let other = Meta::build(|device| LinearConfig::new(2, 2).init(device)).unwrap();
    let _: &Meta<Linear> = &other;
    let summary = other.summary().traced(&trace);
    check_sums(&summary, &trace);
}
