//! The model alone.

use burn::tensor::{Device, Int, Tensor};
use burn_fabric::prelude::*;
use shakespeare::{ShakespeareError, Shape, Transformer, check_tie};

const SYMBOLS: usize = 11;

fn shape() -> Shape {
    Shape {
        context: 12,
        width: 16,
        layers: 2,
        heads: 2,
    }
}

fn new(device: &Device) -> Transformer {
    Transformer::new(SYMBOLS, &shape(), device)
}

#[test]
fn a_place_knows_nothing_of_those_after_it() {
    let fabric = Fabric::builder().build().unwrap();
    let model = fabric.setup(fabric.init_module(new).unwrap()).unwrap();
    let scores = |symbols: [i32; 6]| {
        let symbols = Tensor::<1, Int>::from_ints(symbols, fabric.device());
        model.forward(symbols.unsqueeze()).into_data()
    };
    let (one, other) = (scores([1, 2, 3, 4, 5, 6]), scores([1, 2, 3, 4, 9, 0]));
    let values = |data: &burn::tensor::TensorData| data.try_to_vec::<f32>().unwrap();
    let (one, other) = (values(&one), values(&other));
    assert_eq!(one[..4 * SYMBOLS], other[..4 * SYMBOLS]);
    for place in 4..6 {
        let place = place * SYMBOLS..(place + 1) * SYMBOLS;
        assert_ne!(one[place.clone()], other[place]);
    }
}

#[test]
fn a_model_whose_tie_is_gone_is_told() {
    let fabric = Fabric::builder().build().unwrap();
    let meta = fabric.init_module(new).unwrap();
    let summary = meta.summary();
    assert!(
        summary.to_string().contains("= embedding.weight"),
        "{summary}"
    );
    check_tie(&fabric.setup(meta).unwrap()).unwrap();

    let untied = |device: &Device| {
        let mut model = new(device);
        model.head = new(device).head;
        model
    };
    let untied = fabric.setup(fabric.init_module(untied).unwrap()).unwrap();
    let error = check_tie(&untied).unwrap_err();
    assert!(matches!(error, ShakespeareError::Untied("two parameters")));
}
