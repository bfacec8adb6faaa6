//! Each error a module can get between its constructor and the device, produced.

mod common;

use burn::module::{Initializer, Module, Param};
use burn::nn::{LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::tensor::{DType, Device, Distribution, Int, Tensor};
use burn_materialize::{
    InitPlan, Materialize, MaterializeError, Meta, Problem, Realize, RecipeError, RecordError,
    ResetParameters, reset, reset_to_defaults,
};
use common::values;
use device_under_test::device;

/// The problems of a refusal.
fn problems<T: std::fmt::Debug>(result: Result<T, MaterializeError>) -> Vec<Problem> {
    match result.unwrap_err() {
        MaterializeError::Refused(problems) => problems.0,
        other => panic!("{other}"),
    }
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Scale {
    scale: Param<Tensor<1>>,
}

#[test]
fn a_constructor_that_cannot_be_recorded() {
    let error = Meta::build(|device| {
        let scale = Tensor::<1>::ones([3], device).mul_scalar(2.0);
        let mean: f32 = scale.clone().mean().into_scalar();
        Scale {
            scale: Param::from_tensor(scale / mean),
        }
    });
    let error = error.unwrap_err();
    assert!(
        matches!(
            error,
            MaterializeError::Record(RecordError::ValueRead { .. })
        ),
        "{error}"
    );
}

#[test]
fn a_tensor_that_burn_fails_to_produce() {
    // Only the values tell that the index is out of bounds.
    let meta = Meta::build(|device| {
        let index = Tensor::<1, Int>::from_ints([100], device);
        Scale {
            scale: Param::from_tensor(Tensor::ones([2], device).select(0, index)),
        }
    });
    let error = meta.unwrap().materialize(&device()).unwrap_err();
    assert!(
        matches!(&error, MaterializeError::Produce { path, .. } if path == "scale"),
        "{error}"
    );
}

#[test]
fn a_parameter_without_a_source() {
    // Its recording is another one's.
    let mut smuggled = None;
    let meta = Meta::build(|device| {
        let scale = Scale {
            scale: Param::from_tensor(Tensor::ones([2], device)),
        };
        smuggled = Some(scale.clone());
        scale
    });
    let found = problems(smuggled.unwrap().realize(&device(), 0));
    assert!(
        matches!(&found[..], [Problem::Recipe { path, source }]
            if path == "scale" && matches!(**source, RecipeError::Unrecorded { .. })),
        "{found:?}"
    );
    drop(meta);

    // And a real parameter that no layer and no hook speaks for.
    let mut real = Scale {
        scale: Param::from_tensor(Tensor::ones([2], &device())),
    };
    let found = problems(reset_to_defaults(&mut real, 0));
    let expected = Problem::NoSource {
        path: "scale".to_owned(),
        module: "Scale".to_owned(),
    };
    assert_eq!(found, [expected]);
}

#[test]
fn a_draw_that_is_not_defined() {
    let upside_down = Distribution::Uniform(1.0, -1.0);
    let meta = Meta::build(|device| Scale {
        scale: Param::from_tensor(Tensor::random([2], upside_down, device)),
    });
    let found = problems(meta.unwrap().materialize(&device()));
    assert!(
        matches!(&found[..], [Problem::Recipe { source, .. }]
            if matches!(**source, RecipeError::Draw { .. })),
        "{found:?}"
    );
}

#[test]
fn a_value_declared_on_another_device() {
    #[derive(Module, Materialize, Debug)]
    struct Elsewhere {
        scale: Param<Tensor<1>>,
    }
    impl ResetParameters for Elsewhere {
        fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
            plan.value("scale", Tensor::<1>::ones([2], &device()));
        }
    }
    let meta = Meta::build(|device| Elsewhere {
        scale: Param::from_tensor(Tensor::ones([2], device)),
    });
    let found = problems(meta.unwrap().materialize(&device()));
    assert_eq!(
        found,
        [Problem::DeclaredElsewhere {
            path: "scale".to_owned()
        }]
    );
}

#[test]
fn an_initializer_that_does_not_apply() {
    #[derive(Module, Materialize, ResetParameters, Debug)]
    struct Orthogonal {
        // A bias has one dimension, and an orthogonal matrix two.
        #[reset(initializer = Initializer::Orthogonal { gain: 1.0 })]
        linear: Linear,
    }
    let meta = Meta::build(|device| Orthogonal {
        linear: LinearConfig::new(3, 3).init(device),
    });
    let found = problems(meta.unwrap().materialize(&device()));
    assert!(
        matches!(&found[..], [Problem::Initializer { path, .. }] if path == "linear"),
        "{found:?}"
    );
}

#[test]
fn an_initializer_that_nothing_takes() {
    #[derive(Module, Materialize, ResetParameters, Debug)]
    struct Norm {
        #[reset(initializer = Initializer::Zeros)]
        norm: LayerNorm,
        // Nothing is there to take it, which is no mistake.
        #[reset(initializer = Initializer::Zeros)]
        head: Option<Linear>,
    }
    let meta = Meta::build(|device| Norm {
        norm: LayerNormConfig::new(3).init(device),
        head: None,
    });
    let found = problems(meta.unwrap().materialize(&device()));
    assert_eq!(
        found,
        [Problem::InitializerIgnored {
            path: "norm".to_owned()
        }]
    );
}

/// A module of another crate: Burn's derive only.
#[derive(Module, Debug)]
struct Foreign {
    table: Tensor<1>,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Hides {
    #[materialize(foreign)]
    inner: Foreign,
}

#[test]
fn a_meta_tensor_out_of_reach() {
    let build = |device: &Device| Hides {
        inner: Foreign {
            table: Tensor::ones([3], device),
        },
    };
    let meta = Meta::build(build).unwrap();
    let found = problems(meta.materialize(&device()));
    assert!(
        matches!(&found[..], [Problem::Hidden { path, .. }] if path == "inner"),
        "{found:?}"
    );
    // The same by the other way in, and no mistake where the tensor is real.
    assert!(matches!(
        &problems((&meta).realize(&device(), 0))[..],
        [Problem::Hidden { .. }]
    ));
    assert_eq!(
        build(&device())
            .realize(&device(), 0)
            .unwrap()
            .module
            .inner
            .table
            .dims(),
        [3]
    );
}

#[test]
fn a_dtype_the_device_does_not_have() {
    #[derive(Module, Materialize, ResetParameters, Debug)]
    struct Ids {
        scale: Param<Tensor<1>>,
        ids: Tensor<1, Int>,
    }

    // A GPU's relaxed f32, what GPUs lack, and what libtorch does.
    let lacks = |dtype: &DType| !device().supports_dtype(*dtype);
    let floats = [DType::Flex32, DType::F64, DType::BF16];
    let float = floats.into_iter().find(lacks);
    let int = [DType::U64, DType::I8].into_iter().find(lacks);
    let meta = Meta::build(|device| Ids {
        scale: Param::from_tensor(Tensor::zeros([2], (device, float.unwrap_or(DType::F32)))),
        ids: Tensor::zeros([2], (device, int.unwrap_or(DType::I32))),
    });
    let found = problems(meta.unwrap().materialize(&device()));
    let expected = [("scale", float), ("ids", int)].into_iter();
    let expected = expected.filter_map(|(path, dtype)| dtype.map(|dtype| (path, dtype)));
    let refused = found.iter().map(|problem| match problem {
        Problem::Unsupported { path, dtype, .. } => (path.as_str(), *dtype),
        problem => panic!("{problem}"),
    });
    let refused: Vec<(&str, DType)> = refused.collect();
    assert_eq!(refused, expected.collect::<Vec<_>>());
    assert!(!refused.is_empty(), "the device holds every dtype");
}

#[test]
fn a_constructor_of_another_module() {
    let mut linear = LinearConfig::new(3, 2).init(&device());
    let before = values(&linear);
    let found = problems(reset(&mut linear, 0, |d| LinearConfig::new(2, 3).init(d)));
    assert!(
        matches!(&found[..], [Problem::OtherModule { .. }]),
        "{found:?}"
    );
    let no_bias = LinearConfig::new(3, 2).with_bias(false);
    let found = problems(reset(&mut linear, 0, |d| no_bias.init(d)));
    assert!(
        found[0].to_string().contains("2 tensors against 1"),
        "{found:?}"
    );
    assert_eq!(values(&linear), before);
}

#[test]
fn all_problems_are_reported_at_once_and_nothing_is_allocated() {
    #[derive(Module, Materialize, Debug)]
    struct Wrong {
        linear: Linear,
        scale: Param<Tensor<1>>,
    }
    impl ResetParameters for Wrong {
        fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
            let device = plan.device().clone();
            plan.value("scale", Tensor::<1>::ones([9], &device));
            plan.value("liner.weight", Tensor::<2>::ones([3, 2], &device));
            plan.value("linear.bias", Tensor::<1, Int>::ones([2], &device));
        }
    }
    let device = device();
    let meta = Meta::build_for(&device, |device| Wrong {
        linear: LinearConfig::new(3, 2).init(device),
        scale: Param::from_tensor(Tensor::ones([4], device)),
    })
    .unwrap();
    let error = meta.materialize(&device).unwrap_err();
    let MaterializeError::Refused(problems) = &error else {
        panic!("{error}")
    };
    assert_eq!(problems.0.len(), 3, "{error}");
    assert!(matches!(&problems.0[0], Problem::UnknownPath { path, .. } if path == "liner.weight"));
    assert!(matches!(&problems.0[1], Problem::DType { path, .. } if path == "linear.bias"));
    assert!(matches!(&problems.0[2], Problem::Shape { path, .. } if path == "scale"));
    assert!(
        error
            .to_string()
            .contains("the nearest name is `linear.weight`"),
        "{error}"
    );
}

#[test]
fn a_filter_that_selects_nothing_is_refused() {
    let meta = Meta::build(|device| LinearConfig::new(3, 2).init(device)).unwrap();
    let error = meta
        .materialize_where(&device(), |path| path == "wieght")
        .unwrap_err();
    assert!(error.to_string().contains("weight"), "{error}");
    let MaterializeError::Refused(problems) = error else {
        panic!()
    };
    assert!(matches!(problems.0[0], Problem::NothingSelected { .. }));
}

#[test]
fn one_id_over_two_tensors_is_refused() {
    let device = device();
    let meta = Meta::build(|device| {
        let first = LinearConfig::new(3, 3).init(device);
        let mut second = first.clone();
        second.weight = second.weight.map(|weight| weight.mul_scalar(2.0));
        vec![first, second]
    })
    .unwrap();
    let error = meta.materialize(&device).unwrap_err();
    let MaterializeError::Refused(problems) = error else {
        panic!()
    };
    let paths = vec!["0.weight".to_owned(), "1.weight".to_owned()];
    assert_eq!(
        problems.0,
        [Problem::OneIdTwoTensors {
            paths: paths.clone()
        }]
    );

    // The same with a real module, where only the values tell.
    let first = LinearConfig::new(3, 3).init(&device);
    let mut second = first.clone();
    second.weight = second.weight.map(|weight| weight.mul_scalar(2.0));
    let error = vec![first, second].realize(&device, 0).unwrap_err();
    let MaterializeError::Refused(problems) = error else {
        panic!()
    };
    assert_eq!(problems.0, [Problem::OneIdTwoTensors { paths }]);
}
