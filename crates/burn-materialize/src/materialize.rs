//! The trait behind everything: one traversal of a module.

use burn::module::Module;

use crate::ResetParameters;
use crate::traversal::Traversal;

/// A module whose every tensor can be reached: parameters, running states, plain tensors and what
/// `#[module(skip)]` fields hold.
///
/// Derive it next to Burn's `Module`. It is no relative of Burn's `Module::materialize`, which
/// folds a reparameterisation such as LoRA into its weight; nothing here has a method of that name
/// on a module. ([`Meta::materialize`](crate::Meta::materialize) is a method of `Meta`, which is no
/// `Module`.)
///
/// ```
/// use burn::module::{Module, Param};
/// use burn::nn::{Linear, LinearConfig};
/// use burn::tensor::{Device, Tensor};
/// use burn_materialize::{Materialize, Meta, ResetParameters};
///
/// #[derive(Module, Materialize, ResetParameters, Debug)]
/// struct Head {
///     linear: Linear,
///     scale: Param<Tensor<1>>,
///     mask: Tensor<2>,
/// }
///
/// let meta = Meta::build(|device| Head {
///     linear: LinearConfig::new(64, 10).init(device),
///     scale: Param::from_tensor(Tensor::ones([10], device)),
///     mask: Tensor::ones([10, 10], device).tril(0),
/// })?;
/// let head: Head = meta.materialize(&Device::flex())?;
/// assert_eq!(head.mask.dims(), [10, 10]);
/// # Ok::<(), burn_materialize::MaterializeError>(())
/// ```
///
/// It is a traversal by value: each field is handed over and put back. A struct's implementation,
/// written by hand, is one line a field:
///
/// ```
/// # use burn::module::Module;
/// # use burn::nn::Linear;
/// # use burn_materialize::{InitPlan, Materialize, ResetParameters, Traversal};
/// # #[derive(Module, Debug)]
/// # struct Head { linear: Linear }
/// impl Materialize for Head {
///     fn traverse(mut self, traversal: &mut Traversal<'_>) -> Self {
///         self.linear = traversal.field("linear", "Struct:Head", self.linear);
///         self
///     }
/// }
/// # impl ResetParameters for Head {
/// #     fn reset_parameters(&self, plan: &mut InitPlan<'_>) { plan.child("linear", &self.linear); }
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be materialised: it does not implement `Materialize`",
    label = "its tensors cannot be reached",
    note = "if `{Self}` is your module, add `Materialize, ResetParameters` to its `#[derive(Module, …)]`",
    note = "if it comes from another crate, mark the field with `#[materialize(foreign)]`: Burn's own mapper then reaches its parameters"
)]
pub trait Materialize: Module + ResetParameters {
    /// Hand every tensor and flag to the pass of `traversal`, in declaration order, and return the
    /// module with what the pass left there.
    fn traverse(self, traversal: &mut Traversal<'_>) -> Self;
}
