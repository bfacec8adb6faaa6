//! From plan to tensors: each is produced once.

use std::any::Any;
use std::collections::HashMap;

use burn::backend::ExecutionError;
use burn::module::ParamId;
use burn::tensor::Device;
use burn::tensor::kind::BridgeTensor;
use burn_meta::{TensorId, confirm};

use crate::Materialize;
use crate::error::MaterializeError;
use crate::init_rng::InitRng;
use crate::plan::{Item, Plan};
use crate::site::Site;
use crate::slot::Slot;
use crate::traversal::{Pass, traverse};

impl Plan<'_> {
    /// Produce every tensor of the plan, each once, and put it into its place.
    pub(crate) fn fill<M: Materialize>(self, module: M, seed: u64) -> Result<M, MaterializeError> {
        self.fill_and(module, seed, confirm)
    }

    fn fill_and<M: Materialize>(
        self,
        module: M,
        seed: u64,
        confirm: Confirm,
    ) -> Result<M, MaterializeError> {
        if self.recipes.rng() == InitRng::Device {
            let mut seeded: Vec<&Device> = Vec::new();
            for item in self.items.values() {
                if !seeded.contains(&&item.device) {
                    item.device.seed(seed);
                    seeded.push(&item.device);
                }
            }
        }
        let mut fill = Fill {
            plan: self,
            seed,
            ties: HashMap::new(),
            shared: HashMap::new(),
            confirm,
            failed: None,
        };
        let module = traverse(module, &mut fill);
        match fill.failed {
            None => Ok(module),
            Some(error) => Err(error),
        }
    }
}

/// Whether a device holds what it was given.
type Confirm = fn(&BridgeTensor) -> Result<(), ExecutionError>;

struct Fill<'r> {
    plan: Plan<'r>,
    seed: u64,
    ties: HashMap<ParamId, Box<dyn Any>>,
    shared: HashMap<TensorId, BridgeTensor>,
    confirm: Confirm,
    failed: Option<MaterializeError>,
}

impl Fill<'_> {
    fn produce(&mut self, path: &str, item: &Item<'_>) -> Result<BridgeTensor, MaterializeError> {
        let root = item.root.tensor;
        if let Some(tensor) = self.shared.get(&root) {
            return Ok(tensor.clone());
        }
        let recipes = self.plan.recipes;
        let tensor = recipes
            .produce(item.root, self.seed, item.dtype, &item.device)
            .map_err(|source| MaterializeError::Produce {
                path: path.to_owned(),
                source: Box::new(source),
            })?;
        // Before the next one is filled: what waits to be uploaded takes the machine's memory too.
        (self.confirm)(&tensor).map_err(|error| MaterializeError::NotAllocated {
            path: path.to_owned(),
            bytes: item.bytes(),
            device: Box::new(item.device.clone()),
            message: error.reason().to_owned(),
        })?;
        if self.plan.shared.contains(&root) {
            self.shared.insert(root, tensor.clone());
        }
        Ok(tensor)
    }
}

impl Pass for Fill<'_> {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        if self.failed.is_some() {
            return;
        }
        let Some(item) = self.plan.items.remove(site.path()) else {
            return;
        };
        let id = slot.id();
        if let Some(tied) = id.and_then(|id| self.ties.get(&id))
            && slot.tie(tied.as_ref())
        {
            return;
        }
        match self.produce(site.path(), &item) {
            Ok(tensor) => {
                let autodiff = slot.device().is_autodiff();
                slot.replace(tensor);
                if autodiff {
                    slot.train();
                }
                if let Some(id) = id {
                    self.ties.insert(id, slot.handle());
                }
            }
            Err(error) => self.failed = Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::{Linear, LinearConfig};

    use super::*;
    use crate::plan::Target;
    use crate::{Meta, State, inventory};

    #[test]
    fn a_tensor_that_the_device_lost_is_named_and_nothing_is_real() {
        let device = Device::flex();
        let meta = Meta::build_for(&device, |device| LinearConfig::new(3, 2).init(device));
        let meta: Meta<Linear> = meta.unwrap();
        let (module, recipes) = meta.parts();
        let select = &|_: &str| true;
        let target = Target::Meta {
            device: &device,
            select,
        };
        let plan = Plan::new(module, recipes, target).unwrap();
        let lost: Confirm = |tensor| match tensor.shape().num_dims() {
            1 => Err(ExecutionError::with_context(
                "the device was lost".to_owned(),
            )),
            _ => Ok(()),
        };
        let error = plan.fill_and(module.clone(), 0, lost).unwrap_err();
        assert!(
            matches!(&error, MaterializeError::NotAllocated { path, bytes: 8, .. } if path == "bias"),
            "{error}"
        );
        for part in ["`bias` (8 B)", "the device was lost"] {
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
        let entries = inventory(module);
        assert!(entries.iter().all(|entry| entry.state == State::Meta));
    }
}
