//! Set-up, and what a module that was set up can do.

mod support;

use burn::module::{Lora, Module, Param};
use burn::nn::{
    BatchNorm, BatchNormConfig, Dropout, DropoutConfig, Linear, LinearConfig, LinearLayout,
};
use burn::optim::{AdamWConfig, SgdConfig};
use burn::tensor::{Device, Distribution, Tensor};
use burn_fabric::burn_materialize::{MaterializeError, Problem, RecordError};
use burn_fabric::prelude::*;
use support::{Mlp, Tied, device, fabric, input, model, values};
/// A column-layout layer, a norm, dropout, and a tensor that Burn's own mapper does not see.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Net {
    column: Linear,
    norm: BatchNorm,
    dropout: Dropout,
    #[module(skip)]
    scale: Tensor<1>,
}

impl Net {
    fn new(device: &Device) -> Self {
        let column = LinearConfig::new(5, 4).with_layout(LinearLayout::Col);
        Self {
            column: column.init(device),
            norm: BatchNormConfig::new(4).init(device),
            dropout: DropoutConfig::new(0.5).init(),
            scale: Tensor::from_floats([1.0, 2.0, 3.0, 4.0], device),
        }
    }

    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let hidden = self.norm.forward(self.column.forward(x)) * self.scale.clone().unsqueeze();
        self.dropout.forward(hidden)
    }
}

#[test]
fn case_14_every_trainable_parameter_changes_in_one_step() {
    let fabric = fabric();
    let mut model = fabric.setup(fabric.init_module(Net::new).unwrap()).unwrap();
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let before = values(&*model);
    let x = Tensor::<2>::random([64, 5], Distribution::Default, fabric.device());
    let loss = (model.forward(x) + 0.3).powi_scalar(2).mean();
    let gradients = fabric.backward(loss, &model).unwrap();
    optimizer.step(0.5, &mut model, gradients).unwrap();
    let paths: Vec<&str> = optimizer.paths().collect();
    assert_eq!(
        paths,
        ["column.weight", "column.bias", "norm.gamma", "norm.beta"]
    );
    let after = values(&*model);
    for path in paths {
        // A bias before a norm has a gradient of zero, up to rounding.
        assert!(
            after[path] != before[path] || path == "column.bias",
            "{path}"
        );
    }
    assert!(model.column.weight.is_require_grad());
}

#[test]
fn case_14_holds_for_lora() {
    let fabric = fabric();
    let meta = fabric
        .init_module(|device| LinearConfig::new(6, 4).init(device))
        .unwrap();
    let meta = meta
        .map(|linear, _| linear.no_grad().apply_lora(Lora::new(2, 4.0)))
        .unwrap();
    let mut model = fabric.setup(meta).unwrap();
    let mut optimizer = fabric.setup_optimizer(&model, AdamWConfig::new()).unwrap();
    let paths: Vec<String> = optimizer.paths().map(str::to_owned).collect();
    assert_eq!(paths, ["weight.lora.a", "weight.lora.b"]);
    let before = values(&*model);
    for _ in 0..2 {
        let x = Tensor::<2>::random([8, 6], Distribution::Default, fabric.device());
        let loss = model.forward(x).powi_scalar(2).mean();
        let gradients = fabric.backward(loss, &model).unwrap();
        optimizer.step(0.1, &mut model, gradients).unwrap();
    }
    let after = values(&*model);
    for (path, value) in &before {
        assert_eq!(after[path] != *value, paths.contains(path), "{path}");
    }
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
    let again = support::builder().seed(3).build().unwrap();
    assert_eq!(
        values(&*again.setup(again.init_module(Mlp::new).unwrap()).unwrap()),
        start
    );
}

#[test]
fn a_lazy_module_shared_with_a_clone_is_initialised_by_burn_and_reported() {
    let fabric = fabric();
    let lazy = Mlp::new(&device());
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

#[test]
fn a_module_without_a_trainable_parameter_serves_and_teaches() {
    let fabric = fabric();
    let meta = fabric
        .init_module(|device| Mlp::new(device).no_grad())
        .unwrap();
    let teacher = fabric.setup(meta).unwrap();
    let mut student = model(&fabric);
    let mut optimizer = fabric.setup_optimizer(&student, SgdConfig::new()).unwrap();
    let x = input(fabric.device());
    let before = values(&*teacher);
    let told = teacher.hidden.forward(x.clone());
    let loss = (student.hidden.forward(x) - told).powi_scalar(2).mean();
    let gradients = fabric.backward(loss, &student).unwrap();
    optimizer.step(0.1, &mut student, gradients).unwrap();
    assert_eq!(values(&*teacher), before);
    // Not a single tensor in it: fine as well, and nothing to optimise.
    let dropout = fabric.setup(DropoutConfig::new(0.5).init()).unwrap();
    let error = fabric
        .setup_optimizer(&dropout, SgdConfig::new())
        .unwrap_err();
    assert!(
        matches!(error, FabricError::NothingTrainable { .. }),
        "{error}"
    );
}

#[test]
fn evaluation_is_deterministic_and_leaves_the_module_as_it_was_even_after_an_error() {
    let fabric = fabric();
    let model = fabric.setup(fabric.init_module(Net::new).unwrap()).unwrap();
    let before = values(&*model);
    let outputs = |model: &Net, device: &Device| {
        assert!(!device.is_autodiff());
        assert!(!model.dropout.training.is_enabled());
        assert!(!model.column.weight.val().is_autodiff());
        assert!(!model.scale.is_autodiff());
        let x = input(device);
        (
            model.forward(x.clone()).into_data(),
            model.forward(x).into_data(),
        )
    };
    let (first, second) = fabric.evaluate(&model, outputs).unwrap();
    assert_eq!(first, second);

    let failed: Result<(), &str> = fabric.evaluate(&model, |_, _| Err("no data")).unwrap();
    assert!(failed.is_err());
    let panics =
        std::panic::AssertUnwindSafe(|| fabric.evaluate(&model, |_, _| panic!("in the middle")));
    assert!(std::panic::catch_unwind(panics).is_err());

    assert_eq!(values(&*model), before);
    assert!(model.dropout.training.is_enabled());
    assert!(model.column.weight.is_require_grad());
    // In training dropout drops, and the running statistics follow.
    let x = input(fabric.device());
    let (a, b) = (
        model.forward(x.clone()).into_data(),
        model.forward(x).into_data(),
    );
    assert_ne!(a, b);
    assert_ne!(
        values(&*model)["norm.running_mean"],
        before["norm.running_mean"]
    );
}

#[test]
fn a_copy_for_inference_keeps_its_values() {
    let fabric = fabric();
    let mut model = fabric.setup(fabric.init_module(Net::new).unwrap()).unwrap();
    let copy = model.inference().unwrap();
    let before = values(&copy);
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let loss = model.forward(input(fabric.device())).powi_scalar(2).mean();
    let gradients = fabric.backward(loss, &model).unwrap();
    optimizer.step(0.5, &mut model, gradients).unwrap();
    assert_eq!(values(&copy), before);
    assert_ne!(values(&*model), before);
}

#[test]
fn a_reset_by_path_redraws_what_it_is_told() {
    let fabric = fabric();
    let mut model = model(&fabric);
    let before = values(&*model);
    model
        .reset_parameters_where(9, |path| path.starts_with("output"))
        .unwrap();
    let after = values(&*model);
    assert_eq!(after["hidden.weight"], before["hidden.weight"]);
    assert_ne!(after["output.weight"], before["output.weight"]);
    let error = model
        .reset_parameters_where(9, |path| path == "outptu")
        .unwrap_err();
    let problem = match &error {
        FabricError::Materialize(MaterializeError::Refused(problems)) => &problems.0[0],
        _ => panic!("{error}"),
    };
    assert!(matches!(problem, Problem::NothingSelected { .. }));
    assert_eq!(values(&*model), after);
}

#[test]
fn parameters_in_fields_that_burn_skips_are_trained() {
    use burn::nn::PReluConfig;
    use burn::nn::activation::ActivationConfig;
    use burn::nn::transformer::{PositionWiseFeedForward, PositionWiseFeedForwardConfig};
    let fabric = fabric();
    let config = PositionWiseFeedForwardConfig::new(4, 8)
        .with_dropout(0.0)
        .with_activation(ActivationConfig::PRelu(PReluConfig::new()));
    let meta = fabric.init_module(|device| config.init(device)).unwrap();
    let mut model: FabricModule<PositionWiseFeedForward> = fabric.setup(meta).unwrap();
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let before = values(&*model);
    let x = Tensor::<2>::random([6, 4], Distribution::Default, fabric.device()) - 0.5;
    let loss = model.forward(x).powi_scalar(2).mean();
    let gradients = fabric.backward(loss, &model).unwrap();
    let report = optimizer.step(0.5, &mut model, gradients).unwrap();
    assert_eq!((report.updated, report.without_gradient.len()), (5, 0));
    let after = values(&*model);
    let alpha = after.keys().find(|path| path.contains("alpha")).unwrap();
    assert_ne!(after[alpha], before[alpha]);
}

#[test]
fn an_evaluation_sees_the_updates_of_every_thread() {
    let fabric = fabric();
    let model = fabric.setup(fabric.init_module(Net::new).unwrap()).unwrap();
    let before = values(&*model);
    std::thread::scope(|scope| {
        scope.spawn(|| model.forward(input(fabric.device())));
    });
    let seen = fabric.evaluate(&model, |net, _| values(net)).unwrap();
    assert_ne!(seen["norm.running_mean"], before["norm.running_mean"]);
}

#[test]
fn gradient_checkpointing_of_a_given_device_is_left_out() {
    let device = device().autodiff().gradient_checkpointing();
    let fabric = support::builder()
        .accelerator(Accelerator::Device(device.clone()))
        .build()
        .unwrap();
    let plain = Mlp::new(&device);
    plain.hidden.weight.val();
    let mut model = fabric.setup(plain).unwrap();
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    for _ in 0..2 {
        let gradients = fabric
            .backward(model.loss(&input(fabric.device())), &model)
            .unwrap();
        assert_eq!(
            optimizer.step(0.1, &mut model, gradients).unwrap().updated,
            2
        );
    }
}

#[test]
fn a_joint_set_up_checks_the_optimizer_first() {
    let fabric = fabric();
    let weights = Mlp::new(&device());
    let shown = weights.clone();
    for config in [AdamWConfig::new().with_beta_1(1.5), AdamWConfig::new()] {
        let wrong = config.clone().with_beta_1(1.5);
        let error = fabric
            .setup_with_optimizer(shown.clone(), wrong)
            .unwrap_err();
        assert!(
            matches!(error, FabricError::OptimizerConfig { .. }),
            "{error}"
        );
        let groups =
            ParameterGroups::new(AdamWConfig::new()).with(ParameterGroup::of(["outptu"]).rate(0.1));
        let error = fabric
            .setup_with_optimizer(shown.clone(), groups)
            .unwrap_err();
        assert!(matches!(error, FabricError::Patterns { .. }), "{error}");
    }
    // Nothing was set up, so nothing was initialised.
    assert!(!weights.hidden.weight.is_initialized());
    let (mut model, mut optimizer) = fabric
        .setup_with_optimizer(weights, AdamWConfig::new())
        .unwrap();
    let gradients = fabric
        .backward(model.loss(&input(fabric.device())), &model)
        .unwrap();
    assert_eq!(
        optimizer.step(0.1, &mut model, gradients).unwrap().updated,
        2
    );
}

#[test]
fn the_seed_of_a_module_does_not_depend_on_when_others_are_set_up() {
    let of_second = |first_is_set_up: bool| {
        let fabric = fabric();
        let first = fabric.init_module(Mlp::new).unwrap();
        if first_is_set_up {
            fabric.setup(&first).unwrap();
        }
        let second = fabric.init_module(Mlp::new).unwrap();
        values(&*fabric.setup(second).unwrap())
    };
    assert_eq!(of_second(true), of_second(false));
}

#[test]
fn an_operation_on_a_tensor_of_a_closed_scope_is_an_error() {
    let fabric = fabric();
    let mut kept = None;
    let first = fabric.init_module(|device| {
        let mlp = Mlp::new(device);
        kept = Some(mlp.hidden.weight.val());
        mlp
    });
    assert!(first.is_ok());
    let kept = kept.unwrap();
    let error = fabric.init_module(|device| {
        let mut mlp = Mlp::new(device);
        mlp.hidden.weight = Param::from_tensor(kept.mul_scalar(2.0));
        mlp
    });
    let error = error.unwrap_err();
    assert!(
        matches!(
            &error,
            FabricError::Materialize(MaterializeError::Record(RecordError::ClosedScope { .. }))
        ),
        "{error}"
    );
}

#[test]
fn one_id_over_two_tensors_is_refused() {
    let fabric = fabric();
    let apart = |device: &Device| {
        let mut tied = Tied::new(device);
        tied.head = tied.head.map(|head| head.mul_scalar(2.0));
        tied
    };
    let is_told = |error: &FabricError| match error {
        FabricError::Materialize(MaterializeError::Refused(problems)) => {
            matches!(&problems.0[..], [Problem::OneIdTwoTensors { .. }])
        }
        _ => false,
    };
    let meta = fabric.init_module(apart).unwrap();
    let error = fabric.setup(&meta).unwrap_err();
    assert!(is_told(&error), "{error}");

    // And in a module that was set up.
    let mut tied = fabric
        .setup(fabric.init_module(Tied::new).unwrap())
        .unwrap();
    let before = values(&*tied);
    let error = tied.map(|mut tied| {
        tied.head = tied.head.map(|head| head.mul_scalar(2.0));
        tied
    });
    let error = error.unwrap_err();
    assert!(is_told(&error), "{error}");
    assert_eq!(values(&*tied), before);
}
