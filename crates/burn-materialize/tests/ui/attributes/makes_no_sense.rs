//! Attributes on fields where they mean nothing.

use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, Shape, Tensor};
use burn_materialize::{Materialize, ResetParameters};

fn ones(shape: Shape, device: &Device) -> Tensor<1> {
    Tensor::ones(shape, device)
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Model {
    #[materialize(foreign)]
    foreign_constant: usize,
    #[reset(with = ones)]
    reset_constant: Option<f32>,
    #[module(skip)]
    #[materialize(foreign)]
    foreign_skipped: Tensor<1>,
    #[module(skip)]
    #[reset(initializer = Initializer::Zeros)]
    initialized_skipped: Tensor<1>,
    #[materialize(foreign)]
    #[reset(initializer = Initializer::Zeros)]
    initialized_foreign: Param<Tensor<1>>,
    #[materialize(foreign)]
    #[reset(with = ones)]
    reset_foreign: Param<Tensor<1>>,
}

fn main() {}
