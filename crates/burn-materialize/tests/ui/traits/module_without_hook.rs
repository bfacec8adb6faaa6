//! A module that derives neither trait has no meta form.

use burn::module::{Module, Param};
use burn::tensor::Tensor;
use burn_materialize::Meta;

#[derive(Module, Debug)]
struct Model {
    weight: Param<Tensor<1>>,
}

fn main() {
    let _ = Meta::build(|device| Model { weight: Param::from_tensor(Tensor::ones([2], device)) });
}
