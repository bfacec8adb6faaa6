//! Changing a module that was set up.

mod support;

use burn::module::{Module, Param};
use burn::nn::{BatchNormConfig, LinearConfig};
use burn::optim::{AdamWConfig, SgdConfig};
use burn::tensor::{DType, FloatDType, Tensor};
use burn_fabric::ModuleChange;
use burn_fabric::burn_materialize::State;
use burn_fabric::prelude::*;
use support::{Mlp, device, fabric, input, model, values};

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
        norm.gamma = BatchNormConfig::new(5).init(&device()).gamma;
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
