//! What an optimizer may stand over, and what its steps do.

mod support;

use burn::module::{Module, ParamGroup};
use burn::nn::LinearConfig;
use burn::optim::grad_clipping::GradientClippingConfig;
use burn::optim::lr_scheduler::linear::LinearLrSchedulerConfig;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrSchedulerConfig;
use burn::optim::{
    AdaGradConfig, AdafactorConfig, AdamConfig, AdamWConfig, AdanConfig, GradientsParams,
    LambConfig, LionConfig, ModuleOptimizer, MuonConfig, Optimizer, RmsPropConfig, SgdConfig,
};
use burn::tensor::{Device, Tensor, Tolerance};
use burn_fabric::prelude::*;
use burn_fabric::{Custom, FabricError, MissingGradients, OptimizerConfig, SettingProblem};
use support::{Mlp, builder, device, fabric, input, model, values};

#[test]
fn case_06_an_optimizer_before_setup_is_refused_with_names_and_the_right_order() {
    let fabric = fabric();
    let lazy = Mlp::new(&device());
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
fn case_06_a_partly_real_module_is_refused() {
    let partly = Mlp::new(&device());
    partly.hidden.weight.val();
    let error = fabric()
        .setup_optimizer(&partly, SgdConfig::new())
        .unwrap_err();
    let unreal = match &error {
        FabricError::NotReal {
            unreal, total: 2, ..
        } => unreal,
        _ => panic!("{error}"),
    };
    assert_eq!(unreal, &["output.weight"]);
}

#[test]
fn every_setting_out_of_range_is_told() {
    let fabric = fabric();
    let model = model(&fabric);
    let config = AdamWConfig::new()
        .with_beta_1(1.5)
        .with_epsilon(f32::NAN)
        .with_weight_decay(-0.1)
        .with_grad_clipping(Some(GradientClippingConfig::Norm(0.0)));
    let group = ParameterGroup::of(["output"])
        .decay(-1.0)
        .rate_factor(f64::INFINITY);
    let groups = ParameterGroups::new(config.clone()).with(group);
    let error = fabric.setup_optimizer(&model, groups).unwrap_err();
    let FabricError::OptimizerConfig { problems } = &error else {
        panic!("{error}");
    };
    let problem = SettingProblem::OutOfRange {
        setting: "beta_1".to_owned(),
        found: "1.5".to_owned(),
        expected: "at least 0 and below 1",
    };
    assert!(problems.contains(&problem), "{error}");
    let message = error.to_string();
    let expected = [
        "9 settings of the optimizer cannot be used:",
        "`epsilon` is no finite number, and must be a number",
        "`weight_decay` is -0.1",
        "`Norm` is 0, and must be above 0",
        "`the group of [\"output\"]: rate` is inf",
        "`the group of [\"output\"]: weight_decay` is -1, and must be at least 0",
    ];
    for part in expected {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn what_burn_itself_refuses_is_an_error() {
    let fabric = fabric();
    let model = model(&fabric);
    let config = AdafactorConfig::new().with_decay_rate(0.5);
    let error = fabric.setup_optimizer(&model, config).unwrap_err();
    let rejected = |problem: &SettingProblem| matches!(problem, SettingProblem::Rejected { .. });
    assert!(
        matches!(&error, FabricError::OptimizerConfig { problems } if problems.iter().all(rejected)),
        "{error}"
    );
}

#[test]
fn an_optimizer_for_matrices_is_refused_over_vectors() {
    let fabric = fabric();
    let meta = fabric.init_module(|device| LinearConfig::new(3, 2).init(device));
    let model = fabric.setup(meta.unwrap()).unwrap();
    let error = fabric
        .setup_optimizer(&model, MuonConfig::new())
        .unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, FabricError::Rank { .. }), "{message}");
    assert!(
        message.contains("MuonConfig") && message.contains("`bias [2]`"),
        "{message}"
    );

    let groups = ParameterGroups::new(MuonConfig::new())
        .with(ParameterGroup::of(["**.bias"]).optimizer(AdamWConfig::new()));
    assert!(fabric.setup_optimizer(&model, groups).is_ok());
}

#[test]
fn any_scheduler_gives_the_rate_and_what_is_no_number_is_refused() {
    let fabric = fabric();
    let (mut scheduled, mut plain) = (model(&fabric), model(&fabric));
    plain.reset_parameters(3).unwrap();
    scheduled.reset_parameters(3).unwrap();
    let mut first = fabric
        .setup_optimizer(&scheduled, SgdConfig::new())
        .unwrap();
    let mut second = fabric.setup_optimizer(&plain, SgdConfig::new()).unwrap();
    let x = input(fabric.device());
    // Burn's own groups of rates are by path as well.
    let mut scheduler =
        ModuleLrSchedulerConfig::new(LinearLrSchedulerConfig::new(1e-1, 1e-2, 4).into())
            .with_group(ParamGroup::from_path("output.weight"), 0.0)
            .init()
            .unwrap();
    let mut rate = LinearLrSchedulerConfig::new(1e-1, 1e-2, 4).init().unwrap();
    let start = scheduled.output.weight.to_data();
    for _ in 0..3 {
        let gradients = fabric.backward(scheduled.loss(&x), &scheduled).unwrap();
        first
            .step(scheduler.step(), &mut scheduled, gradients)
            .unwrap();
        let gradients = fabric.backward(plain.loss(&x), &plain).unwrap();
        second.step(rate.step(), &mut plain, gradients).unwrap();
    }
    assert_eq!(scheduled.output.weight.to_data(), start);
    assert_ne!(plain.output.weight.to_data(), start);
    assert_ne!(
        scheduled.hidden.weight.to_data(),
        values(&*model(&fabric))["hidden.weight"]
    );

    let before = values(&*plain);
    let gradients = fabric.backward(plain.loss(&x), &plain).unwrap();
    let error = second.step(f64::NAN, &mut plain, gradients).unwrap_err();
    assert!(
        matches!(&error, FabricError::RateNotFinite { parameters }
            if parameters == &["hidden.weight: NaN", "output.weight: NaN"]),
        "{error}"
    );
    assert_eq!(values(&*plain), before);
}

#[test]
fn case_15_parameters_without_a_gradient_are_told_or_refused() {
    let fabric = fabric();
    let mut model = model(&fabric);
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let half = |model: &FabricModule<Mlp>| {
        let hidden = model.hidden.forward(input(fabric.device()));
        fabric
            .backward(hidden.powi_scalar(2).mean(), model)
            .unwrap()
    };
    let gradients = half(&model);
    let report = optimizer.step(0.1, &mut model, gradients).unwrap();
    assert_eq!(
        (report.updated, report.without_gradient),
        (1, vec!["output.weight".to_owned()])
    );

    // Nothing at all is always an error.
    let before = values(&*model);
    let error = optimizer
        .step(0.1, &mut model, GradientsParams::new())
        .unwrap_err();
    assert!(
        matches!(&error, FabricError::NoGradients { parameters } if parameters.len() == 2),
        "{error}"
    );

    let mut optimizer = optimizer.on_missing_gradients(MissingGradients::Refuse);
    let gradients = half(&model);
    let error = optimizer.step(0.1, &mut model, gradients).unwrap_err();
    assert!(
        matches!(&error, FabricError::MissingGradients { parameters } if parameters == &["output.weight"]),
        "{error}"
    );
    assert_eq!(values(&*model), before);
    // The settings say it for every optimizer.
    let strict = builder()
        .missing_gradients(MissingGradients::Refuse)
        .build()
        .unwrap();
    let mut model = support::model(&strict);
    let mut optimizer = strict.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let hidden = model.hidden.forward(input(strict.device()));
    let gradients = strict.backward(hidden.sum(), &model).unwrap();
    let error = optimizer.step(0.1, &mut model, gradients).unwrap_err();
    assert!(
        matches!(error, FabricError::MissingGradients { .. }),
        "{error}"
    );
}

#[test]
fn a_gradient_of_another_shape_is_refused_before_anything_changes() {
    let fabric = fabric();
    let mut model = model(&fabric);
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let before = values(&*model);
    let mut gradients = fabric
        .backward(model.loss(&input(fabric.device())), &model)
        .unwrap();
    let wrong = Tensor::<2>::ones([4, 8], &device());
    gradients.register(model.output.weight.id, wrong);
    let error = optimizer.step(0.1, &mut model, gradients).unwrap_err();
    assert!(
        matches!(&error, FabricError::GradientShape { gradients } if gradients[0].path == "output.weight"),
        "{error}"
    );
    assert_eq!(values(&*model), before);
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
    let error = builder()
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
    let mut model = fabric.setup(Mlp::new(&device())).unwrap();
    let mut other = fabric.setup(Mlp::new(&device())).unwrap();
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let x = input(fabric.device());
    let before = (values(&*model), values(&*other));

    let gradients = fabric.backward(other.loss(&x), &other).unwrap();
    let error = optimizer.step(0.1, &mut other, gradients).unwrap_err();
    assert!(matches!(error, FabricError::OtherModule), "{error}");
    // The other module's gradients match none of this one's parameters.
    let error = fabric.backward(other.loss(&x), &model).unwrap_err();
    assert!(matches!(error, FabricError::NoGradients { .. }), "{error}");
    let gradients = fabric.backward(other.loss(&x), &other).unwrap();
    let error = optimizer.step(0.1, &mut model, gradients).unwrap_err();
    assert!(matches!(&error, FabricError::NoGradients { parameters } if parameters.len() == 2));
    assert_eq!((values(&*model), values(&*other)), before);

    let untracked = model.module().unwrap().valid().loss(&input(&device()));
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
    let mut model = fabric.setup(Mlp::new(&device())).unwrap();
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

/// That two modules that were trained alike are equal, in every bit. A graphics card's kernels are
/// picked by timing them, so the same operation may be rounded in two ways within one process.
fn assert_trained_alike<M: Materialize>(ours: &M, theirs: &M) {
    let (ours, theirs) = (values(ours), values(theirs));
    if device_under_test::name() != "wgpu" {
        return assert_eq!(ours, theirs);
    }
    assert!(ours.keys().eq(theirs.keys()));
    for (path, ours) in ours {
        ours.assert_approx_eq::<f32>(&theirs[&path], Tolerance::rel_abs(1e-3, 1e-4));
    }
}

/// Ten steps through our engine and through Burn's, from the same weights, give the same bits.
fn equals_burn(config: impl OptimizerConfig, mut burn: ModuleOptimizer, rate: f64) {
    let fabric = fabric();
    let mut ours = fabric.setup(Mlp::new(&device())).unwrap();
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
    assert_trained_alike(ours.module().unwrap(), &theirs);
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

#[test]
fn numbers_that_are_none_are_refused_wherever_they_stand() {
    use burn::optim::decay::WeightDecayConfig;
    use burn::optim::momentum::MomentumConfig;
    fn refused(config: impl OptimizerConfig) {
        let fabric = fabric();
        let model = model(&fabric);
        let error = fabric.setup_optimizer(&model, config).unwrap_err();
        assert!(
            matches!(&error, FabricError::OptimizerConfig { problems } if problems.len() == 1),
            "{error}"
        );
    }
    refused(AdamWConfig::new().with_weight_decay(f32::NAN));
    refused(LionConfig::new().with_weight_decay(f32::INFINITY));
    refused(RmsPropConfig::new().with_momentum(f32::NAN));
    refused(AdamConfig::new().with_weight_decay(Some(WeightDecayConfig::new(f32::NAN))));
    refused(SgdConfig::new().with_momentum(Some(MomentumConfig::new().with_momentum(f64::NAN))));
    refused(MuonConfig::new().with_ns_coefficients((f32::NAN, 1.0, 1.0)));
    refused(AdamConfig::new().with_grad_clipping(Some(GradientClippingConfig::Value(f32::NAN))));
    let group = ParameterGroup::of(["output"]).decay(f32::NAN);
    refused(ParameterGroups::new(AdamWConfig::new()).with(group));
}

#[test]
fn an_optimizer_of_ones_own_has_no_decay_to_set() {
    let fabric = fabric();
    let model = model(&fabric);
    let groups = ParameterGroups::new(Custom(SgdConfig::new().build()))
        .with(ParameterGroup::of(["output"]).decay(0.1));
    let error = fabric.setup_optimizer(&model, groups).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("of your own has no weight decay"),
        "{error}"
    );
}

/// A module with tensors of ranks 1, 2 and 4, and optimizers with settings other than the defaults.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Mixed {
    conv: burn::nn::conv::Conv2d,
    norm: burn::nn::LayerNorm,
    linear: burn::nn::Linear,
}

impl Mixed {
    fn new(device: &Device) -> Self {
        Self {
            conv: burn::nn::conv::Conv2dConfig::new([1, 2], [3, 3]).init(device),
            norm: burn::nn::LayerNormConfig::new(6).init(device),
            linear: LinearConfig::new(6, 3).init(device),
        }
    }

    fn loss(&self) -> Tensor<1> {
        let x = input(&self.linear.weight.val().device());
        let x = x.repeat_dim(1, 2).slice([0..7, 0..8]).reshape([1, 1, 7, 8]);
        let hidden = self.norm.forward(self.conv.forward(x)).tanh();
        self.linear.forward(hidden).powi_scalar(2).mean()
    }
}

#[test]
fn other_ranks_and_settings_step_as_in_burn() {
    use burn::optim::decay::WeightDecayConfig;
    use burn::optim::momentum::MomentumConfig;
    fn equals(config: impl OptimizerConfig, mut burn: ModuleOptimizer) {
        let fabric = fabric();
        let mut ours = fabric
            .setup(fabric.init_module(Mixed::new).unwrap())
            .unwrap();
        let mut theirs = ours.module().unwrap().clone();
        let mut optimizer = fabric.setup_optimizer(&ours, config).unwrap();
        assert_eq!(optimizer.paths().count(), 6);
        for _ in 0..10 {
            let gradients = fabric.backward(ours.loss(), &ours).unwrap();
            optimizer.step(1e-2, &mut ours, gradients).unwrap();
            let gradients = GradientsParams::from_grads(theirs.loss().backward(), &theirs);
            theirs = burn.step(1e-2, theirs, gradients);
        }
        assert_trained_alike(&*ours, &theirs);
    }
    let decay = || Some(WeightDecayConfig::new(0.05));
    let nesterov = MomentumConfig::new().with_nesterov(true);
    let sgd = SgdConfig::new()
        .with_momentum(Some(nesterov))
        .with_weight_decay(decay());
    equals(sgd.clone(), sgd.init());
    let adam = AdamConfig::new()
        .with_amsgrad(true)
        .with_weight_decay(decay());
    equals(adam.clone(), adam.init());
    let adam_w = AdamWConfig::new()
        .with_amsgrad(true)
        .with_cautious_weight_decay(true);
    equals(adam_w.clone(), adam_w.init());
    let rms_prop = RmsPropConfig::new()
        .with_centered(true)
        .with_weight_decay(decay());
    equals(rms_prop.clone(), rms_prop.init());
    let adafactor = AdafactorConfig::new().with_weight_decay(0.1);
    equals(adafactor.clone(), adafactor.init());
    let lamb = LambConfig::new().with_weight_decay(0.1);
    equals(lamb.clone(), lamb.init());
    let adan = AdanConfig::new().with_no_prox(true).with_weight_decay(0.1);
    equals(adan.clone(), adan.init());
    equals(
        AdaGradConfig::new().with_lr_decay(0.1),
        AdaGradConfig::new().with_lr_decay(0.1).init(),
    );
    equals(
        LionConfig::new().with_weight_decay(0.1),
        LionConfig::new().with_weight_decay(0.1).init(),
    );
}

#[test]
fn every_scheduler_of_burn_gives_a_rate() {
    use burn::optim::lr_scheduler::composed::ComposedLrSchedulerConfig;
    use burn::optim::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
    use burn::optim::lr_scheduler::exponential::ExponentialLrSchedulerConfig;
    use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
    use burn::optim::lr_scheduler::noam::NoamLrSchedulerConfig;
    use burn::optim::lr_scheduler::step::StepLrSchedulerConfig;
    let linear = || LinearLrSchedulerConfig::new(0.1, 0.01, 3);
    let schedulers: Vec<ModuleLrScheduler> = vec![
        ModuleLrScheduler::new(0.1_f64),
        linear().init().unwrap(),
        CosineAnnealingLrSchedulerConfig::new(0.1, 3)
            .init()
            .unwrap(),
        ExponentialLrSchedulerConfig::new(0.1, 0.9).init().unwrap(),
        NoamLrSchedulerConfig::new(0.1).init().unwrap(),
        StepLrSchedulerConfig::new(0.1, 2).init().unwrap(),
        ComposedLrSchedulerConfig::new()
            .linear(linear())
            .init()
            .unwrap(),
    ];
    let fabric = fabric();
    let mut model = model(&fabric);
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    for mut scheduler in schedulers {
        let before = values(&*model);
        let gradients = fabric
            .backward(model.loss(&input(fabric.device())), &model)
            .unwrap();
        optimizer
            .step(scheduler.step(), &mut model, gradients)
            .unwrap();
        assert_ne!(values(&*model), before);
    }
}
