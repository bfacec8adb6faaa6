//! Layers that hold what PyTorch's hold, one to one.

use burn::nn::conv::{
    Conv1dConfig, Conv2dConfig, Conv3dConfig, ConvTranspose1dConfig, ConvTranspose2dConfig,
};
use burn::nn::{
    BatchNormConfig, EmbeddingConfig, GroupNormConfig, InstanceNormConfig, LayerNormConfig,
    LinearConfig, LinearLayout, PReluConfig, PaddingConfig1d, RmsNormConfig,
};
use burn_materialize::{Layout, MaterializeError, Meta, Problem, Weights};
use device_under_test::device;

use crate::{assert_output, data, golden, input, ints, there_and_back};

#[test]
fn linear_layers_in_either_layout() {
    for layout in [LinearLayout::Row, LinearLayout::Col] {
        let config = LinearConfig::new(5, 3).with_layout(layout);
        let linear = there_and_back("linear", Layout::Auto, |device| config.init(device));
        assert_output("linear", linear.forward(input::<2>("linear.input0")));
        // Nothing in the file tells in which layout a square one is.
        let config = LinearConfig::new(4, 4).with_layout(layout);
        let linear = there_and_back("linear_square", Layout::PyTorch, |device| {
            config.init(device)
        });
        assert_output(
            "linear_square",
            linear.forward(input::<2>("linear_square.input0")),
        );
    }
}

#[test]
fn a_square_linear_layer_alone_has_no_layout_that_shows() {
    let meta = Meta::build_for(&device(), |device| LinearConfig::new(4, 4).init(device)).unwrap();
    let weights = Weights::open(golden("linear_square.safetensors")).unwrap();
    let error = meta.load(&device(), &weights).unwrap_err();
    let MaterializeError::Refused(problems) = error else {
        panic!("{error}");
    };
    assert_eq!(problems.0, [Problem::LayoutUnknown]);
}

#[test]
fn embedding() {
    let embedding = there_and_back("embedding", Layout::Auto, |device| {
        EmbeddingConfig::new(7, 3).init(device)
    });
    assert_output("embedding", embedding.forward(ints("embedding.input0")));
}

#[test]
fn convolutions() {
    let conv = there_and_back("conv1d", Layout::Auto, |device| {
        let config = Conv1dConfig::new(2, 4, 3).with_stride(2);
        config
            .with_padding(PaddingConfig1d::Explicit(1, 1))
            .init(device)
    });
    assert_output("conv1d", conv.forward(input("conv1d.input0")));
    let conv = there_and_back("conv2d", Layout::Auto, |device| {
        let config = Conv2dConfig::new([4, 6], [3, 2]).with_dilation([1, 2]);
        config.with_groups(2).init(device)
    });
    assert_output("conv2d", conv.forward(input("conv2d.input0")));
    let conv = there_and_back("conv3d", Layout::Auto, |device| {
        let config = Conv3dConfig::new([2, 3], [2, 2, 2]);
        config.with_bias(false).init(device)
    });
    assert_output("conv3d", conv.forward(input("conv3d.input0")));
    let conv = there_and_back("conv_transpose1d", Layout::Auto, |device| {
        let config = ConvTranspose1dConfig::new([3, 2], 3).with_stride(2);
        config.with_padding(1).with_padding_out(1).init(device)
    });
    assert_output(
        "conv_transpose1d",
        conv.forward(input("conv_transpose1d.input0")),
    );
    let conv = there_and_back("conv_transpose2d", Layout::Auto, |device| {
        let config = ConvTranspose2dConfig::new([4, 6], [2, 3]).with_stride([1, 2]);
        config.with_groups(2).init(device)
    });
    assert_output(
        "conv_transpose2d",
        conv.forward(input("conv_transpose2d.input0")),
    );
}

#[test]
fn norms() {
    let norm = there_and_back("group_norm", Layout::Auto, |device| {
        GroupNormConfig::new(2, 4).init(device)
    });
    assert_output("group_norm", norm.forward(input::<3>("group_norm.input0")));
    let norm = there_and_back("instance_norm", Layout::Auto, |device| {
        InstanceNormConfig::new(3).init(device)
    });
    assert_output(
        "instance_norm",
        norm.forward(input::<4>("instance_norm.input0")),
    );
    let norm = there_and_back("layer_norm", Layout::Auto, |device| {
        LayerNormConfig::new(4).init(device)
    });
    assert_output("layer_norm", norm.forward(input::<3>("layer_norm.input0")));
    // PyTorch's own epsilon, unless one is given, is the smallest of the dtype; Burn's is 1e-5.
    let norm = there_and_back("rms_norm", Layout::Auto, |device| {
        RmsNormConfig::new(4).init(device)
    });
    assert_output("rms_norm", norm.forward(input::<3>("rms_norm.input0")));
}

#[test]
fn batch_norm_with_the_statistics_of_a_training() {
    let norm = there_and_back("batch_norm", Layout::Auto, |device| {
        BatchNormConfig::new(3).init(device)
    });
    let mean = norm.running_mean.value().into_data();
    assert!(
        mean.iter::<f32>().all(|mean| (0.2..0.8).contains(&mean)),
        "{mean:?}"
    );
    assert_output("batch_norm", norm.forward(input::<2>("batch_norm.input0")));
    let weights = Weights::open(golden("batch_norm.safetensors")).unwrap();
    let (_, report) = crate::load(&weights, |device| BatchNormConfig::new(3).init(device));
    assert_eq!(report.ignored, ["num_batches_tracked"]);
    assert_eq!(report.loaded.len(), 4);
}

#[test]
fn prelu() {
    let prelu = there_and_back("prelu", Layout::Auto, |device| {
        PReluConfig::new().with_num_parameters(3).init(device)
    });
    assert_output("prelu", prelu.forward(input::<3>("prelu.input0")));
    assert!(data("prelu.output").iter::<f32>().any(|value| value < 0.0));
}
