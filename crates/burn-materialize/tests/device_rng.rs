//! Values that the device draws by itself. Its generator belongs to the whole process, so this is one
//! test in a program of its own.

mod common;

use burn::module::{Initializer, Module, Param};
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig, LinearLayout};
use burn::tensor::{Device, Distribution, Tensor};
use burn_materialize::{InitRng, Materialize, Meta, Realize, ResetParameters};
use common::values;
use device_under_test::device;

/// Draws alone, a draw that two tensors share, a tie, what is computed from a draw, a constant.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Net {
    hidden: Linear,
    orthogonal: Linear,
    column: Linear,
    embedding: Embedding,
    head: Param<Tensor<2>>,
    twice: Tensor<1>,
    draw: Tensor<1>,
}

impl Net {
    fn new(device: &Device) -> Self {
        let embedding = EmbeddingConfig::new(100, 100).init(device);
        let draw = Tensor::random([10], Distribution::Normal(0.0, 1.0), device);
        let square = LinearConfig::new(20, 20).with_bias(false);
        Self {
            hidden: LinearConfig::new(100, 120).init(device),
            orthogonal: square
                .clone()
                .with_initializer(Initializer::Orthogonal { gain: 1.0 })
                .init(device),
            column: square.with_layout(LinearLayout::Col).init(device),
            head: embedding.weight.clone(),
            embedding,
            twice: draw.clone().mul_scalar(2.0),
            draw,
        }
    }
}

#[test]
fn the_device_draws_what_is_drawn_alone_and_nothing_else() {
    let device = device();
    let meta = Meta::build_for(&device, Net::new).unwrap().with_seed(5);
    let portable = values(&meta.materialize(&device).unwrap());
    let meta = meta.with_rng(InitRng::Device);
    assert_eq!(meta.recipes().rng(), InitRng::Device);
    let drawn = values(&meta.materialize(&device).unwrap());

    // The same after the same seed, while nothing else draws.
    assert_eq!(values(&meta.materialize(&device).unwrap()), drawn);
    let other = meta.clone().with_seed(6);
    let other = values(&other.materialize(&device).unwrap());
    for path in ["hidden.weight", "hidden.bias", "embedding.weight"] {
        assert_ne!(drawn[path], portable[path], "{path}");
        assert_ne!(drawn[path], other[path], "{path}");
        assert_eq!(drawn[path].dtype(), portable[path].dtype(), "{path}");
    }
    for path in ["orthogonal.weight", "column.weight", "draw", "twice"] {
        assert_eq!(drawn[path], portable[path], "{path}");
    }
    assert_eq!(drawn["head"], drawn["embedding.weight"]);

    // As the recipes say: within 1 / sqrt(100), and of standard deviation 1.
    let weight: Vec<f64> = drawn["hidden.weight"].iter::<f64>().collect();
    assert!(weight.iter().all(|value| value.abs() <= 0.1001));
    assert!(weight.iter().any(|value| *value > 0.09) && weight.iter().any(|value| *value < -0.09));
    let embedding: Vec<f64> = drawn["embedding.weight"].iter::<f64>().collect();
    let mean = embedding.iter().sum::<f64>() / 1e4;
    let deviation = embedding
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / 1e4;
    assert!(
        mean.abs() < 0.06 && (deviation - 1.0).abs() < 0.1,
        "{mean} {deviation}"
    );

    // A lazy module of plain Burn as well.
    let draws = burn_materialize::Draws {
        seed: 5,
        rng: InitRng::Device,
    };
    let lazy = || LinearConfig::new(30, 20).init(&device);
    let real = |draws| {
        let linear: Linear = lazy().realize(&device, draws).unwrap().module;
        linear.weight.val().inner().into_data()
    };
    assert_ne!(real(draws), real(burn_materialize::Draws::from(5)));
}
