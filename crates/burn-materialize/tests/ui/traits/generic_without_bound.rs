//! A type argument is a module like any other.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn_materialize::{Materialize, ResetParameters, Traversal};

#[derive(Module, Debug)]
struct Layer {
    weight: Param<Tensor<1>>,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Model<M> {
    layer: M,
}

fn go(model: Model<Layer>, traversal: &mut Traversal<'_>) {
    model.traverse(traversal);
}

fn main() {}
