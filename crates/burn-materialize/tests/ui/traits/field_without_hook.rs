//! A field whose type derives neither trait: one message, at the field's type.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn_materialize::{Materialize, ResetParameters};

#[derive(Module, Debug)]
struct Layer {
    weight: Param<Tensor<1>>,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Model {
    layer: Layer,
}

fn main() {}
