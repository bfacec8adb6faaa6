//! Parameters of norms that Burn computes in f32 whatever their input is.

use std::any::Any;
use std::collections::{HashMap, HashSet};

use burn::module::ParamId;
use burn::tensor::{DType, FloatDType, Tensor};
use burn_materialize::{Materialize, Pass, Site, Slot, is_meta_device, traverse};

use crate::gradients::with_rank;

/// The module with those f16 parameters of its layer norms in f32 that `selects` accepts, ties kept. What
/// is tied to a parameter outside a layer norm stays as it is: that one meets f16.
///
/// Burn's `LayerNorm` widens an input in f16 and its own parameters with it, so that they lose
/// nothing in f32, and meet nothing else. In bf16 it widens nothing; and the other norms multiply by
/// parameters in their input's dtype (burn-nn 0.22, `modules/norm`).
pub(crate) fn norms_in_f32<M: Materialize>(
    module: M,
    selects: &dyn Fn(&str, &dyn Slot) -> bool,
) -> M {
    let mut outside = Outside::default();
    let module = traverse(module, &mut outside);
    let mut norms = NormsInF32 {
        selects,
        outside: outside.0,
        leaves: HashMap::new(),
    };
    traverse(module, &mut norms)
}

/// Whether a leaf is a parameter of Burn's layer norm.
pub(crate) fn is_of_a_layer_norm(site: &Site<'_>) -> bool {
    site.is_of_burn() && site.module() == "LayerNorm"
}

/// Parameters that stand somewhere else than in a layer norm.
#[derive(Default)]
struct Outside(HashSet<ParamId>);

impl Pass for Outside {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        if !is_of_a_layer_norm(site) {
            self.0.extend(slot.id());
        }
    }
}

/// The paths of what is real already, in a module that is to be set up.
#[derive(Default)]
pub(crate) struct RealPaths(pub(crate) HashSet<String>);

impl Pass for RealPaths {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        if !slot.is_lazy() && !is_meta_device(&slot.device()) {
            self.0.insert(site.path().to_owned());
        }
    }
}

struct NormsInF32<'s> {
    selects: &'s dyn Fn(&str, &dyn Slot) -> bool,
    outside: HashSet<ParamId>,
    leaves: HashMap<ParamId, Box<dyn Any>>,
}

impl Pass for NormsInF32<'_> {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        let Some(id) = slot.id().filter(|id| {
            is_of_a_layer_norm(site)
                && !self.outside.contains(id)
                && (self.selects)(site.path(), &*slot)
        }) else {
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
