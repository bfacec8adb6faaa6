//! `#[reset]` without the derive that reads it is no attribute at all.

use burn::module::{Initializer, Module, Param};
use burn::tensor::Tensor;
use burn_materialize::{InitPlan, Materialize, ResetParameters};

#[derive(Module, Materialize, Debug)]
struct Model {
    #[reset(initializer = Initializer::Zeros)]
    weight: Param<Tensor<1>>,
}

impl ResetParameters for Model {
    fn reset_parameters(&self, _plan: &mut InitPlan<'_>) {}
}

fn main() {}
