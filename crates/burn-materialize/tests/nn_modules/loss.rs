use burn::nn::loss::{
    BinaryCrossEntropyLossConfig, CTCLossConfig, CosineEmbeddingLossConfig, CrossEntropyLossConfig,
    GaussianNLLLossConfig, HingeEmbeddingLossConfig, HuberLossConfig, KLDivLossConfig,
    LpLossConfig, MarginRankingLossConfig, MseLoss, MultiMarginLossConfig, PoissonNllLossConfig,
    RNNTLossConfig, Reduction, SmoothL1LossConfig, SoftMarginLoss, TripletMarginLossConfig,
};
use burn::tensor::activation::{log_softmax, sigmoid};
use burn::tensor::{Device, Int, Tensor};

use crate::support::{check, flat, input, labels};

/// Losses without a tensor: a constructor, and what the loss says of some input.
macro_rules! losses {
    ($($test:ident: $loss:expr, |$module:ident, $device:ident| $output:expr;)+) => {$(
        #[test]
        fn $test() {
            check(|_| $loss, |$module, $device| flat($output));
        }
    )+};
}

/// `input`, shifted so that a difference remains.
fn other(shape: [usize; 2], device: &Device) -> Tensor<2> {
    input(shape, device).mul_scalar(-0.4).add_scalar(0.1)
}

/// 1 and -1.
fn signs(shape: [usize; 2], device: &Device) -> Tensor<2> {
    labels(shape, 2, device)
        .float()
        .mul_scalar(2.0)
        .sub_scalar(1.0)
}

fn ints(values: [i32; 2], device: &Device) -> Tensor<1, Int> {
    Tensor::from_ints(values, device)
}

const SHAPE: [usize; 2] = [6, 5];

losses! {
    module_cosine_embedding_loss: CosineEmbeddingLossConfig::new().with_margin(0.2).init(),
        |loss, device| loss.forward_no_reduction(
            input(SHAPE, device),
            other(SHAPE, device),
            labels([6], 2, device).mul_scalar(2).sub_scalar(1),
        );
    module_ctc_loss: CTCLossConfig::new().with_zero_infinity(true).init(),
        |loss, device| loss.forward(
            log_softmax(input([7, 2, 5], device), 2),
            labels([2, 3], 4, device).add_scalar(1),
            ints([7, 6], device),
            ints([3, 2], device),
        );
    module_gaussian_nll_loss: GaussianNLLLossConfig::new().with_full(true).init(),
        |loss, device| loss.forward_no_reduction(
            input(SHAPE, device),
            other(SHAPE, device),
            input(SHAPE, device).abs().add_scalar(0.5),
        );
    module_hinge_embedding_loss: HingeEmbeddingLossConfig::new().with_margin(0.4).init(),
        |loss, device| loss.forward_no_reduction(input(SHAPE, device), signs(SHAPE, device));
    module_huber_loss: HuberLossConfig::new(0.5).init(),
        |loss, device| loss.forward_no_reduction(input(SHAPE, device), other(SHAPE, device));
    module_kl_div_loss: KLDivLossConfig::new().with_log_target(true).init(),
        |loss, device| loss.forward_no_reduction(
            log_softmax(input(SHAPE, device), 1),
            log_softmax(other(SHAPE, device), 1),
        );
    module_lp_loss: LpLossConfig::new(3.0).init(),
        |loss, device| loss.forward_no_reduction(input(SHAPE, device), other(SHAPE, device));
    module_margin_ranking_loss: MarginRankingLossConfig::new().with_margin(0.2).init(),
        |loss, device| loss.forward_no_reduction(
            input(SHAPE, device),
            other(SHAPE, device),
            signs(SHAPE, device),
        );
    module_mse_loss: MseLoss::new(),
        |loss, device| loss.forward_no_reduction(input(SHAPE, device), other(SHAPE, device));
    module_multi_margin_loss: MultiMarginLossConfig::new().with_p(2).init(),
        |loss, device| loss.forward_no_reduction(input(SHAPE, device), labels([6], 5, device));
    module_poisson_nll_loss: PoissonNllLossConfig::new().with_full(true).init(),
        |loss, device| loss.forward_no_reduction(
            input(SHAPE, device),
            labels(SHAPE, 4, device).float(),
        );
    module_rnnt_loss: RNNTLossConfig::new().init(),
        |loss, device| loss.forward(
            input([2, 4, 3, 5], device),
            labels([2, 2], 4, device).add_scalar(1),
            ints([4, 3], device),
            ints([2, 1], device),
        );
    module_smooth_l1_loss: SmoothL1LossConfig::new().with_beta(0.5).init(),
        |loss, device| loss.forward(input(SHAPE, device), other(SHAPE, device));
    module_soft_margin_loss: SoftMarginLoss::new(),
        |loss, device| loss.forward_no_reduction(input(SHAPE, device), signs(SHAPE, device));
    module_triplet_margin_loss: TripletMarginLossConfig::new().with_margin(0.3).init(),
        |loss, device| loss.forward(
            input(SHAPE, device),
            other(SHAPE, device),
            input(SHAPE, device).neg(),
            Reduction::Sum,
        );
}

#[test]
fn module_cross_entropy_loss() {
    let config = CrossEntropyLossConfig::new().with_pad_tokens(Some(vec![0]));
    for weights in [None, Some(vec![0.5, 1.0, 2.0, 0.1, 3.0])] {
        let config = config.clone().with_weights(weights);
        check(
            |device| config.init(device),
            |loss, device| loss.forward(input(SHAPE, device), labels([6], 5, device)),
        );
    }
}

#[test]
fn module_binary_cross_entropy_loss() {
    for weights in [None, Some(vec![0.5, 1.0, 2.0, 0.1, 3.0])] {
        let config = BinaryCrossEntropyLossConfig::new().with_weights(weights);
        check(
            |device| config.init(device),
            |loss, device| loss.forward(sigmoid(input(SHAPE, device)), labels(SHAPE, 2, device)),
        );
    }
}
