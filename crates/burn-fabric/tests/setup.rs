//! Set-up, and what a module that was set up can do.

mod support;

use burn::module::{Lora, Module, Param};
use burn::nn::{
    BatchNorm, BatchNormConfig, Dropout, DropoutConfig, Linear, LinearConfig, LinearLayout,
};
use burn::optim::{AdamWConfig, SgdConfig};
use burn::tensor::{DType, Device, Distribution, FloatDType, Tensor};
use burn_fabric::burn_materialize::{MaterializeError, Problem, RecordError, State};
use burn_fabric::prelude::*;
use burn_fabric::{ModuleChange, MovingAverage};
use support::{Mlp, Tied, fabric, input, model, values};
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
fn a_changed_module_trains_on() {
    let fabric = fabric();
    let mut model = model(&fabric);
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    model
        .map(|mut mlp| {
            mlp.hidden = mlp.hidden.no_grad();
            mlp
        })
        .unwrap();
    let before = values(&*model);
    let gradients = fabric
        .backward(model.loss(&input(fabric.device())), &model)
        .unwrap();
    let report = optimizer.step(0.1, &mut model, gradients).unwrap();
    assert_eq!(report.without_gradient, ["hidden.weight"]);
    assert_eq!(values(&*model)["hidden.weight"], before["hidden.weight"]);
    assert_ne!(values(&*model)["output.weight"], before["output.weight"]);

    // A function that panics leaves the module as it was.
    let panics = std::panic::AssertUnwindSafe(|| model.map(|_| panic!("in the middle")));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert!(model.summary().is_ok());
}

#[test]
fn what_training_does_not_survive_is_refused_all_at_once() {
    let fabric = fabric();
    let mut model = model(&fabric);
    let _optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let before = values(&*model);
    let device = fabric.inference_device();

    // Back to lazy, and another dtype.
    let error = model.map(|mut mlp| {
        mlp.hidden = LinearConfig::new(5, 8).with_bias(false).init(&device);
        mlp.output.weight = mlp.output.weight.map(|weight| weight.cast(FloatDType::F64));
        mlp
    });
    let error = error.unwrap_err();
    let FabricError::Changed { changes } = &error else {
        panic!("{error}");
    };
    let path = |path: &str| path.to_owned();
    let expected = [
        ModuleChange::Unreal {
            path: path("hidden.weight"),
            state: State::Lazy,
        },
        ModuleChange::DType {
            path: path("output.weight"),
            was: DType::F32.name(),
            is: DType::F64.name(),
        },
    ];
    assert_eq!(changes, &expected);
    assert_eq!(values(&*model), before);
    assert!(model.output.weight.is_require_grad());

    // Another shape, and a tie to a parameter before it.
    let error = model.map(|mut mlp| {
        let id = mlp.output.weight.id;
        mlp.output.weight = Param::initialized(id, Tensor::ones([8, 5], &device));
        mlp
    });
    let gone = ModuleChange::Gone {
        path: path("output.weight"),
    };
    assert!(
        matches!(&error, Err(FabricError::Changed { changes }) if changes[..] == [gone.clone()]),
        "{error:?}"
    );
    let error = model.map(|mut mlp| {
        mlp.output.weight = mlp.hidden.weight.clone();
        mlp
    });
    assert!(
        matches!(&error, Err(FabricError::Changed { changes }) if changes == &[gone]),
        "{error:?}"
    );
}

#[test]
fn a_mapped_parameter_is_a_leaf_again() {
    let fabric = fabric();
    let halve = |mut mlp: Mlp| {
        mlp.hidden.weight = mlp.hidden.weight.map(|weight| weight.mul_scalar(0.5));
        mlp
    };
    // In a module that was set up, and in a plain one on the training device.
    let mut mapped = model(&fabric);
    mapped.map(halve).unwrap();
    let plain = Mlp::new(fabric.device());
    plain.hidden.weight.val();
    let given = fabric.setup(halve(plain)).unwrap();
    for mut model in [mapped, given] {
        assert!(model.hidden.weight.is_require_grad());
        let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
        for _ in 0..3 {
            let before = values(&*model);
            let gradients = fabric
                .backward(model.loss(&input(fabric.device())), &model)
                .unwrap();
            let report = optimizer.step(0.5, &mut model, gradients).unwrap();
            assert_eq!((report.updated, report.without_gradient.len()), (2, 0));
            assert_ne!(values(&*model)["hidden.weight"], before["hidden.weight"]);
        }
    }
}

#[test]
fn a_change_that_is_refused_leaves_running_states_alone() {
    let fabric = fabric();
    let norm = || {
        let meta = fabric.init_module(|device| BatchNormConfig::new(5).init(device));
        fabric.setup(meta.unwrap()).unwrap()
    };
    let (mut model, other) = (norm(), norm());
    let _optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    model.forward(input(fabric.device()));
    let before = values(&*model);
    // Burn's records change running states in place, in every clone.
    other.forward(input(fabric.device()) * 100.0 + 1.0);
    let record = || other.inference().unwrap().into_record();
    let refused = model.map(|norm| {
        let mut norm = norm.load_record(record());
        norm.gamma = BatchNormConfig::new(5).init(&Device::flex()).gamma;
        norm
    });
    assert!(
        matches!(refused, Err(FabricError::Changed { .. })),
        "{refused:?}"
    );
    assert_eq!(values(&*model), before);

    // And one that is taken keeps what it loaded.
    model.map(|norm| norm.load_record(record())).unwrap();
    let (loaded, saved) = (values(&*model), values(&*other));
    assert_eq!(loaded["running_mean"], saved["running_mean"]);
    assert_ne!(loaded["running_mean"], before["running_mean"]);
}

#[test]
fn an_optimizer_follows_its_parameters_by_path() {
    let fabric = fabric();
    let (mut loaded, mut straight) = (model(&fabric), model(&fabric));
    straight.reset_parameters(3).unwrap();
    loaded.reset_parameters(3).unwrap();
    let mut of_loaded = fabric.setup_optimizer(&loaded, AdamWConfig::new()).unwrap();
    let mut of_straight = fabric
        .setup_optimizer(&straight, AdamWConfig::new())
        .unwrap();
    let x = input(fabric.device());
    for _ in 0..4 {
        let gradients = fabric.backward(loaded.loss(&x), &loaded).unwrap();
        of_loaded.step(1e-2, &mut loaded, gradients).unwrap();
        let gradients = fabric.backward(straight.loss(&x), &straight).unwrap();
        of_straight.step(1e-2, &mut straight, gradients).unwrap();
        // The same values under new ids, as a record of another process brings them.
        loaded
            .map(|mut mlp| {
                for linear in [&mut mlp.hidden, &mut mlp.output] {
                    linear.weight = Param::from_tensor(linear.weight.val().inner());
                }
                mlp
            })
            .unwrap();
    }
    assert_eq!(values(&*loaded), values(&*straight));
}

#[test]
fn a_module_without_what_was_recorded_resets_what_is_left() {
    let fabric = fabric();
    let mut model = fabric
        .setup(LinearConfig::new(4, 3).init(&fabric.inference_device()))
        .unwrap();
    let before = values(&*model);
    model
        .map(|mut linear| {
            linear.bias = None;
            linear
        })
        .unwrap();
    model.reset_parameters(77).unwrap();
    assert_ne!(values(&*model)["weight"], before["weight"]);
}

#[test]
fn a_selection_follows_its_module() {
    let fabric = fabric();
    let mut model = model(&fabric);
    let before = model.parameters();
    model.map(|mlp| mlp.no_grad()).unwrap();
    let error = fabric
        .setup_optimizer(&before, SgdConfig::new())
        .unwrap_err();
    assert!(
        matches!(error, FabricError::NothingTrainable { .. }),
        "{error}"
    );
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
    let device = Device::flex().autodiff().gradient_checkpointing();
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
    let weights = Mlp::new(&Device::flex());
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
fn a_moving_average_follows_the_weights() {
    let fabric = fabric();
    let mut model = model(&fabric);
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let decay = 0.75;
    let mut average = MovingAverage::new(&model, decay).unwrap();
    let weights = |model: &Mlp| {
        model
            .output
            .weight
            .to_data()
            .iter::<f64>()
            .collect::<Vec<_>>()
    };
    let mut expected = weights(&model);
    for _ in 0..4 {
        let gradients = fabric
            .backward(model.loss(&input(fabric.device())), &model)
            .unwrap();
        optimizer.step(1.0, &mut model, gradients).unwrap();
        average.update(&model).unwrap();
        for (average, weight) in expected.iter_mut().zip(weights(&model)) {
            *average = decay * *average + (1.0 - decay) * weight;
        }
    }
    let averaged = average.module(&model).unwrap();
    assert!(!averaged.output.weight.val().is_autodiff());
    let found = averaged.output.weight.to_data();
    for (found, expected) in found.iter::<f64>().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    assert_ne!(found, model.output.weight.to_data());
    let error = MovingAverage::new(&model, 1.0).unwrap_err();
    assert!(matches!(error, FabricError::Settings { .. }), "{error}");
    // Of this module and no other.
    let other = support::model(&fabric);
    for error in [
        average.update(&other).unwrap_err(),
        average.module(&other).unwrap_err(),
    ] {
        assert!(matches!(error, FabricError::OtherModule), "{error}");
    }
    assert_eq!(
        average.module(&model).unwrap().output.weight.to_data(),
        found
    );
}

#[test]
fn a_moving_average_of_half_precision_is_kept_in_single() {
    let fabric = fabric();
    let half = LinearConfig::new(3, 3)
        .with_bias(false)
        .init(&fabric.inference_device());
    let weight = Tensor::<2>::full([3, 3], 1.0, &fabric.inference_device());
    let half = Linear {
        weight: Param::from_tensor(weight.cast(FloatDType::BF16)),
        ..half
    };
    let mut model = fabric.setup(half).unwrap();
    let mut average = MovingAverage::new(&model, 0.999).unwrap();
    average.update(&model).unwrap();
    // A thousandth of a thousandth is lost in bf16, and a thousand of them are not in f32.
    model
        .map(|mut linear| {
            linear.weight = linear
                .weight
                .map(|weight| weight.mul_scalar(1.0 + 1.0 / 128.0));
            linear
        })
        .unwrap();
    for _ in 0..1000 {
        average.update(&model).unwrap();
    }
    let averaged = average.module(&model).unwrap();
    assert_eq!(averaged.weight.val().dtype(), DType::BF16);
    let value: f32 = averaged.weight.to_data().iter::<f32>().next().unwrap();
    assert!((value - 1.0078).abs() < 1e-3, "{value}");
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
