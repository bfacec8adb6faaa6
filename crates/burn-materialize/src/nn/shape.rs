//! Layers that only compute: pools, resampling, distances.

use burn::nn::interpolate::{Interpolate1d, Interpolate2d};
use burn::nn::pool::{
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AvgPool1d, AvgPool2d, MaxPool1d,
    MaxPool2d,
};
use burn::nn::{
    CosineSimilarity, Fold4d, Identity, PairwiseDistance, PixelShuffle, PixelUnshuffle, Unfold4d,
};

use crate::leaves::no_tensor;

no_tensor!(
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AvgPool1d,
    AvgPool2d,
    CosineSimilarity,
    Fold4d,
    Identity,
    Interpolate1d,
    Interpolate2d,
    MaxPool1d,
    MaxPool2d,
    PairwiseDistance,
    PixelShuffle,
    PixelUnshuffle,
    Unfold4d,
);
