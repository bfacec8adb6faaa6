//! The trait that declares how tensors get their initial values.

use crate::InitPlan;

/// Says how each tensor of a module gets its initial value.
///
/// Derive it: the derived hook asks every field, and where a field carries
/// `#[reset(initializer = …)]` or `#[reset(with = …)]` it declares that. What no hook declares
/// keeps what its constructor recorded; a layer of burn-nn that was never recorded gets the default
/// its documentation states.
///
/// A hook declares and allocates nothing. Children speak first, and a parent may overwrite what
/// they said, since a bare `Linear` cannot know that it sits inside a recurrent gate:
///
/// ```
/// use burn::module::{Initializer, Module};
/// use burn::nn::Linear;
/// use burn_materialize::{InitPlan, Materialize, ResetParameters};
///
/// #[derive(Module, Materialize, Debug)]
/// struct Residual {
///     body: Linear,
///     out: Linear,
/// }
///
/// impl ResetParameters for Residual {
///     fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
///         plan.child("body", &self.body);
///         plan.child("out", &self.out);
///         // The branch starts as the identity.
///         plan.within("out", |plan| plan.parameter("weight", &self.out.weight, &Initializer::Zeros));
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no reset hook: it does not implement `ResetParameters`",
    label = "nothing says how its tensors get their initial values",
    note = "if `{Self}` is your module, add `ResetParameters` to its `#[derive(Module, Materialize, …)]`, or implement it by hand",
    note = "if it comes from another crate, mark the field with `#[materialize(foreign)]`: it keeps what its constructor records"
)]
pub trait ResetParameters {
    /// Declare the initial values of this module's tensors.
    fn reset_parameters(&self, plan: &mut InitPlan<'_>);
}
