//! Ties: one parameter at several paths.

use std::any::Any;
use std::collections::{HashMap, HashSet};

use burn::module::ParamId;
use burn::tensor::Device;
use burn_meta::read;

use crate::Materialize;
use crate::error::{MaterializeError, Problem, Problems};
use crate::inventory::{Entry, State, inventory};
use crate::site::{Role, Site};
use crate::slot::Slot;
use crate::train::train;
use crate::traversal::{Pass, traverse};

/// Turn autodiff on where it is off and put the *same* leaf at every path of a tie, after Burn's
/// own mappers, records or `Module::train` made several of it. Flags stay. Gradients are computed
/// without checkpointing.
///
/// # Errors
/// [`Problem::OneIdTwoTensors`] where the paths of one id hold different values.
pub fn retie<M: Materialize>(module: M) -> Result<M, MaterializeError> {
    retie_as(module, &Device::flex())
}

/// The same, under the gradient-checkpointing strategy of `device` where it has one.
///
/// # Errors
/// As [`retie`].
pub fn retie_as<M: Materialize>(module: M, device: &Device) -> Result<M, MaterializeError> {
    check_real_ties(&module, &inventory(&module))?;
    Ok(train(module, device, false))
}

/// A copy that shares no running state with `module`, as clones do: what changes those of the copy
/// in place, as Burn's mappers and records do, leaves the module alone. States that the module
/// shares within itself stay shared there.
pub fn detached<M: Materialize>(module: &M) -> M {
    #[derive(Default)]
    struct Detach(HashMap<ParamId, Box<dyn Any>>);
    impl Pass for Detach {
        fn tensor(&mut self, _site: &Site<'_>, slot: &mut dyn Slot) {
            let (Role::RunningState, Some(id)) = (slot.role(), slot.id()) else {
                return;
            };
            if let Some(first) = self.0.get(&id)
                && slot.tie(first.as_ref())
            {
                return;
            }
            slot.update(&mut |value| value);
            self.0.insert(id, slot.handle());
        }
    }
    traverse(module.clone(), &mut Detach::default())
}

/// Tensors that exist under one id must be one tensor; only their values can tell.
pub(crate) fn check_real_ties<M: Materialize>(
    module: &M,
    entries: &[Entry],
) -> Result<(), MaterializeError> {
    let mut ids = HashSet::new();
    let repeated: HashSet<ParamId> = entries
        .iter()
        .filter(|entry| entry.state == State::Real)
        .filter_map(|entry| entry.id)
        .filter(|id| !ids.insert(*id))
        .collect();
    if repeated.is_empty() {
        return Ok(());
    }
    let mut compare = Compare {
        repeated,
        values: HashMap::new(),
        conflicts: Vec::new(),
    };
    traverse(module.clone(), &mut compare);
    if compare.conflicts.is_empty() {
        return Ok(());
    }
    Err(MaterializeError::Refused(Problems(compare.conflicts)))
}

struct Compare {
    repeated: HashSet<ParamId>,
    values: HashMap<ParamId, (String, burn::tensor::TensorData)>,
    conflicts: Vec<Problem>,
}

impl Pass for Compare {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        let Some(id) = slot
            .id()
            .filter(|id| self.repeated.contains(id) && !slot.is_lazy())
        else {
            return;
        };
        let Ok(data) = read(slot.tensor()) else {
            return;
        };
        match self.values.get(&id) {
            Some((first, values)) if *values != data => {
                let paths = vec![first.clone(), site.path().to_owned()];
                self.conflicts.push(Problem::OneIdTwoTensors { paths });
            }
            Some(_) => {}
            None => {
                self.values.insert(id, (site.path().to_owned(), data));
            }
        }
    }
}
