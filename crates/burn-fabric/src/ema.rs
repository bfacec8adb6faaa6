//! Moving averages of weights.

use std::collections::HashMap;

use burn::module::ParamId;
use burn::tensor::kind::BridgeTensor;
use burn::tensor::{FloatDType, Tensor};
use burn_materialize::{Materialize, Pass, Site, Slot, traverse};

use crate::config::SettingProblem;
use crate::error::FabricError;
use crate::gradients::{widened, with_rank};
use crate::module::FabricModule;

/// An exponential moving average of a module's weights: `a <- d * a + (1 - d) * w`, starting from
/// the weights it is made with.
///
/// Trainable parameters are averaged, half-precision ones in f32; everything else is the module's
/// own. Takes as much memory as those parameters.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn_fabric::prelude::*;
/// use burn_fabric::MovingAverage;
///
/// let fabric = Fabric::builder().build()?;
/// let model = fabric.setup(LinearConfig::new(4, 1).init(&fabric.inference_device()))?;
/// let mut average = MovingAverage::new(&model, 0.999)?;
/// for _ in 0..3 {
///     // … a step …
///     average.update(&model)?;
/// }
/// let averaged = average.module(&model)?; // for evaluation, or to save
/// assert_eq!(averaged.weight.dims(), [4, 1]);
/// # Ok::<(), FabricError>(())
/// ```
#[derive(Debug)]
pub struct MovingAverage {
    decay: f64,
    /// The module it follows.
    identity: u64,
    averages: HashMap<String, BridgeTensor>,
}

impl MovingAverage {
    /// Start from the module's weights as they are; each update forgets a share of `1 - decay`.
    ///
    /// # Errors
    /// [`FabricError::Settings`] unless `decay` is at least 0 and below 1,
    /// [`FabricError::Poisoned`], [`FabricError::Rank`].
    pub fn new<M: Materialize>(module: &FabricModule<M>, decay: f64) -> Result<Self, FabricError> {
        if !(0.0..1.0).contains(&decay) {
            let problem = SettingProblem::out_of_range("decay", decay, "at least 0 and below 1");
            return Err(FabricError::Settings {
                problems: vec![problem],
            });
        }
        let mut average = Self {
            decay,
            identity: module.registered().identity,
            averages: HashMap::new(),
        };
        average.update(module)?;
        Ok(average)
    }

    /// Take the module's weights in, after a step. What is new in the module starts here.
    ///
    /// # Errors
    /// [`FabricError::OtherModule`] for a module that it was not made with,
    /// [`FabricError::Poisoned`], [`FabricError::Rank`]; the average is as it was.
    pub fn update<M: Materialize>(&mut self, module: &FabricModule<M>) -> Result<(), FabricError> {
        let averaged = self.averaged(module)?;
        let inner = module.inference()?;
        let mut update = Update {
            decay: self.decay,
            averaged,
            before: std::mem::take(&mut self.averages),
            after: HashMap::new(),
        };
        traverse(inner, &mut update);
        self.averages = update.after;
        Ok(())
    }

    /// A copy of the module with the averaged weights, for inference.
    ///
    /// # Errors
    /// [`FabricError::OtherModule`] for a module that it was not made with,
    /// [`FabricError::Poisoned`], [`FabricError::Rank`].
    pub fn module<M: Materialize>(&self, module: &FabricModule<M>) -> Result<M, FabricError> {
        let mut put = Put {
            averages: &self.averages,
            averaged: self.averaged(module)?,
        };
        Ok(traverse(module.inference()?, &mut put))
    }

    pub(crate) fn averages(&self) -> &HashMap<String, BridgeTensor> {
        &self.averages
    }

    pub(crate) fn averages_mut(&mut self) -> &mut HashMap<String, BridgeTensor> {
        &mut self.averages
    }

    /// The first paths of what is averaged.
    fn averaged<M: Materialize>(
        &self,
        module: &FabricModule<M>,
    ) -> Result<HashMap<ParamId, String>, FabricError> {
        if module.registered().identity != self.identity {
            return Err(FabricError::OtherModule);
        }
        let selected = module.parameters().selected()?;
        let trainable = selected.iter().filter(|parameter| parameter.trainable);
        Ok(trainable
            .map(|one| (one.id, one.path().to_owned()))
            .collect())
    }
}

struct Update {
    decay: f64,
    averaged: HashMap<ParamId, String>,
    before: HashMap<String, BridgeTensor>,
    after: HashMap<String, BridgeTensor>,
}

impl Pass for Update {
    fn tensor(&mut self, _site: &Site<'_>, slot: &mut dyn Slot) {
        // Removed, so that a tie is averaged once.
        let Some(path) = slot.id().and_then(|id| self.averaged.remove(&id)) else {
            return;
        };
        let (decay, before, weight) = (self.decay, self.before.remove(&path), slot.tensor());
        let after = with_rank!(slot.shape().rank(), D => {
            let weight = Tensor::<D>::from_bridge(weight);
            let weight = widened(weight);
            match before.map(Tensor::<D>::from_bridge) {
                Some(average) if average.shape() == weight.shape() => {
                    average.mul_scalar(decay).add(weight.mul_scalar(1.0 - decay))
                }
                _ => weight,
            }
            .into_bridge()
        });
        self.after.insert(path, after);
    }
}

struct Put<'a> {
    averages: &'a HashMap<String, BridgeTensor>,
    averaged: HashMap<ParamId, String>,
}

impl Pass for Put<'_> {
    fn tensor(&mut self, _site: &Site<'_>, slot: &mut dyn Slot) {
        let path = slot.id().and_then(|id| self.averaged.get(&id));
        let average = path.and_then(|path| self.averages.get(path));
        let (Some(average), Some(dtype)) = (average.cloned(), slot.dtype()) else {
            return;
        };
        let shape = slot.shape();
        let average = with_rank!(shape.rank(), D => {
            let average = Tensor::<D>::from_bridge(average);
            // A parameter that was replaced by another since the last update is its own average.
            if average.shape() != shape {
                return;
            }
            match average.dtype() == dtype {
                true => average,
                false => average.cast(FloatDType::from(dtype)),
            }
            .into_bridge()
        });
        slot.replace(average);
    }
}
