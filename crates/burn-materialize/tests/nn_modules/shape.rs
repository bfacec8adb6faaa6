use burn::nn::interpolate::{Interpolate1dConfig, Interpolate2dConfig, InterpolateMode};
use burn::nn::pool::{
    AdaptiveAvgPool1dConfig, AdaptiveAvgPool2dConfig, AdaptiveAvgPool3dConfig, AvgPool1dConfig,
    AvgPool2dConfig, MaxPool1dConfig, MaxPool2dConfig,
};
use burn::nn::{
    CosineSimilarityConfig, Fold4dConfig, Identity, PaddingConfig1d, PaddingConfig2d,
    PairwiseDistanceConfig, PixelShuffleConfig, PixelUnshuffleConfig, Unfold4dConfig,
};

use crate::support::{check, flat, input};

/// Layers without a tensor, each with the shape of its input.
macro_rules! layers {
    ($($test:ident($shape:expr) => $layer:expr,)+) => {$(
        #[test]
        fn $test() {
            check(|_| $layer, |layer, device| flat(layer.forward(input($shape, device))));
        }
    )+};
}

layers! {
    module_adaptive_avg_pool1d([2, 3, 9]) => AdaptiveAvgPool1dConfig::new(4).init(),
    module_adaptive_avg_pool2d([2, 3, 9, 8]) => AdaptiveAvgPool2dConfig::new([4, 3]).init(),
    module_adaptive_avg_pool3d([1, 2, 5, 6, 7]) => AdaptiveAvgPool3dConfig::new([2, 3, 4]).init(),
    module_avg_pool1d([2, 3, 9]) => {
        AvgPool1dConfig::new(3).with_padding(PaddingConfig1d::Explicit(1, 1)).init()
    },
    module_avg_pool2d([2, 3, 9, 8]) => {
        AvgPool2dConfig::new([3, 2]).with_padding(PaddingConfig2d::Explicit(1, 1, 1, 1)).init()
    },
    module_max_pool1d([2, 3, 9]) => MaxPool1dConfig::new(3).with_stride(2).init(),
    module_max_pool2d([2, 3, 9, 8]) => MaxPool2dConfig::new([3, 2]).with_strides([2, 1]).init(),
    module_interpolate1d([2, 3, 9]) => {
        Interpolate1dConfig::new().with_output_size(Some(5)).with_mode(InterpolateMode::Linear).init()
    },
    module_interpolate2d([2, 3, 9, 8]) => {
        Interpolate2dConfig::new().with_scale_factor(Some([2.0, 1.5])).init()
    },
    module_unfold4d([2, 3, 9, 8]) => Unfold4dConfig::new([3, 2]).with_stride([2, 1]).init(),
    module_fold4d([2, 18, 42]) => Fold4dConfig::new([8, 8], [3, 2]).with_stride([1, 1]).init(),
    module_pixel_shuffle([2, 12, 3, 4]) => PixelShuffleConfig::new(2).init(),
    module_pixel_unshuffle([2, 3, 4, 6]) => PixelUnshuffleConfig::new(2).init(),
    module_identity([2, 3]) => Identity::new(),
}

#[test]
fn module_cosine_similarity() {
    let config = CosineSimilarityConfig::new().with_eps(1e-3);
    check(
        |_| config.init(),
        |similarity, device| {
            similarity.forward(input([4, 6], device), input([4, 6], device).square())
        },
    );
}

#[test]
fn module_pairwise_distance() {
    let config = PairwiseDistanceConfig::new().with_p(3.0);
    check(
        |_| config.init(),
        |distance, device| distance.forward(input([4, 6], device), input([4, 6], device).square()),
    );
}
