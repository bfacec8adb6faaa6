//! `Materialize` includes the reset hook.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn_materialize::Materialize;

#[derive(Module, Materialize, Debug)]
struct Model {
    weight: Param<Tensor<1>>,
}

fn main() {}
