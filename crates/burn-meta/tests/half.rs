//! Recipes recorded with a default dtype of half precision: computed in f32, rounded once.

use burn::tensor::kind::BridgeTensor;
use burn::tensor::{DType, Device, Distribution, FloatDType, Int, Tensor, TensorData};
use burn_meta::{DefaultDTypes, DrawKey, read, record, tensor_id};

const HALVES: [(FloatDType, DType); 2] = [
    (FloatDType::BF16, DType::BF16),
    (FloatDType::F16, DType::F16),
];

/// Record `build` with a default float dtype and evaluate its tensor as it was recorded.
fn recorded(float: FloatDType, build: impl Fn(&Device) -> BridgeTensor) -> TensorData {
    let dtypes = DefaultDTypes {
        float,
        ..DefaultDTypes::default()
    };
    let (tensor, recording) = record(dtypes, build).unwrap();
    let recipe = recording.recipe(tensor_id(&tensor).unwrap()).unwrap();
    let key = |_| DrawKey::new(7, "x", 0);
    let real = recipe.evaluate(key, recipe.dtype(), &Device::flex());
    read(real.unwrap()).unwrap()
}

/// Sines of angles up to a thousand.
fn sines(device: &Device) -> Tensor<2> {
    let rates = Tensor::<1, Int>::arange(0..8, device).float();
    let rates = rates.mul_scalar(-0.7).exp();
    let places = Tensor::<1, Int>::arange(0..1001, device).float();
    (places.unsqueeze_dim::<2>(1) * rates.unsqueeze()).sin()
}

#[test]
fn a_graph_is_computed_in_f32_and_rounded_once() {
    let wide = recorded(FloatDType::F32, |d| sines(d).into_bridge());
    for (float, dtype) in HALVES {
        let found = recorded(float, |d| sines(d).into_bridge());
        assert_eq!(found.dtype(), dtype);
        assert_eq!(found, wide.clone().convert_dtype(dtype));
    }
    // Rounded after each operation, it is nothing of the kind.
    let rates = Tensor::<1, Int>::arange(0..8, &Device::flex()).float();
    let rates = rates.cast(DType::BF16).mul_scalar(-0.7).exp();
    let places = Tensor::<1, Int>::arange(0..1001, &Device::flex()).float();
    let angles = places.cast(DType::BF16).unsqueeze_dim::<2>(1) * rates.unsqueeze();
    let stepwise = angles.sin().cast(DType::F32).into_data();
    let values = |data: &TensorData| data.try_to_vec::<f32>().unwrap();
    let apart = values(&stepwise).into_iter().zip(values(&wide));
    let apart = apart.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(apart > 0.5, "{apart}");
}

#[test]
fn integers_that_are_computed_by_way_of_floats_are_exact() {
    let found = recorded(FloatDType::BF16, |d| {
        let places = Tensor::<1, Int>::arange(0..1001, d).float();
        places.add_scalar(0.25).int().into_bridge()
    });
    let values: Vec<i64> = found.try_to_vec().unwrap();
    assert_eq!(values, (0..1001).collect::<Vec<i64>>());
}

#[test]
fn draws_and_data_are_those_of_the_dtype() {
    let normal = Distribution::Normal(0.0, 1.0);
    for (float, dtype) in HALVES {
        let draw = move |d: &Device| Tensor::<2>::random([30, 40], normal, d);
        let alone = recorded(float, |d| draw(d).into_bridge());
        assert_eq!(alone.dtype(), dtype);
        let in_a_graph = recorded(float, |d| draw(d).transpose().transpose().into_bridge());
        assert_eq!(in_a_graph, alone);
        // A tenth of the dtype, and not the one of f32: three of it are rounded once.
        let tripled = recorded(float, |d| {
            Tensor::<1>::from_floats([0.1], d)
                .mul_scalar(3)
                .into_bridge()
        });
        let tenth = TensorData::from([0.1_f32]).convert_dtype(dtype);
        let tenth: Vec<f32> = tenth.convert_dtype(DType::F32).try_to_vec().unwrap();
        let expected = TensorData::from([3.0 * tenth[0]]).convert_dtype(dtype);
        assert_eq!(tripled, expected);
    }
}

#[test]
fn a_dtype_that_code_names_rounds_where_it_is_named() {
    // Not the default: each operation in it rounds, as flex does it.
    let build = |d: &Device| {
        let thirds = Tensor::<1, Int>::arange(0..400, d).float().div_scalar(3);
        let named = thirds.cast(FloatDType::F16).mul_scalar(1.1).exp().log();
        named.cast(FloatDType::F32)
    };
    let eager = build(&Device::flex()).into_data();
    let found = recorded(FloatDType::F32, |d| build(d).into_bridge());
    assert_eq!(found, eager);
    // F16 and F32 are named where bf16 is the default; what comes before them is not rounded.
    let found = recorded(FloatDType::BF16, |d| build(d).into_bridge());
    assert_eq!(found, eager);
}
