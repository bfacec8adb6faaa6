//! What an optimizer may stand over, and what its steps do.

use std::collections::BTreeMap;

use burn::module::{Module, Param};
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::optim::grad_clipping::GradientClippingConfig;
use burn::optim::{
    AdaGradConfig, AdafactorConfig, AdamConfig, AdamWConfig, AdanConfig, GradientsParams,
    LambConfig, LionConfig, ModuleOptimizer, MuonConfig, Optimizer, RmsPropConfig, SgdConfig,
};
use burn::tensor::{Device, Distribution, Int, Tensor, TensorData};
use burn_fabric::burn_materialize::{Pass, Site, Slot, traverse};
use burn_fabric::prelude::*;
use burn_fabric::{Custom, FabricError, OptimizerConfig};

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Mlp {
    hidden: Linear,
    output: Linear,
}

impl Mlp {
    fn new(device: &Device) -> Self {
        Self {
            hidden: LinearConfig::new(5, 8).with_bias(false).init(device),
            output: LinearConfig::new(8, 4).with_bias(false).init(device),
        }
    }

    fn loss(&self, x: &Tensor<2>) -> Tensor<1> {
        self.output
            .forward(self.hidden.forward(x.clone()).tanh())
            .powi_scalar(2)
            .mean()
    }
}

fn fabric() -> Fabric {
    Fabric::builder().seed(3).build().unwrap()
}

fn input(device: &Device) -> Tensor<2> {
    let n = Tensor::<1, Int>::arange(0..35, device).float();
    n.mul_scalar(0.37).sin().reshape([7, 5])
}

fn values<M: Materialize>(module: &M) -> BTreeMap<String, TensorData> {
    struct Values(BTreeMap<String, TensorData>);
    impl Pass for Values {
        fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
            self.0.insert(
                site.path().to_owned(),
                burn_meta::read(slot.tensor()).unwrap(),
            );
        }
    }
    let mut pass = Values(BTreeMap::new());
    traverse(module.clone(), &mut pass);
    pass.0
}

#[test]
fn case_06_an_optimizer_before_setup_is_refused_with_names_and_the_right_order() {
    let fabric = fabric();
    let lazy = Mlp::new(&Device::flex());
    let error = fabric
        .setup_optimizer(&lazy, AdamWConfig::new())
        .unwrap_err();
    assert!(matches!(&error, FabricError::NotReal { unreal, total: 2, .. } if unreal.len() == 2));
    let message = error.to_string();
    for part in ["`hidden.weight`", "`output.weight`", "fabric.setup(model)?"] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!lazy.hidden.weight.is_initialized());

    // Real, but not set up.
    lazy.hidden.weight.val();
    lazy.output.weight.val();
    let error = fabric
        .setup_optimizer(&lazy, AdamWConfig::new())
        .unwrap_err();
    assert!(matches!(error, FabricError::NotSetUp { .. }), "{error}");
}

#[test]
fn an_optimizer_over_a_frozen_module_is_refused() {
    let fabric = fabric();
    let meta = fabric
        .init_module(|device| Mlp::new(device).no_grad())
        .unwrap();
    let model = fabric.setup(meta).unwrap();
    let error = fabric
        .setup_optimizer(&model, SgdConfig::new())
        .unwrap_err();
    assert!(
        matches!(error, FabricError::NothingTrainable { .. }),
        "{error}"
    );
}

#[test]
fn an_invalid_configuration_is_an_error() {
    let fabric = fabric();
    let model = fabric.setup(Mlp::new(&Device::flex())).unwrap();
    let config = AdafactorConfig::new().with_epsilon_1(-1.0);
    let error = fabric.setup_optimizer(&model, config).unwrap_err();
    assert!(
        matches!(error, FabricError::OptimizerConfig { .. }),
        "{error}"
    );
}

#[test]
fn a_module_that_cannot_be_recorded_is_an_error() {
    let error = fabric().init_module(|device| {
        let mlp = Mlp::new(device);
        assert_ne!(mlp.hidden.weight.val().sum().into_scalar::<f32>(), 0.0);
        mlp
    });
    let error = error.unwrap_err();
    assert!(matches!(error, FabricError::Materialize(_)), "{error}");
}

#[test]
fn a_meta_device_is_no_accelerator() {
    let error = Fabric::builder()
        .accelerator(Accelerator::Device(Device::capture()))
        .build();
    assert!(matches!(
        error.unwrap_err(),
        FabricError::MetaAccelerator { .. }
    ));
}

#[test]
fn a_step_over_another_module_or_without_gradients_changes_nothing() {
    let fabric = fabric();
    let mut model = fabric.setup(Mlp::new(&Device::flex())).unwrap();
    let mut other = fabric.setup(Mlp::new(&Device::flex())).unwrap();
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let x = input(fabric.device());
    let before = (values(&*model), values(&*other));

    let gradients = fabric.backward(other.loss(&x), &other).unwrap();
    let error = optimizer.step(0.1, &mut other, gradients).unwrap_err();
    assert!(matches!(error, FabricError::OtherModule), "{error}");
    // The other module's gradients match none of this one's parameters.
    let gradients = fabric.backward(other.loss(&x), &other).unwrap();
    let error = optimizer.step(0.1, &mut model, gradients).unwrap_err();
    assert!(matches!(&error, FabricError::NoGradients { parameters } if parameters.len() == 2));
    assert_eq!((values(&*model), values(&*other)), before);

    let untracked = model
        .module()
        .unwrap()
        .valid()
        .loss(&input(&Device::flex()));
    let error = fabric.backward(untracked, &model).unwrap_err();
    assert!(matches!(error, FabricError::UntrackedLoss), "{error}");
}

#[test]
fn a_panic_in_a_step_leaves_a_module_that_says_so() {
    #[derive(Clone)]
    struct Panics;
    impl Optimizer for Panics {
        type State<const D: usize> = burn::optim::AdamWState<D>;
        fn step<const D: usize>(
            &self,
            _: f64,
            _: Tensor<D>,
            _: Tensor<D>,
            _: Option<Self::State<D>>,
        ) -> (Tensor<D>, Option<Self::State<D>>) {
            panic!("the optimizer's own")
        }
        fn to_device<const D: usize>(state: Self::State<D>, _: &Device) -> Self::State<D> {
            state
        }
    }
    let fabric = fabric();
    let mut model = fabric.setup(Mlp::new(&Device::flex())).unwrap();
    let mut optimizer = fabric.setup_optimizer(&model, Custom(Panics)).unwrap();
    let x = input(fabric.device());
    let gradients = || fabric.backward(model.loss(&x), &model).unwrap();
    let (first, second) = (gradients(), gradients());
    let step = std::panic::AssertUnwindSafe(|| optimizer.step(0.1, &mut model, first));
    assert!(std::panic::catch_unwind(step).is_err());
    let error = optimizer.step(0.1, &mut model, second).unwrap_err();
    assert!(matches!(error, FabricError::Poisoned), "{error}");
    assert!(matches!(model.summary(), Err(FabricError::Poisoned)));
    assert!(matches!(model.into_inner(), Err(FabricError::Poisoned)));
}

/// Ten steps through our engine and through Burn's, from the same weights, give the same bits.
fn equals_burn(config: impl OptimizerConfig, mut burn: ModuleOptimizer, rate: f64) {
    let fabric = fabric();
    let mut ours = fabric.setup(Mlp::new(&Device::flex())).unwrap();
    let mut theirs = ours.module().unwrap().clone();
    let mut optimizer = fabric.setup_optimizer(&ours, config).unwrap();
    let x = input(fabric.device());
    let start = values(&theirs);
    for _ in 0..10 {
        let gradients = fabric.backward(ours.loss(&x), &ours).unwrap();
        optimizer.step(rate, &mut ours, gradients).unwrap();
        let gradients = GradientsParams::from_grads(theirs.loss(&x).backward(), &theirs);
        theirs = burn.step(rate, theirs, gradients);
    }
    assert_eq!(values(ours.module().unwrap()), values(&theirs));
    assert_ne!(values(&theirs), start);
}

macro_rules! each_configuration {
    ($($name:ident: $config:expr;)+) => {$(
        #[test]
        fn $name() {
            equals_burn($config, $config.init(), 1e-2);
        }
    )+};
}

each_configuration! {
    ada_grad_steps_as_in_burn: AdaGradConfig::new();
    adafactor_steps_as_in_burn: AdafactorConfig::new();
    adam_steps_as_in_burn: AdamConfig::new();
    adam_w_steps_as_in_burn: AdamWConfig::new().with_weight_decay(0.1);
    adan_steps_as_in_burn: AdanConfig::new();
    lamb_steps_as_in_burn: LambConfig::new();
    lion_steps_as_in_burn: LionConfig::new();
    muon_steps_as_in_burn: MuonConfig::new();
    rms_prop_steps_as_in_burn: RmsPropConfig::new();
    sgd_steps_as_in_burn: SgdConfig::new();
    clipping_by_value_is_as_in_burn:
        SgdConfig::new().with_gradient_clipping(Some(GradientClippingConfig::Value(1e-3)));
    clipping_by_norm_is_as_in_burn:
        AdamWConfig::new().with_grad_clipping(Some(GradientClippingConfig::Norm(1e-3)));
}

/// Embedding and head are one parameter.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Tied {
    embedding: Embedding,
    head: Param<Tensor<2>>,
}

impl Tied {
    fn new(device: &Device) -> Self {
        let embedding = EmbeddingConfig::new(7, 3).init(device);
        Self {
            head: embedding.weight.clone(),
            embedding,
        }
    }
}

/// The same function of one parameter.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Shared {
    weight: Param<Tensor<2>>,
}

fn tokens(device: &Device) -> Tensor<2, Int> {
    Tensor::from_ints([[0, 1, 6], [3, 3, 2]], device)
}

fn logits(embedding: Tensor<2>, head: Tensor<2>) -> Tensor<1> {
    let hidden = burn::tensor::module::embedding(embedding, tokens(&head.device()));
    hidden
        .tanh()
        .matmul(head.transpose().unsqueeze())
        .sub_scalar(0.5)
        .powi_scalar(2)
        .mean()
}

#[test]
fn case_07_a_tie_survives_training_as_one_parameter() {
    let fabric = fabric();
    for from_meta in [true, false] {
        let mut tied = if from_meta {
            fabric
                .setup(fabric.init_module(Tied::new).unwrap())
                .unwrap()
        } else {
            fabric.setup(Tied::new(&Device::flex())).unwrap()
        };
        assert_eq!(tied.summary().unwrap().parameters(), 21);
        let weight = tied.head.val().inner();
        let shared = Shared {
            weight: Param::from_tensor(weight),
        };
        let mut shared = fabric.setup(shared).unwrap();
        let config = || AdamWConfig::new().with_weight_decay(0.1);
        let mut tied_optimizer = fabric.setup_optimizer(&tied, config()).unwrap();
        let mut shared_optimizer = fabric.setup_optimizer(&shared, config()).unwrap();
        for _ in 0..20 {
            let loss = logits(tied.embedding.weight.val(), tied.head.val());
            let gradients = fabric.backward(loss, &tied).unwrap();
            tied_optimizer.step(1e-2, &mut tied, gradients).unwrap();
            let loss = logits(shared.weight.val(), shared.weight.val());
            let gradients = fabric.backward(loss, &shared).unwrap();
            shared_optimizer.step(1e-2, &mut shared, gradients).unwrap();
        }
        let weight = shared.weight.to_data();
        assert_eq!(tied.head.to_data(), weight);
        assert_eq!(tied.embedding.weight.to_data(), weight);
        assert_eq!(tied.head.id, tied.embedding.weight.id);
    }
}

#[test]
fn case_14_every_trainable_parameter_changes_in_one_step() {
    let fabric = fabric();
    let mut model = fabric.setup(fabric.init_module(Mlp::new).unwrap()).unwrap();
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let before = values(&*model);
    let gradients = fabric
        .backward(model.loss(&input(fabric.device())), &model)
        .unwrap();
    optimizer.step(0.5, &mut model, gradients).unwrap();
    for (path, after) in values(&*model) {
        assert_ne!(after, before[&path], "{path}");
    }
    assert!(model.hidden.weight.is_require_grad());
}

#[test]
fn two_modules_of_one_fabric_start_apart_and_a_reset_starts_over() {
    let fabric = fabric();
    let mut first = fabric.setup(fabric.init_module(Mlp::new).unwrap()).unwrap();
    let second = fabric.setup(fabric.init_module(Mlp::new).unwrap()).unwrap();
    let start = values(&*first);
    assert_ne!(start, values(&*second));
    first.reset_parameters(9).unwrap();
    assert_ne!(values(&*first), start);
    first.reset_parameters(3).unwrap();
    assert_eq!(values(&*first), start);
    assert!(first.hidden.weight.is_require_grad());
    let again = Fabric::builder().seed(3).build().unwrap();
    assert_eq!(
        values(&*again.setup(again.init_module(Mlp::new).unwrap()).unwrap()),
        start
    );
}

#[test]
fn a_lazy_module_shared_with_a_clone_is_initialised_by_burn_and_reported() {
    let fabric = fabric();
    let lazy = Mlp::new(&Device::flex());
    let clone = lazy.clone();
    let model = fabric.setup(lazy).unwrap();
    assert_eq!(
        model.report().shared_lazy,
        ["hidden.weight", "output.weight"]
    );
    assert_eq!(values(&*model), values(&clone));
    let x = Tensor::<2>::random([2, 5], Distribution::Default, fabric.device());
    assert_eq!(fabric.backward(model.loss(&x), &model).unwrap().len(), 2);
}
