//! Losses. Two of them hold class weights.

use burn::nn::loss::{
    BinaryCrossEntropyLoss, CTCLoss, CosineEmbeddingLoss, CrossEntropyLoss, GaussianNLLLoss,
    HingeEmbeddingLoss, HuberLoss, KLDivLoss, LpLoss, MarginRankingLoss, MseLoss, MultiMarginLoss,
    PoissonNllLoss, RNNTLoss, SmoothL1Loss, SoftMarginLoss, TripletMarginLoss,
};

use super::fields;
use crate::leaves::no_tensor;
use crate::{InitPlan, ResetParameters};

fields! {
    CrossEntropyLoss { weights }
    BinaryCrossEntropyLoss { weights }
}

/// Class weights are the user's data: what was recorded, or what the loss holds, stands.
impl ResetParameters for CrossEntropyLoss {
    fn reset_parameters(&self, _plan: &mut InitPlan<'_>) {}
}

/// Class weights are the user's data: what was recorded, or what the loss holds, stands.
impl ResetParameters for BinaryCrossEntropyLoss {
    fn reset_parameters(&self, _plan: &mut InitPlan<'_>) {}
}

no_tensor!(
    CTCLoss,
    CosineEmbeddingLoss,
    GaussianNLLLoss,
    HingeEmbeddingLoss,
    HuberLoss,
    KLDivLoss,
    LpLoss,
    MarginRankingLoss,
    MseLoss,
    MultiMarginLoss,
    PoissonNllLoss,
    RNNTLoss,
    SmoothL1Loss,
    SoftMarginLoss,
    TripletMarginLoss,
);
