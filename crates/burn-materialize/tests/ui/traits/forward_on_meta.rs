//! A module on the meta device is no module: it cannot be run, trained or optimised.

use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor};
use burn_materialize::{Materialize, Meta, ResetParameters};

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Model {
    weight: Param<Tensor<1>>,
}

impl Model {
    fn forward(&self, input: Tensor<1>) -> Tensor<1> {
        input * self.weight.val()
    }
}

fn main() {
    let meta = Meta::build(|device| Model { weight: Param::from_tensor(Tensor::ones([2], device)) })
        .unwrap();
    meta.forward(Tensor::ones([2], &Device::flex()));
    meta.train();
}
