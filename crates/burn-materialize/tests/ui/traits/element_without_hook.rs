//! The same inside containers and in a variant.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn_materialize::{Materialize, ResetParameters};

#[derive(Module, Debug)]
struct Layer {
    weight: Param<Tensor<1>>,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Model {
    layers: Vec<Layer>,
    last: Option<(Layer, Param<Tensor<2>>)>,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
enum Choice {
    Layer(Layer),
}

fn main() {}
