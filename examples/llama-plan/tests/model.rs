//! The model alone: that it is Llama, and that its trace says so.

use burn::tensor::{Int, Tensor};
use burn_fabric::prelude::*;
use llama_plan::{Golden, Llama, Products, Shape, Tried};

fn fabric() -> Fabric {
    let builder = Fabric::builder().environment([("", ""); 0]).seed(0);
    builder.accelerator(Accelerator::Flex).build().unwrap()
}

fn meta(shape: &Shape, length: usize) -> Meta<Llama> {
    Meta::build(|device| Llama::new(shape, length, device)).unwrap()
}

#[test]
fn scores_loss_and_gradients_are_those_of_pytorch() {
    let golden = Golden::read().unwrap();
    let apart = golden.apart(&fabric()).unwrap();
    println!("{apart}");
    assert!(apart.scores < 1e-5, "{apart}");
    assert!(apart.loss < 1e-5, "{apart}");
    assert!(apart.gradients < 1e-5, "{apart}");
}

#[test]
fn another_result_of_pytorch_is_far() {
    // Of each kind one that is wrong, so that a comparison that looks at nothing is found.
    let mut golden = Golden::read().unwrap();
    golden.scores[700] += 0.01;
    golden.loss -= 0.02;
    golden.gradient_norms[20].1 *= 1.03;
    let apart = golden.apart(&fabric()).unwrap();
    assert!((apart.scores - 0.01).abs() < 1e-4, "{apart}");
    assert!((apart.loss - 0.02).abs() < 1e-4, "{apart}");
    assert!((apart.gradients - 0.03 / 1.03).abs() < 1e-4, "{apart}");
    let mut golden = Golden::read().unwrap();
    golden.tokens[1][11] += 1;
    assert!(golden.apart(&fabric()).unwrap().scores > 0.1);
}

#[test]
fn a_place_knows_nothing_of_those_after_it() {
    let fabric = fabric();
    let meta = fabric.init_module(|device| Llama::new(&Shape::TINY, 8, device));
    let model = fabric.setup(meta.unwrap()).unwrap();
    let vocabulary = Shape::TINY.vocabulary;
    let scores = |tokens: [i32; 6]| -> Vec<f32> {
        let tokens = Tensor::<1, Int>::from_ints(tokens, fabric.device());
        let scores = model.forward(tokens.unsqueeze()).into_data();
        scores.iter::<f32>().collect()
    };
    let (one, other) = (scores([1, 2, 3, 4, 5, 6]), scores([1, 2, 3, 4, 9, 0]));
    assert_eq!(one[..4 * vocabulary], other[..4 * vocabulary]);
    for place in 4..6 {
        let place = place * vocabulary..(place + 1) * vocabulary;
        assert_ne!(one[place.clone()], other[place]);
    }
}

#[test]
fn it_learns_what_only_a_look_back_tells() {
    let tried = Tried::new(&fabric(), 100).unwrap();
    let (first, last) = (tried.losses[0], tried.losses[99]);
    // Whoever does not look back is at ln 64 = 4.16.
    assert!(first > 4.0, "{tried}");
    assert!(last < 2.0, "{tried}");
    assert!(f64::from(last) > Tried::least_loss(), "{tried}");
}

#[test]
fn parameters_are_those_that_are_published() {
    for (shape, parameters) in [
        (Shape::B8, 8_030_261_248),
        (Shape::B70, 70_553_706_496),
        (Shape::TINY, 28_832),
    ] {
        assert_eq!(shape.parameters(), parameters);
        assert_eq!(meta(&shape, 8192).summary().parameters() as u64, parameters);
    }
}

#[test]
fn products_are_those_of_the_formula() {
    for (shape, batch, length) in [
        (Shape::B8, 1, 8192),
        (Shape::B70, 1, 8192),
        (Shape::B70, 3, 1000),
        (Shape::TINY, 5, 7),
    ] {
        let trace = meta(&shape, length)
            .trace(|model, device| model.forward(Tensor::zeros([batch, length], device)));
        let trace = trace.unwrap();
        assert_eq!(trace.outputs[0].shape, [batch, length, shape.vocabulary]);
        let products = Products::of(&trace, &shape, batch, length);
        assert_eq!(products.more_without_rotary_encoding(), 0.0, "{products}");
        // Four pairs of a multiplication and an addition for each pair of elements of a query or key.
        let rotary = 8 * batch * length * shape.head() * (shape.heads + shape.key_heads);
        assert_eq!(products.of_rotary_encoding, (shape.layers * rotary) as u64);
        assert!(products.more() > 0.0);
        if shape != Shape::TINY {
            assert!(products.more() < 0.001, "{products}");
        }
    }
}

#[test]
fn training_takes_three_times_the_products_and_a_gradient_for_each_parameter() {
    let (shape, length) = (Shape::B8, 2048);
    let trace = meta(&shape, length).trace_training(|model, device| {
        let tokens = Tensor::zeros([1, length], device);
        model.loss(tokens.clone(), tokens)
    });
    let trace = trace.unwrap();
    assert_eq!(trace.memory.gradients, 4 * shape.parameters());
    let forward = shape.flops(1, length as u64) as f64;
    let times = trace.cost().products as f64 / forward;
    assert!((times - 3.0).abs() < 0.003, "{times}");
}
