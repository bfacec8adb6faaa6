//! Values of the wrong type are reported where they are written.

use burn::module::{Module, Param};
use burn::tensor::{Device, Shape, Tensor};
use burn_materialize::{Materialize, ResetParameters};

fn matrix(shape: Shape, device: &Device) -> Tensor<2> {
    Tensor::ones(shape, device)
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Layer {
    weight: Param<Tensor<2>>,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Model {
    #[reset(initializer = 0.5)]
    weight: Param<Tensor<1>>,
    #[reset(with = matrix)]
    bias: Param<Tensor<1>>,
    #[reset(with = matrix)]
    layer: Layer,
}

fn main() {}
