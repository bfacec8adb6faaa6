//! The same on the variants of an enum.

use burn::module::{Initializer, Module, Param};
use burn::tensor::Tensor;
use burn_materialize::{Materialize, ResetParameters};

#[derive(Module, Materialize, ResetParameters, Debug)]
enum Model {
    #[materialize(foreign)]
    Twice(#[materialize(foreign)] Param<Tensor<1>>),
    #[reset(initializer = Initializer::Zeros)]
    Constant(f32),
}

fn main() {}
