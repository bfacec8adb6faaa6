//! Turning autodiff on and off, ties kept.

use std::any::Any;
use std::collections::HashMap;

use burn::module::{Flag, Module, Param, ParamId};
use burn::tensor::{Device, GradientCheckpointingStrategy};
use burn_meta::is_meta_device;

use crate::Materialize;
use crate::site::Site;
use crate::slot::Slot;
use crate::traversal::{Pass, traverse};

/// Turn autodiff on for every real tensor of `module`, as `Module::train` does, but with the
/// *same* leaf at every path of a tie: Burn makes two leaves under one id, and one of their
/// gradients is lost.
///
/// All of them get the gradient-checkpointing strategy of `device`, the default one where it has no
/// autodiff: tensors of two strategies cannot meet in one operation. `flags` says whether training
/// flags are restored too. Meta and lazy tensors stay as they are.
pub(crate) fn train<M: Materialize>(module: M, device: &Device, flags: bool) -> M {
    traverse(
        module,
        &mut Train {
            strategy: device.gradient_checkpointing_strategy().unwrap_or_default(),
            flags,
            leaves: HashMap::new(),
        },
    )
}

struct Train {
    strategy: GradientCheckpointingStrategy,
    flags: bool,
    leaves: HashMap<ParamId, Box<dyn Any>>,
}

impl Pass for Train {
    fn tensor(&mut self, _site: &Site<'_>, slot: &mut dyn Slot) {
        if slot.is_lazy() || is_meta_device(&slot.device()) {
            return;
        }
        let Some(id) = slot.id() else {
            return slot.train(self.strategy);
        };
        if let Some(leaf) = self.leaves.get(&id)
            && slot.tie(leaf.as_ref())
        {
            return;
        }
        slot.train(self.strategy);
        self.leaves.insert(id, slot.handle());
    }

    fn flag(&mut self, _site: &Site<'_>, flag: Param<Flag>) -> Param<Flag> {
        if self.flags {
            Module::train(flag)
        } else {
            flag
        }
    }
}

/// A copy for evaluation: autodiff off and training flags off, as `Module::valid` makes it, but
/// everywhere the traversal reaches, `#[module(skip)]` fields too. It shares the tensors' memory,
/// and no running state.
///
/// ```
/// use burn::nn::DropoutConfig;
/// use burn_materialize::valid;
///
/// let dropout = DropoutConfig::new(0.5).init();
/// assert!(!valid(&dropout).training.is_enabled());
/// assert!(dropout.training.is_enabled());
/// ```
pub fn valid<M: Materialize>(module: &M) -> M {
    traverse(module.clone(), &mut Valid)
}

struct Valid;

impl Pass for Valid {
    fn tensor(&mut self, _site: &Site<'_>, slot: &mut dyn Slot) {
        if !slot.is_lazy() {
            slot.valid();
        }
    }

    fn flag(&mut self, _site: &Site<'_>, flag: Param<Flag>) -> Param<Flag> {
        Module::valid(&flag)
    }
}
