//! A variant holds exactly one unnamed field.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn_materialize::{Materialize, ResetParameters};

#[derive(Module, Materialize, ResetParameters, Debug)]
enum Model {
    One(Param<Tensor<1>>),
    Unit,
    Two(Param<Tensor<1>>, Param<Tensor<1>>),
    Named { weight: Param<Tensor<1>> },
}

fn main() {}
