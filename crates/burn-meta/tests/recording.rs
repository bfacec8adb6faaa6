//! The meta device as a constructor sees it, and recipes against eager Burn.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::backend::DispatchDevice;
use burn::backend::ir::{CustomOpIr, OperationIr, TensorIr};
use burn::tensor::kind::BridgeTensor;
use burn::tensor::{
    Bool, DType, Device, Distribution, FloatDType, Int, IntDType, Shape, Tensor, TensorData,
};
use burn_capture::CaptureChannel;
use burn_meta::{
    DefaultDTypes, DrawKey, MetaDevice, RecipeError, RecipeKind, RecordError, is_meta_device, read,
    record, tensor_id,
};
use burn_router::{RouterClient, get_client};
use device_under_test::{device, in_common};

/// Record `build`, evaluate its tensor on flex, read it.
fn recorded(build: impl FnOnce(&Device) -> BridgeTensor) -> TensorData {
    let (tensor, recording) = record(DefaultDTypes::of(&device()), build).unwrap();
    let id = tensor_id(&tensor).expect("a meta tensor");
    let recipe = recording.recipe(id).unwrap();
    recipe.check().unwrap();
    let real = recipe
        .evaluate(|_| DrawKey::new(0, "x", 0), recipe.dtype(), &device())
        .unwrap();
    assert_eq!(tensor_id(&real), None);
    assert_eq!(real.shape(), *recipe.shape());
    assert_eq!(real.dtype(), recipe.dtype());
    read(real).unwrap()
}

/// The recipe's bits are the eager ones of flex, whatever integers and bools are the device's own.
fn equals_eager(build: impl Fn(&Device) -> BridgeTensor) {
    let eager = read(build(&Device::flex())).unwrap();
    assert_eq!(in_common(recorded(&build)), in_common(eager));
}

/// Whether both the device under test and flex hold it.
fn is_held(dtype: &DType) -> bool {
    [device(), Device::flex()]
        .iter()
        .all(|device| device.supports_dtype(*dtype))
}

#[test]
fn constants_equal_eager_ones_in_every_kind_and_dtype() {
    equals_eager(|d| Tensor::<2>::zeros([2, 3], d).into_bridge());
    equals_eager(|d| Tensor::<2>::ones([2, 3], d).into_bridge());
    equals_eager(|d| Tensor::<2>::full([2, 3], 0.1, d).into_bridge());
    equals_eager(|d| Tensor::<2>::full([2, 3], -0.0, d).into_bridge());
    equals_eager(|d| Tensor::<1, Int>::full([4], -7, d).into_bridge());
    equals_eager(|d| Tensor::<1, Int>::zeros([4], d).into_bridge());
    equals_eager(|d| Tensor::<1, Bool>::full([4], true, d).into_bridge());
    equals_eager(|d| Tensor::<1>::from_floats([1.5, -2.5], d).into_bridge());
    equals_eager(|d| Tensor::<1, Int>::from_ints([3, -4], d).into_bridge());
    equals_eager(|d| Tensor::<1, Bool>::from_bool([true, false], d).into_bridge());
    for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16]
        .into_iter()
        .filter(is_held)
    {
        equals_eager(|d| Tensor::<1>::full([4], 0.3, (d, dtype)).into_bridge());
    }
    for dtype in [
        DType::I64,
        DType::I32,
        DType::I16,
        DType::I8,
        DType::U64,
        DType::U8,
    ]
    .into_iter()
    .filter(is_held)
    {
        equals_eager(|d| Tensor::<1, Int>::full([4], 3, (d, dtype)).into_bridge());
    }
}

#[test]
fn graphs_equal_eager_ones_bit_for_bit() {
    equals_eager(|d| {
        let theta = Tensor::<1, Int>::arange(0..32, d)
            .float()
            .mul_scalar(-0.37)
            .exp();
        let position = Tensor::<1, Int>::arange(0..64, d)
            .float()
            .unsqueeze_dim::<2>(1);
        let angle = position * theta.unsqueeze_dim::<2>(0);
        Tensor::cat(vec![angle.clone().cos(), angle.sin()], 1).into_bridge()
    });
    equals_eager(|d| {
        Tensor::<2>::ones([5, 5], d)
            .triu(1)
            .equal_elem(0.0)
            .into_bridge()
    });
    equals_eager(|d| {
        let base = Tensor::<2>::zeros([4, 4], d);
        base.slice_assign([1..3, 1..3], Tensor::ones([2, 2], d))
            .into_bridge()
    });
}

#[test]
fn an_int_to_int_cast_is_evaluated() {
    equals_eager(|d| {
        Tensor::<1, Int>::arange(0..9, d)
            .cast(IntDType::I16)
            .into_bridge()
    });
    equals_eager(|d| {
        let narrow = Tensor::<1, Int>::arange(250..260, d).cast(IntDType::U8);
        narrow.cast(IntDType::I64).add_scalar(1).into_bridge()
    });
}

#[test]
fn memory_left_uninitialised_becomes_zeros() {
    let zeros = TensorData::zeros::<f32, _>([3, 2]);
    assert_eq!(
        recorded(|d| Tensor::<2>::empty([3, 2], d).into_bridge()),
        zeros
    );
    let sum = recorded(|d| Tensor::<2>::empty([3, 2], d).add_scalar(1.0).into_bridge());
    assert_eq!(sum, TensorData::ones::<f32, _>([3, 2]));
}

#[test]
fn one_draw_has_the_same_bits_alone_and_inside_a_graph() {
    let uniform = Distribution::Uniform(-1.0, 1.0);
    let alone = recorded(|d| Tensor::<2>::random([40, 30], uniform, d).into_bridge());
    let twice = recorded(|d| {
        Tensor::<2>::random([40, 30], uniform, d)
            .transpose()
            .transpose()
            .into_bridge()
    });
    assert_eq!(alone, twice);
}

#[test]
fn a_recipe_says_what_it_amounts_to() {
    let kind = |build: &dyn Fn(&Device) -> BridgeTensor| {
        let (tensor, recording) = record(DefaultDTypes::default(), build).unwrap();
        recording
            .recipe(tensor_id(&tensor).unwrap())
            .unwrap()
            .kind()
    };
    let zeros = |d: &Device| Tensor::<1>::zeros([2], d).into_bridge();
    assert_eq!(kind(&zeros), RecipeKind::Zeros);
    let ones = |d: &Device| Tensor::<1>::ones([2], d).into_bridge();
    assert_eq!(kind(&ones), RecipeKind::Ones);
    let full = |d: &Device| Tensor::<1>::full([2], 2.5, d).into_bridge();
    assert_eq!(kind(&full).to_string(), "full(2.5)");
    let data = |d: &Device| Tensor::<1>::from_floats([2.0, 1.0], d).into_bridge();
    assert_eq!(kind(&data), RecipeKind::Constant);
    let normal = Distribution::Normal(0.0, 1.0);
    let random = move |d: &Device| Tensor::<1>::random([2], normal, d).into_bridge();
    assert_eq!(kind(&random), RecipeKind::Random(normal));
    let graph = |d: &Device| Tensor::<1>::ones([2], d).exp().into_bridge();
    assert_eq!(kind(&graph), RecipeKind::Graph(2));
}

#[test]
fn tensors_take_the_default_dtypes_they_are_recorded_with() {
    let dtypes = DefaultDTypes {
        float: FloatDType::BF16,
        int: IntDType::I16,
        ..DefaultDTypes::default()
    };
    let build = |d: &Device| {
        let defaults = (
            Tensor::<1>::ones([2], d).dtype(),
            Tensor::<1, Int>::ones([2], d).dtype(),
        );
        (defaults, Tensor::<1>::ones([2], (d, DType::F64)).dtype())
    };
    // A new meta device, and the same one again from the pool.
    for _ in 0..2 {
        let (((float, int), explicit), _) = record(dtypes, build).unwrap();
        assert_eq!(
            (float, int, explicit),
            (DType::BF16, DType::I16, DType::F64)
        );
    }
}

#[test]
fn reading_a_computed_value_is_an_error_that_says_so() {
    let error = record(DefaultDTypes::default(), |d| {
        Tensor::<1>::ones([2], d).mul_scalar(2.0).into_data()
    });
    let error = error.unwrap_err();
    assert!(matches!(error, RecordError::ValueRead { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains("no values until it is materialised"),
        "{error}"
    );
}

#[test]
fn using_a_tensor_of_a_closed_recording_is_an_error_that_says_so() {
    let dtypes = DefaultDTypes::default();
    // On the meta device of the new scope, and on another one.
    let held = MetaDevice::new(dtypes).unwrap();
    let (elsewhere, _recording) = held.record(|d| Tensor::<1>::ones([2], d)).unwrap();
    let (old, _recording) = record(dtypes, |d| Tensor::<1>::ones([2], d)).unwrap();
    let uses = [
        record(dtypes, |_| elsewhere.clone().add_scalar(1.0)).unwrap_err(),
        record(dtypes, |d| elsewhere.clone() + Tensor::ones([2], d)).unwrap_err(),
        record(dtypes, |_| old.clone().add_scalar(1.0)).unwrap_err(),
        record(dtypes, |d| old.clone() + Tensor::ones([2], d)).unwrap_err(),
        record(dtypes, |d| Tensor::<1>::ones([2], d) + old.clone()).unwrap_err(),
    ];
    for error in uses {
        assert!(matches!(error, RecordError::ClosedScope { .. }), "{error}");
    }
}

#[test]
fn a_later_scope_on_the_same_device_builds_beside_what_is_there() {
    let meta = MetaDevice::new(DefaultDTypes::default()).unwrap();
    let (old, mut recording) = meta.record(|d| Tensor::<1>::ones([2], d)).unwrap();
    let (new, later) = meta
        .record(|_| Tensor::<1>::zeros([3], &old.device()))
        .unwrap();
    recording.extend(later);
    let kind = |t: Tensor<1>| {
        recording
            .recipe(tensor_id(&t.into_bridge()).unwrap())
            .unwrap()
            .kind()
    };
    assert_eq!(
        (kind(old), kind(new)),
        (RecipeKind::Ones, RecipeKind::Zeros)
    );
}

#[test]
fn a_recording_inside_itself_is_refused() {
    let meta = MetaDevice::new(DefaultDTypes::default()).unwrap();
    let (inner, _) = meta.record(|_| meta.record(|_| ()).map(|_| ())).unwrap();
    assert!(matches!(inner, Err(RecordError::Nested)));
    // And it waits for another thread's.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..100).for_each(|_| drop(meta.record(|_| ()).unwrap())));
        }
    });
}

#[test]
fn a_tensor_of_another_recording_has_no_recipe() {
    let (other, _) = record(DefaultDTypes::default(), |d| Tensor::<1>::ones([2], d)).unwrap();
    let (_, recording) = record(DefaultDTypes::default(), |_| ()).unwrap();
    let id = tensor_id(&other.into_bridge()).unwrap();
    assert_eq!(
        recording.recipe(id).unwrap_err(),
        RecipeError::Unrecorded { tensor: id }
    );
}

#[test]
fn an_operation_that_no_interpreter_knows_is_refused() {
    let (id, recording) = record(DefaultDTypes::default(), |device| {
        let DispatchDevice::Capture(device) = device.as_dispatch() else {
            panic!("{device:?}")
        };
        let client = get_client::<CaptureChannel>(device);
        let id = client.create_empty_handle();
        let out = TensorIr::uninit(id, Shape::new([2]), DType::F32);
        client.register_op(OperationIr::Custom(CustomOpIr::new("mine", &[], &[out])));
        id
    })
    .unwrap();
    let error = recording.recipe(id).unwrap_err();
    assert!(
        matches!(&error, RecipeError::Unsupported { operation } if operation.contains("mine")),
        "{error}"
    );
}

#[test]
fn an_undefined_distribution_is_found_before_anything_is_drawn() {
    let (tensor, recording) = record(DefaultDTypes::default(), |d| {
        Tensor::<1>::random([2], Distribution::Uniform(1.0, -1.0), d).into_bridge()
    })
    .unwrap();
    let recipe = recording.recipe(tensor_id(&tensor).unwrap()).unwrap();
    let error = recipe.check().unwrap_err();
    assert!(matches!(error, RecipeError::Draw { .. }), "{error}");
}

#[test]
fn a_panic_of_burn_while_evaluating_is_an_error() {
    // Select reads out of bounds; only the values tell.
    let (tensor, recording) = record(DefaultDTypes::default(), |d| {
        let index = Tensor::<1, Int>::from_ints([100], d);
        Tensor::<1>::ones([2], d).select(0, index).into_bridge()
    })
    .unwrap();
    let recipe = recording.recipe(tensor_id(&tensor).unwrap()).unwrap();
    let error = recipe
        .evaluate(|_| DrawKey::new(0, "", 0), DType::F32, &device())
        .unwrap_err();
    assert!(matches!(error, RecipeError::Kernel { .. }), "{error}");
}

#[test]
fn a_panic_in_a_constructor_is_passed_on_and_leaves_the_meta_device_usable() {
    for _ in 0..3 {
        let panic = catch_unwind(AssertUnwindSafe(|| {
            record(DefaultDTypes::default(), |d| {
                let _tensor = Tensor::<1>::ones([2], d);
                panic!("the user's own");
            })
        }));
        let message = panic.unwrap_err();
        assert_eq!(message.downcast_ref::<&str>(), Some(&"the user's own"));
        assert_eq!(
            recorded(|d| Tensor::<1>::ones([1], d).into_bridge()).num_elements(),
            1
        );
    }
}

#[test]
fn recordings_nest_and_run_in_threads() {
    let build = |_| {
        for n in 1..200 {
            let (outer, recording) = record(DefaultDTypes::default(), |d| {
                assert!(is_meta_device(d));
                let (inner, _) = record(DefaultDTypes::default(), |d| {
                    Tensor::<1>::ones([n], d).mul_scalar(2.0)
                })
                .unwrap();
                assert_eq!(inner.dims(), [n]);
                Tensor::<1>::ones([n], d).into_bridge()
            })
            .unwrap();
            let recipe = recording.recipe(tensor_id(&outer).unwrap()).unwrap();
            assert_eq!(recipe.kind(), RecipeKind::Ones);
        }
    };
    std::thread::scope(|scope| (0..8).for_each(|i| drop(scope.spawn(move || build(i)))));
}
