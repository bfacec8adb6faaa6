//! Every mistake in an item's attributes, in one go.

use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, Shape, Tensor};
use burn_materialize::{Materialize, ResetParameters};

fn ones(shape: Shape, device: &Device) -> Tensor<1> {
    Tensor::ones(shape, device)
}

#[derive(Module, Materialize, ResetParameters, Debug)]
#[materialize(foreign, krate = burn_materialize)]
#[reset(with = ones)]
struct Model {
    #[materialize(foriegn)]
    unknown: Param<Tensor<1>>,
    #[materialize(crate = burn_materialize)]
    misplaced: Param<Tensor<1>>,
    #[materialize(foreign, foreign)]
    twice: Param<Tensor<1>>,
    #[materialize(foreign = true)]
    valued: Param<Tensor<1>>,
    #[materialize]
    empty: Param<Tensor<1>>,
    #[reset(init = Initializer::Zeros)]
    unknown_hook: Param<Tensor<1>>,
    #[reset(with = ones)]
    #[reset(with = ones)]
    twice_hook: Tensor<1>,
    #[reset(with)]
    no_value: Tensor<1>,
    #[reset(with = "ones")]
    text: Tensor<1>,
    #[reset(initializer = Initializer::Zeros, with = ones)]
    both: Param<Tensor<1>>,
}

fn is_a_module_all_the_same(model: Model) -> impl Materialize {
    model
}

fn main() {}
