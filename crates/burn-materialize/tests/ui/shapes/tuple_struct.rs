//! Fields have names.

use burn::module::Param;
use burn::tensor::Tensor;
use burn_materialize::{Materialize, ResetParameters};

// Burn's own derive panics on it.
#[derive(Materialize, ResetParameters, Debug)]
struct Model(Param<Tensor<1>>, Param<Tensor<2>>);

fn main() {}
