//! Every kind of layer of burn-nn: traced, in inference and in training, it has the shapes and dtypes that
//! it has on a real device.

use burn::nn::activation::{
    ActivationConfig, CeluConfig, EluConfig, GLU, Gelu, HardShrinkConfig, HardSigmoidConfig,
    HardSwish, HardtanhConfig, LeakyReluConfig, LogSigmoid, Mish, PReluConfig, RReluConfig, Relu,
    Relu6, Selu, ShrinkConfig, SiLU, Sigmoid, SoftShrinkConfig, SoftplusConfig, Softsign,
    SwiGluConfig, Tanh, Tanhshrink, ThresholdConfig, ThresholdedReluConfig,
};
use burn::nn::attention::{CrossAttentionConfig, MhaInput, MultiHeadAttentionConfig};
use burn::nn::conv::{
    Conv1dConfig, Conv2dConfig, Conv3dConfig, ConvTranspose1dConfig, ConvTranspose2dConfig,
    ConvTranspose3dConfig, DeformConv2dConfig,
};
use burn::nn::interpolate::{Interpolate1dConfig, Interpolate2dConfig, InterpolateMode};
use burn::nn::loss::{
    BinaryCrossEntropyLossConfig, CTCLossConfig, CosineEmbeddingLossConfig, CrossEntropyLossConfig,
    GaussianNLLLossConfig, HingeEmbeddingLossConfig, HuberLossConfig, KLDivLossConfig,
    LpLossConfig, MarginRankingLossConfig, MseLoss, MultiMarginLossConfig, PoissonNllLossConfig,
    RNNTLossConfig, Reduction, SmoothL1LossConfig, SoftMarginLoss, TripletMarginLossConfig,
};
use burn::nn::pool::{
    AdaptiveAvgPool1dConfig, AdaptiveAvgPool2dConfig, AdaptiveAvgPool3dConfig, AvgPool1dConfig,
    AvgPool2dConfig, MaxPool1dConfig, MaxPool2dConfig,
};
use burn::nn::transformer::{
    PositionWiseFeedForwardConfig, TransformerDecoderConfig, TransformerDecoderInput,
    TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{
    BatchNormConfig, BiGruConfig, BiLstmConfig, BiRnnConfig, CosineSimilarityConfig, DropoutConfig,
    EmbeddingConfig, Fold4dConfig, GateController, GaussianNoiseConfig, GroupNormConfig, GruConfig,
    Identity, Initializer, InstanceNormConfig, LayerNormConfig, LinearConfig, LinearLayout,
    LocalResponseNormConfig, LstmConfig, PairwiseDistanceConfig, PixelShuffleConfig,
    PixelUnshuffleConfig, PositionalEncodingConfig, RmsNormConfig, RnnConfig, RotaryEncodingConfig,
    Unfold4dConfig,
};
use burn::tensor::activation::{log_softmax, sigmoid};
use burn::tensor::{Device, Int, Tensor};
use burn_materialize::{
    DefaultDTypes, Materialize, Meta, TraceError, TraceOptions, TraceOutput, TracedOutput,
    TracedOutputs, trace_training,
};

/// Distinct values; on an autodiff device something to train even where a layer has no parameter.
fn input<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    let elements = shape.iter().product::<usize>() as i64;
    let values = Tensor::<1, Int>::arange(0..elements, device).float();
    let values = values.mul_scalar(0.7).sin().reshape(shape);
    match device.is_autodiff() {
        true => values.detach().require_grad(),
        false => values,
    }
}

/// Numbers below `classes`.
fn labels<const D: usize>(shape: [usize; D], classes: i64, device: &Device) -> Tensor<D, Int> {
    let elements = shape.iter().product::<usize>() as i64;
    let values = Tensor::<1, Int>::arange(0..elements, device);
    values.remainder_scalar(classes).reshape(shape)
}

fn ones(shape: [usize; 2], device: &Device) -> Tensor<2> {
    Tensor::ones(shape, device)
}

fn ints(values: [i32; 2], device: &Device) -> Tensor<1, Int> {
    Tensor::from_ints(values, device)
}

/// A number that depends on every tensor of an output.
trait Loss: TraceOutput {
    fn loss(&self) -> Tensor<1>;
}

impl<const D: usize> Loss for Tensor<D> {
    fn loss(&self) -> Tensor<1> {
        self.clone().mean()
    }
}

impl<A: Loss, B: Loss> Loss for (A, B) {
    fn loss(&self) -> Tensor<1> {
        self.0.loss() + self.1.loss()
    }
}

fn shapes(output: &impl TraceOutput) -> Vec<TracedOutput> {
    TracedOutputs::of(output).outputs().to_vec()
}

/// Traced and real, in inference and in training.
fn check<M: Materialize, O: Loss>(
    build: impl Fn(&Device) -> M,
    forward: impl Fn(&M, &Device) -> O,
) {
    let device = Device::flex();
    let meta = Meta::build_for(&device, &build).unwrap();
    let real = shapes(&forward(&build(&device), &device));
    let trace = meta.trace(&forward).unwrap();
    assert_eq!(trace.outputs, real);
    assert!(trace.uncounted().is_empty(), "{:?}", trace.uncounted());

    let trains = device.clone().autodiff();
    let module = build(&trains);
    let output = forward(&module, &trains);
    let real = shapes(&output);
    output.loss().backward();
    let mut traced = Vec::new();
    let loss = |module: &M, device: &Device| {
        let output = forward(module, device);
        traced = shapes(&output);
        output.loss()
    };
    let trace = meta.trace_training(loss).unwrap();
    assert_eq!(traced, real);
    assert!(trace.uncounted().is_empty(), "{:?}", trace.uncounted());

    // A module that is real already is traced alike; one without a tensor shows no device.
    let options = TraceOptions::default().dtypes(DefaultDTypes::of(&device));
    let again = trace_training(&module, options, |module, device| {
        forward(module, device).loss()
    });
    assert!(again.unwrap() == trace);
}

/// A test for each kind: how it is built, and what it is given.
macro_rules! kinds {
    ($($test:ident: |$device:ident| $build:expr, |$module:ident, $on:ident| $forward:expr;)+) => {$(
        #[test]
        fn $test() {
            check(|$device| $build, |$module, $on| $forward);
        }
    )+};
}

/// Layers without a tensor.
macro_rules! plain {
    ($($test:ident($shape:expr): $layer:expr;)+) => {$(
        #[test]
        fn $test() {
            check(|_| $layer, |layer, device| layer.forward(input($shape, device)));
        }
    )+};
}

plain! {
    adaptive_avg_pool1d([2, 3, 9]): AdaptiveAvgPool1dConfig::new(4).init();
    adaptive_avg_pool2d([2, 3, 9, 8]): AdaptiveAvgPool2dConfig::new([4, 3]).init();
    adaptive_avg_pool3d([1, 2, 5, 6, 7]): AdaptiveAvgPool3dConfig::new([2, 3, 4]).init();
    avg_pool1d([2, 3, 9]): AvgPool1dConfig::new(3).init();
    avg_pool2d([2, 3, 9, 8]): AvgPool2dConfig::new([3, 2]).init();
    max_pool1d([2, 3, 9]): MaxPool1dConfig::new(3).with_stride(2).init();
    max_pool2d([2, 3, 9, 8]): MaxPool2dConfig::new([3, 2]).with_strides([2, 1]).init();
    interpolate1d([2, 3, 9]): {
        Interpolate1dConfig::new().with_output_size(Some(5)).with_mode(InterpolateMode::Linear).init()
    };
    interpolate2d([2, 3, 9, 8]): {
        Interpolate2dConfig::new().with_scale_factor(Some([2.0, 1.5])).init()
    };
    unfold4d([2, 3, 9, 8]): Unfold4dConfig::new([3, 2]).with_stride([2, 1]).init();
    fold4d([2, 18, 42]): Fold4dConfig::new([8, 8], [3, 2]).with_stride([1, 1]).init();
    pixel_shuffle([2, 12, 3, 4]): PixelShuffleConfig::new(2).init();
    pixel_unshuffle([2, 3, 4, 6]): PixelUnshuffleConfig::new(2).init();
    identity([2, 3]): Identity::new();
    local_response_norm([2, 6, 4]): LocalResponseNormConfig::new(3).init();
    dropout([4, 12]): DropoutConfig::new(0.3).init();
    gaussian_noise([4, 12]): GaussianNoiseConfig::new(0.3).init();
    celu([4, 12]): CeluConfig::new().init();
    elu([4, 12]): EluConfig::new().init();
    gelu([4, 12]): Gelu::new();
    gelu_approximate([4, 12]): Gelu::new_approximate();
    glu([4, 12]): GLU::new(1);
    hard_shrink([4, 12]): HardShrinkConfig::new().init();
    hard_sigmoid([4, 12]): HardSigmoidConfig::new().init();
    hard_swish([4, 12]): HardSwish::new();
    hardtanh([4, 12]): HardtanhConfig::new().init();
    leaky_relu([4, 12]): LeakyReluConfig::new().init();
    log_sigmoid([4, 12]): LogSigmoid::new();
    mish([4, 12]): Mish::new();
    r_relu([4, 12]): RReluConfig::new().init();
    relu([4, 12]): Relu::new();
    relu6([4, 12]): Relu6::new();
    selu([4, 12]): Selu::new();
    shrink([4, 12]): ShrinkConfig::new().init();
    si_lu([4, 12]): SiLU::new();
    sigmoid_([4, 12]): Sigmoid::new();
    soft_shrink([4, 12]): SoftShrinkConfig::new().init();
    softplus([4, 12]): SoftplusConfig::new().init();
    softsign([4, 12]): Softsign::new();
    tanh([4, 12]): Tanh::new();
    tanhshrink([4, 12]): Tanhshrink::new();
    threshold([4, 12]): ThresholdConfig::new(0.1, 7.0).init();
    thresholded_relu([4, 12]): ThresholdedReluConfig::new().init();
}

kinds! {
    linear: |device| LinearConfig::new(6, 5).init(device),
        |linear, device| linear.forward(input([2, 3, 6], device));
    linear_by_columns: |device| LinearConfig::new(6, 5).with_layout(LinearLayout::Col).init(device),
        |linear, device| linear.forward(input([3, 6], device));
    embedding: |device| EmbeddingConfig::new(50, 6).init(device),
        |embedding, device| embedding.forward(labels([2, 7], 50, device));
    conv1d: |device| Conv1dConfig::new(6, 4, 3).with_groups(2).init(device),
        |conv, device| conv.forward(input([2, 6, 11], device));
    conv2d: |device| Conv2dConfig::new([6, 4], [3, 4]).with_stride([2, 1]).init(device),
        |conv, device| conv.forward(input([2, 6, 7, 6], device));
    conv3d: |device| Conv3dConfig::new([4, 6], [3, 2, 4]).with_groups(2).init(device),
        |conv, device| conv.forward(input([1, 4, 4, 4, 4], device));
    conv_transpose1d: |device| ConvTranspose1dConfig::new([6, 4], 3).with_groups(2).init(device),
        |conv, device| conv.forward(input([2, 6, 3], device));
    conv_transpose2d: |device| ConvTranspose2dConfig::new([6, 4], [3, 4]).init(device),
        |conv, device| conv.forward(input([1, 6, 3, 3], device));
    conv_transpose3d: |device| ConvTranspose3dConfig::new([4, 6], [3, 2, 4]).init(device),
        |conv, device| conv.forward(input([1, 4, 2, 2, 2], device));
    deform_conv2d: |device| DeformConv2dConfig::new([6, 4], [3, 4])
            .with_weight_groups(2)
            .with_offset_groups(3)
            .init(device),
        |conv, device| {
            let offset = input([1, 3 * 2 * 3 * 4, 3, 2], device);
            conv.forward(input([1, 6, 5, 5], device), offset, None)
        };
    batch_norm: |device| BatchNormConfig::new(12).init(device),
        |norm, device| norm.forward(input([4, 12, 5], device));
    group_norm: |device| GroupNormConfig::new(3, 12).init(device),
        |norm, device| norm.forward(input([4, 12, 5], device));
    instance_norm: |device| InstanceNormConfig::new(12).init(device),
        |norm, device| norm.forward(input([4, 12, 5], device));
    layer_norm: |device| LayerNormConfig::new(12).init(device),
        |norm, device| norm.forward(input([4, 12], device));
    rms_norm: |device| RmsNormConfig::new(12).init(device),
        |norm, device| norm.forward(input([4, 12], device));
    p_relu: |device| PReluConfig::new().with_num_parameters(12).init(device),
        |activation, device| activation.forward(input([4, 12], device));
    swi_glu: |device| SwiGluConfig::new(6, 5).with_bias(true).init(device),
        |activation, device| activation.forward(input([3, 6], device));
    activation: |device| ActivationConfig::from(SwiGluConfig::new(6, 5)).init(device),
        |activation, device| activation.forward(input([3, 6], device));
    multi_head_attention: |device| MultiHeadAttentionConfig::new(16, 4).init(device),
        |attention, device| {
            let [query, memory] = [input([2, 3, 16], device), input([2, 5, 16], device)];
            let output = attention.forward(MhaInput::new(query, memory.clone(), memory));
            (output.weights, output.context)
        };
    cross_attention: |device| CrossAttentionConfig::new(18, 14, 6, 3, 8).init(device),
        |attention, device| {
            let [query, context] = [input([2, 3, 18], device), input([2, 5, 14], device)];
            attention.forward(query, context, None)
        };
    position_wise_feed_forward: |device| PositionWiseFeedForwardConfig::new(8, 12).init(device),
        |feed_forward, device| feed_forward.forward(input([2, 3, 8], device));
    transformer_encoder: |device| TransformerEncoderConfig::new(16, 24, 4, 2).init(device),
        |encoder, device| {
            encoder.forward(TransformerEncoderInput::new(input([2, 3, 16], device)))
        };
    transformer_decoder: |device| TransformerDecoderConfig::new(16, 24, 4, 2).init(device),
        |decoder, device| {
            let [target, memory] = [input([2, 3, 16], device), input([2, 5, 16], device)];
            decoder.forward(TransformerDecoderInput::new(target, memory))
        };
    positional_encoding: |device| {
            PositionalEncodingConfig::new(16).with_max_sequence_size(50).init(device)
        },
        |encoding, device| encoding.forward(input([2, 9, 16], device));
    rotary_encoding: |device| RotaryEncodingConfig::new(50, 16).init(device),
        |encoding, device| encoding.forward(input([2, 4, 9, 16], device));
    gate_controller: |device| {
            GateController::new(6, 8, true, Initializer::XavierNormal { gain: 1.0 }, device)
        },
        |gate, device| gate.gate_product(input([2, 6], device), input([2, 8], device));
    rnn: |device| RnnConfig::new(6, 8, true).init(device),
        |rnn, device| {
            let (outputs, state) = rnn.forward(input([2, 3, 6], device), None);
            (outputs, state.hidden)
        };
    bi_rnn: |device| BiRnnConfig::new(6, 8, true).init(device),
        |rnn, device| rnn.forward(input([2, 3, 6], device), None).0;
    gru: |device| GruConfig::new(6, 8, true).init(device),
        |gru, device| gru.forward(input([2, 3, 6], device), None);
    bi_gru: |device| BiGruConfig::new(6, 8, true).init(device),
        |gru, device| gru.forward(input([2, 3, 6], device), None).0;
    lstm: |device| LstmConfig::new(6, 8, true).init(device),
        |lstm, device| {
            let (outputs, state) = lstm.forward(input([2, 3, 6], device), None);
            (outputs, (state.cell, state.hidden))
        };
    bi_lstm: |device| BiLstmConfig::new(6, 8, true).init(device),
        |lstm, device| lstm.forward(input([2, 3, 6], device), None).0;
    cosine_similarity: |_device| CosineSimilarityConfig::new().init(),
        |similarity, device| similarity.forward(input([4, 6], device), ones([4, 6], device));
    pairwise_distance: |_device| PairwiseDistanceConfig::new().init(),
        |distance, device| distance.forward(input([4, 6], device), ones([4, 6], device));
}

const SHAPE: [usize; 2] = [6, 5];

kinds! {
    cross_entropy_loss: |device| {
            CrossEntropyLossConfig::new().with_weights(Some(vec![0.5; 5])).init(device)
        },
        |loss, device| loss.forward(input(SHAPE, device), labels([6], 5, device));
    binary_cross_entropy_loss: |device| BinaryCrossEntropyLossConfig::new().init(device),
        |loss, device| {
            loss.forward(sigmoid(input(SHAPE, device)), labels(SHAPE, 2, device))
        };
    cosine_embedding_loss: |_device| CosineEmbeddingLossConfig::new().init(),
        |loss, device| {
            let signs = labels([6], 2, device).mul_scalar(2).sub_scalar(1);
            loss.forward_no_reduction(input(SHAPE, device), ones(SHAPE, device), signs)
        };
    ctc_loss: |_device| CTCLossConfig::new().init(),
        |loss, device| loss.forward(
            log_softmax(input([7, 2, 5], device), 2),
            labels([2, 3], 4, device).add_scalar(1),
            ints([7, 6], device),
            ints([3, 2], device),
        );
    gaussian_nll_loss: |_device| GaussianNLLLossConfig::new().init(),
        |loss, device| loss.forward_no_reduction(
            input(SHAPE, device),
            ones(SHAPE, device),
            ones(SHAPE, device),
        );
    hinge_embedding_loss: |_device| HingeEmbeddingLossConfig::new().init(),
        |loss, device| loss.forward_no_reduction(input(SHAPE, device), ones(SHAPE, device));
    huber_loss: |_device| HuberLossConfig::new(0.5).init(),
        |loss, device| loss.forward_no_reduction(input(SHAPE, device), ones(SHAPE, device));
    kl_div_loss: |_device| KLDivLossConfig::new().init(),
        |loss, device| loss.forward_no_reduction(
            log_softmax(input(SHAPE, device), 1),
            ones(SHAPE, device),
        );
    lp_loss: |_device| LpLossConfig::new(3.0).init(),
        |loss, device| loss.forward_no_reduction(input(SHAPE, device), ones(SHAPE, device));
    margin_ranking_loss: |_device| MarginRankingLossConfig::new().init(),
        |loss, device| loss.forward_no_reduction(
            input(SHAPE, device),
            ones(SHAPE, device),
            ones(SHAPE, device),
        );
    mse_loss: |_device| MseLoss::new(),
        |loss, device| loss.forward_no_reduction(input(SHAPE, device), ones(SHAPE, device));
    multi_margin_loss: |_device| MultiMarginLossConfig::new().init(),
        |loss, device| loss.forward_no_reduction(input(SHAPE, device), labels([6], 5, device));
    rnnt_loss: |_device| RNNTLossConfig::new().init(),
        |loss, device| loss.forward(
            input([2, 4, 3, 5], device),
            labels([2, 2], 4, device).add_scalar(1),
            ints([4, 3], device),
            ints([2, 1], device),
        );
    smooth_l1_loss: |_device| SmoothL1LossConfig::new().init(),
        |loss, device| loss.forward(input(SHAPE, device), ones(SHAPE, device));
    soft_margin_loss: |_device| SoftMarginLoss::new(),
        |loss, device| loss.forward_no_reduction(input(SHAPE, device), ones(SHAPE, device));
    triplet_margin_loss: |_device| TripletMarginLossConfig::new().init(),
        |loss, device| loss.forward(
            input(SHAPE, device),
            ones(SHAPE, device),
            input(SHAPE, device).neg(),
            Reduction::Sum,
        );
}

/// It checks its targets, which only values can tell.
#[test]
fn poisson_nll_loss() {
    let meta = Meta::build(|_| PoissonNllLossConfig::new().init()).unwrap();
    let error = meta
        .trace(|loss, device| loss.forward_no_reduction(input(SHAPE, device), ones(SHAPE, device)))
        .unwrap_err();
    assert!(matches!(error, TraceError::ValueRead { .. }), "{error}");
}
