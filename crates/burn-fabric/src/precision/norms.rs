//! Parameters of norms that Burn computes in f32 whatever their input is.

use std::any::Any;
use std::collections::HashMap;

use burn::module::ParamId;
use burn::tensor::{DType, FloatDType, Tensor};
use burn_materialize::{Materialize, Pass, Site, Slot, traverse};

use crate::gradients::with_rank;

/// The module with the parameters of its layer norms in f32, ties kept.
///
/// Burn's `LayerNorm` widens an input in f16 and its own parameters with it, so that they lose
/// nothing in f32, and meet nothing else. In bf16 it widens nothing; and the other norms multiply by
/// parameters in their input's dtype (burn-nn 0.22, `modules/norm`).
pub(crate) fn norms_in_f32<M: Materialize>(module: M) -> M {
    traverse(module, &mut NormsInF32::default())
}

#[derive(Default)]
struct NormsInF32 {
    leaves: HashMap<ParamId, Box<dyn Any>>,
}

impl Pass for NormsInF32 {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        let Some(id) = slot.id().filter(|_| site.module() == "LayerNorm") else {
            return;
        };
        if let Some(leaf) = self.leaves.get(&id)
            && slot.tie(leaf.as_ref())
        {
            return;
        }
        let rank = slot.shape().rank();
        // What is lazy is recorded, or initialised, by this.
        slot.update(&mut |tensor| match (tensor.is_float(), tensor.dtype()) {
            (true, DType::F16) => with_rank!(rank, D => {
                Tensor::<D>::from_bridge(tensor).cast(FloatDType::F32).into_bridge()
            }),
            _ => tensor,
        });
        self.leaves.insert(id, slot.handle());
    }
}
