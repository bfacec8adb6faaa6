//! The traits for what module trees end in: tensors, flags, and values without tensors.

use burn::module::{Flag, Module, Param, Parameter, RunningState};
use burn::tensor::kind::{Autodiff, Basic, TensorKind};
use burn::tensor::{Bool, Int, Tensor, bf16, f16};

use crate::slot::{BufferSlot, RunningSlot, Slot};
use crate::traversal::Traversal;
use crate::{InitPlan, Materialize, ResetParameters};

impl<const D: usize, K: Basic> Materialize for Param<Tensor<D, K>>
where
    Tensor<D, K>: Parameter,
    Self: Module + ResetParameters,
{
    fn traverse(self, traversal: &mut Traversal<'_>) -> Self {
        // Burn's mapper is the only way to a reparameterisation (LoRA).
        traversal.mapped(self)
    }
}

impl<const D: usize> ResetParameters for Param<Tensor<D>> {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        plan.bare_parameter::<D>(self.lazy_shape());
    }
}

impl<const D: usize> Materialize for RunningState<Tensor<D>> {
    fn traverse(self, traversal: &mut Traversal<'_>) -> Self {
        let mut slot = RunningSlot::new(self);
        traversal.leaf(&mut slot);
        slot.into_state()
    }
}

impl<const D: usize, K: Autodiff + TensorKind + 'static> Materialize for Tensor<D, K>
where
    Self: Module,
    BufferSlot<D, K>: Slot,
{
    fn traverse(self, traversal: &mut Traversal<'_>) -> Self {
        let mut slot = BufferSlot::new(self);
        traversal.leaf(&mut slot);
        slot.into_tensor()
    }
}

impl Materialize for Param<Flag> {
    fn traverse(self, traversal: &mut Traversal<'_>) -> Self {
        traversal.flag(self)
    }
}

/// Nothing to declare: the recorded recipe stands.
macro_rules! no_hook {
    ($([$($generics:tt)*] $type:ty),* $(,)?) => {$(
        impl<$($generics)*> $crate::ResetParameters for $type {
            fn reset_parameters(&self, _plan: &mut $crate::InitPlan<'_>) {}
        }
    )*};
}

no_hook!(
    [const D: usize] Param<Tensor<D, Int>>,
    [const D: usize] Param<Tensor<D, Bool>>,
    [const D: usize] RunningState<Tensor<D>>,
    [const D: usize, K: Basic] Tensor<D, K>,
    [] Param<Flag>,
);

/// No tensor in it.
macro_rules! no_tensor {
    ($($type:ty),* $(,)?) => {$(
        impl $crate::Materialize for $type {
            fn traverse(self, _traversal: &mut $crate::Traversal<'_>) -> Self {
                self
            }
        }
        impl $crate::ResetParameters for $type {
            fn reset_parameters(&self, _plan: &mut $crate::InitPlan<'_>) {}
        }
    )*};
}

no_tensor!(
    String, bool, f16, bf16, f32, f64, u8, u16, u32, u64, usize, i8, i16, i32, i64, isize,
);

pub(crate) use {no_hook, no_tensor};
