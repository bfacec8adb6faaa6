//! A tie is one parameter: one gradient, one state, one step, however many paths.

mod support;

use burn::module::{Module, Param};
use burn::optim::decay::WeightDecayConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{
    AdaGradConfig, AdafactorConfig, AdamConfig, AdamWConfig, AdanConfig, LambConfig, LionConfig,
    MuonConfig, RmsPropConfig, SgdConfig,
};
use burn::tensor::{Device, TensorData};
use burn_fabric::OptimizerConfig;
use burn_fabric::prelude::*;
use support::{Shared, Tied, data, device, fabric};

/// 20 steps of the tied model and of the one written with one shared parameter: the same gradients
/// and values, bit for bit.
fn equals_one_shared_parameter(config: impl OptimizerConfig + Clone) {
    let fabric = fabric();
    for from_meta in [true, false] {
        let mut tied = if from_meta {
            fabric
                .setup(fabric.init_module(Tied::new).unwrap())
                .unwrap()
        } else {
            fabric.setup(Tied::new(&device())).unwrap()
        };
        assert_eq!(tied.summary().unwrap().parameters(), 21);
        let weight = Param::from_tensor(tied.head.val().inner());
        let mut shared = fabric.setup(Shared { weight }).unwrap();
        let mut of_tied = fabric.setup_optimizer(&tied, config.clone()).unwrap();
        let mut of_shared = fabric.setup_optimizer(&shared, config.clone()).unwrap();
        assert_eq!(of_tied.paths().collect::<Vec<_>>(), ["embedding.weight"]);
        let start = data(shared.weight.val());
        for _ in 0..20 {
            let gradients = fabric.backward(tied.loss(), &tied).unwrap();
            let expected = fabric.backward(shared.loss(), &shared).unwrap();
            let gradient = |gradients: &burn::optim::GradientsParams, id| -> TensorData {
                data(gradients.get::<2>(id).unwrap())
            };
            assert_eq!(
                gradient(&gradients, tied.head.id),
                gradient(&expected, shared.weight.id)
            );
            let report = of_tied.step(1e-2, &mut tied, gradients).unwrap();
            assert_eq!(report.updated, 1);
            of_shared.step(1e-2, &mut shared, expected).unwrap();
        }
        let weight = shared.weight.to_data();
        assert_ne!(weight, start);
        assert_eq!(tied.head.to_data(), weight);
        assert_eq!(tied.embedding.weight.to_data(), weight);
        assert_eq!(tied.head.id, tied.embedding.weight.id);
    }
}

macro_rules! each_configuration {
    ($($name:ident: $config:expr;)+) => {$(
        #[test]
        fn $name() {
            equals_one_shared_parameter($config);
        }
    )+};
}

fn decay() -> Option<WeightDecayConfig> {
    Some(WeightDecayConfig::new(0.1))
}

each_configuration! {
    case_07_a_tie_survives_ada_grad: AdaGradConfig::new().with_weight_decay(decay());
    case_07_a_tie_survives_adafactor: AdafactorConfig::new().with_weight_decay(0.1);
    case_07_a_tie_survives_adam: AdamConfig::new().with_weight_decay(decay());
    case_07_a_tie_survives_adam_w: AdamWConfig::new().with_weight_decay(0.1);
    case_07_a_tie_survives_adan: AdanConfig::new().with_weight_decay(0.1);
    case_07_a_tie_survives_lamb: LambConfig::new().with_weight_decay(0.1);
    case_07_a_tie_survives_lion: LionConfig::new().with_weight_decay(0.1);
    case_07_a_tie_survives_muon: MuonConfig::new().with_weight_decay(decay());
    case_07_a_tie_survives_rms_prop: RmsPropConfig::new().with_weight_decay(decay());
    case_07_a_tie_survives_sgd: SgdConfig::new()
        .with_weight_decay(decay())
        .with_momentum(Some(MomentumConfig::new()));
}

#[test]
fn a_tie_counts_once_in_the_norm() {
    let fabric = fabric();
    let tied = fabric
        .setup(fabric.init_module(Tied::new).unwrap())
        .unwrap();
    let weight = Param::from_tensor(tied.head.val().inner());
    let shared = fabric.setup(Shared { weight }).unwrap();
    let mut of_tied = fabric.backward(tied.loss(), &tied).unwrap();
    let mut of_shared = fabric.backward(shared.loss(), &shared).unwrap();
    let norm = fabric
        .clip_gradients(&tied, &mut of_tied, None)
        .unwrap()
        .norm;
    let expected = fabric
        .clip_gradients(&shared, &mut of_shared, None)
        .unwrap()
        .norm;
    assert_eq!(norm, expected);
}

#[test]
fn a_tie_that_came_apart_is_put_together_again() {
    let fabric = fabric();
    let mut tied = fabric
        .setup(fabric.init_module(Tied::new).unwrap())
        .unwrap();
    let weight = Param::from_tensor(tied.head.val().inner());
    let mut shared = fabric.setup(Shared { weight }).unwrap();
    let mut of_tied = fabric.setup_optimizer(&tied, AdamWConfig::new()).unwrap();
    let mut of_shared = fabric.setup_optimizer(&shared, AdamWConfig::new()).unwrap();
    for _ in 0..3 {
        // Burn makes two leaves of it here, and the gradient of one would be lost.
        tied.map(|tied| tied.valid().train()).unwrap();
        let gradients = fabric.backward(tied.loss(), &tied).unwrap();
        of_tied.step(1e-2, &mut tied, gradients).unwrap();
        let gradients = fabric.backward(shared.loss(), &shared).unwrap();
        of_shared.step(1e-2, &mut shared, gradients).unwrap();
    }
    assert_eq!(tied.head.to_data(), shared.weight.to_data());
    assert_eq!(tied.head.to_data(), tied.embedding.weight.to_data());
}

#[test]
fn a_tie_that_is_made_later_is_kept_by_the_optimizer_there_is() {
    let fabric = fabric();
    let apart = |device: &Device| {
        let mut tied = Tied::new(device);
        tied.head = Param::from_tensor(burn::tensor::Tensor::ones([7, 3], device));
        tied
    };
    let mut tied = fabric.setup(fabric.init_module(apart).unwrap()).unwrap();
    let embedding = tied.parameters().only(["embedding"]);
    let mut optimizer = fabric
        .setup_optimizer(&embedding, SgdConfig::new())
        .unwrap();
    tied.map(|mut tied| {
        tied.head = tied.embedding.weight.clone();
        tied
    })
    .unwrap();
    for _ in 0..2 {
        let before = tied.head.to_data();
        let gradients = fabric.backward(tied.loss(), &tied).unwrap();
        optimizer.step(0.1, &mut tied, gradients).unwrap();
        assert_ne!(tied.head.to_data(), before);
        assert_eq!(tied.head.to_data(), tied.embedding.weight.to_data());
    }
}

#[test]
fn a_pattern_over_either_path_is_a_pattern_over_the_tie() {
    let fabric = fabric();
    let tied = fabric
        .setup(fabric.init_module(Tied::new).unwrap())
        .unwrap();
    let first = fabric.setup_optimizer(&tied.parameters().only(["head"]), SgdConfig::new());
    let _first = first.unwrap();
    let second = fabric.setup_optimizer(&tied.parameters().only(["embedding"]), SgdConfig::new());
    let error = second.unwrap_err();
    assert!(matches!(error, FabricError::Overlap { .. }), "{error}");
}
