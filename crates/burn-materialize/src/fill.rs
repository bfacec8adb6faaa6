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
use crate::plan::{Item, Plan, Source};
use crate::site::Site;
use crate::slot::Slot;
use crate::traversal::{Pass, traverse};
use crate::weights::{CopyMade, Progress, Reader};

impl Plan<'_> {
    /// Produce every tensor of the plan, each once, and put it into its place.
    pub(crate) fn fill<M: Materialize>(self, module: M, seed: u64) -> Result<M, MaterializeError> {
        Ok(self.fill_and(module, seed, confirm)?.0)
    }

    /// The same, and the copies that were made of what was to be a view of the file.
    pub(crate) fn fill_reporting<M: Materialize>(
        self,
        module: M,
        seed: u64,
    ) -> Result<(M, Vec<CopyMade>), MaterializeError> {
        self.fill_and(module, seed, confirm)
    }

    fn fill_and<M: Materialize>(
        self,
        module: M,
        seed: u64,
        confirm: Confirm,
    ) -> Result<(M, Vec<CopyMade>), MaterializeError> {
        if self.recipes.rng() == InitRng::Device {
            let mut seeded: Vec<&Device> = Vec::new();
            for item in self.items.values() {
                if !seeded.contains(&&item.device) {
                    item.device.seed(seed);
                    seeded.push(&item.device);
                }
            }
        }
        let files = self.items.values().filter_map(|item| match &item.source {
            Source::File(file) => Some(file.len()),
            Source::Recipe(_) => None,
        });
        let progress = Progress {
            done: 0,
            total: files.sum(),
        };
        let mut fill = Fill {
            reader: self.weights.map(|weights| Reader { weights, progress }),
            copies: Vec::new(),
            plan: self,
            seed,
            ties: HashMap::new(),
            shared: HashMap::new(),
            confirm,
            failed: None,
        };
        let module = traverse(module, &mut fill);
        match fill.failed {
            None => Ok((module, fill.copies)),
            Some(error) => Err(error),
        }
    }
}

/// Whether a device holds what it was given.
type Confirm = fn(&BridgeTensor) -> Result<(), ExecutionError>;

struct Fill<'r> {
    plan: Plan<'r>,
    reader: Option<Reader<'r>>,
    copies: Vec<CopyMade>,
    seed: u64,
    ties: HashMap<ParamId, Box<dyn Any>>,
    shared: HashMap<TensorId, BridgeTensor>,
    confirm: Confirm,
    failed: Option<MaterializeError>,
}

impl Fill<'_> {
    fn produce(&mut self, path: &str, item: &Item<'_>) -> Result<BridgeTensor, MaterializeError> {
        let root = match &item.source {
            Source::Recipe(root) => Some(root.tensor),
            Source::File(_) => None,
        };
        if let Some(tensor) = root.and_then(|root| self.shared.get(&root)) {
            return Ok(tensor.clone());
        }
        let tensor = match &item.source {
            Source::Recipe(root) => {
                let recipes = self.plan.recipes;
                let produced = recipes.produce(root, self.seed, item.dtype, &item.device);
                produced.map_err(|source| MaterializeError::Produce {
                    path: path.to_owned(),
                    source: Box::new(source),
                })?
            }
            Source::File(file) => {
                let reader = self
                    .reader
                    .as_mut()
                    .expect("a plan with files has a reader");
                let (tensor, copied) = reader.tensor(path, file, item.dtype, &item.device)?;
                // Elsewhere everything is uploaded, and a view of the file is no tensor.
                let is_flex = item.device == Device::flex();
                self.copies
                    .extend(copied.filter(|_| is_flex).map(|reason| CopyMade {
                        path: path.to_owned(),
                        reason,
                        bytes: file.len(),
                    }));
                tensor
            }
        };
        // Before the next one is filled: what waits to be uploaded takes the machine's memory too.
        (self.confirm)(&tensor).map_err(|error| MaterializeError::NotAllocated {
            path: path.to_owned(),
            bytes: item.bytes(),
            device: Box::new(item.device.clone()),
            message: error.reason().to_owned(),
        })?;
        if let (Source::File(file), Some(reader)) = (&item.source, &self.reader)
            && (item.device != Device::flex() || file.dtype != item.dtype)
        {
            reader.release(file)?;
        }
        if let Some(root) = root.filter(|root| self.plan.shared.contains(root)) {
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
                let strategy = slot.device().gradient_checkpointing_strategy();
                match item.source {
                    Source::Recipe(_) => slot.replace(tensor),
                    Source::File(file) => slot.load(tensor, file.as_record),
                }
                if let Some(strategy) = strategy {
                    slot.train(strategy);
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
