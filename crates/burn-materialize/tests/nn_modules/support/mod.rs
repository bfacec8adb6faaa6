//! What every module is checked for.

mod distribution;
mod eager;
mod hooks;
mod initializers;
pub mod same;
mod snapshot;
mod training;

use burn::module::ModuleDisplay;
use burn::tensor::{Device, Int, Tensor};
use burn_materialize::Materialize;

pub use initializers::{COMPOSED, FAN_IN, FANS, NO_FANS, check_initializers};

/// A module that a generic module can hold.
pub trait Layer: Materialize + ModuleDisplay {}

impl<M: Materialize + ModuleDisplay> Layer for M {}

/// Everything that holds for a module with documented defaults: `output` is what its forward pass
/// gives, flattened, and depends on every parameter.
pub fn check<M: Layer>(build: impl Fn(&Device) -> M, output: impl Fn(&M, &Device) -> Tensor<1>) {
    hooks::check_defaults(&build);
    check_without_defaults(build, output);
}

/// The same for a module that documents no default for its parameters.
pub fn check_without_defaults<M: Layer>(
    build: impl Fn(&Device) -> M,
    output: impl Fn(&M, &Device) -> Tensor<1>,
) {
    eager::check_like_eager(&build, &output);
    hooks::check_hook_allocates_nothing(&build);
    training::check_training(&build, &output);
}

/// Varied values between -1 and 1, the same at every call.
pub fn input<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    let elements: usize = shape.iter().product();
    let count = Tensor::<1, Int>::arange(1..elements as i64 + 1, device).float();
    count.mul_scalar(0.7).sin().reshape(shape)
}

/// Whole numbers from 0 to `below`, one after the other.
pub fn labels<const D: usize>(shape: [usize; D], below: usize, device: &Device) -> Tensor<D, Int> {
    let elements: usize = shape.iter().product();
    Tensor::<1, Int>::arange(0..elements as i64, device)
        .remainder_scalar(below as i64)
        .reshape(shape)
}

/// All elements in one row.
pub fn flat<const D: usize>(tensor: Tensor<D>) -> Tensor<1> {
    let elements = tensor.shape().num_elements();
    tensor.reshape([elements])
}
