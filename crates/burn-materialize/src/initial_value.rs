//! Fields whose initial value a function can give.

use burn::module::{Param, Parameter, RunningState};
use burn::tensor::kind::Basic;
use burn::tensor::{Shape, Tensor};

use crate::InitPlan;

/// A field whose value a function can give: parameters, running states, plain tensors, and
/// `Option`s of these.
#[diagnostic::on_unimplemented(
    message = "a function cannot give `{Self}` its value",
    note = "`#[reset(with = …)]` goes on a parameter, a running state or a plain tensor; a layer takes `#[reset(initializer = …)]`"
)]
pub trait InitialValue {
    /// The tensor type the function returns.
    type Tensor;

    /// The field's shape; `None` where the field is `None`.
    fn initial_shape(&self) -> Option<Shape>;

    /// Declare `tensor` where the plan stands.
    #[doc(hidden)]
    fn declare(tensor: Self::Tensor, plan: &mut InitPlan<'_>);
}

impl<const D: usize, K: Basic> InitialValue for Tensor<D, K> {
    type Tensor = Self;

    fn initial_shape(&self) -> Option<Shape> {
        Some(self.shape())
    }

    fn declare(tensor: Self, plan: &mut InitPlan<'_>) {
        plan.value_here(tensor);
    }
}

impl<const D: usize, K: Basic> InitialValue for Param<Tensor<D, K>>
where
    Tensor<D, K>: Parameter,
{
    type Tensor = Tensor<D, K>;

    fn initial_shape(&self) -> Option<Shape> {
        Some(self.lazy_shape())
    }

    fn declare(tensor: Self::Tensor, plan: &mut InitPlan<'_>) {
        plan.value_here(tensor);
    }
}

impl<const D: usize> InitialValue for RunningState<Tensor<D>> {
    type Tensor = Tensor<D>;

    fn initial_shape(&self) -> Option<Shape> {
        Some(self.value().shape())
    }

    fn declare(tensor: Self::Tensor, plan: &mut InitPlan<'_>) {
        plan.value_here(tensor);
    }
}

impl<F: InitialValue> InitialValue for Option<F> {
    type Tensor = F::Tensor;

    fn initial_shape(&self) -> Option<Shape> {
        self.as_ref().and_then(F::initial_shape)
    }

    fn declare(tensor: Self::Tensor, plan: &mut InitPlan<'_>) {
        F::declare(tensor, plan);
    }
}
