//! Moving averages of weights.

use std::collections::HashMap;

use burn::module::ParamId;
use burn::tensor::kind::{BridgeTensor, Kind};
use burn::tensor::{DType, FloatDType, Tensor};
use burn_materialize::{Materialize, Pass, Role, Site, Slot, traverse, valid};

use crate::config::SettingProblem;
use crate::error::FabricError;
use crate::gradients::with_rank;
use crate::module::FabricModule;

/// An exponential moving average of a module's weights: `a <- d * a + (1 - d) * w`, starting from
/// the weights of the first update.
///
/// Parameters are averaged, half-precision ones in f32; running states and buffers are those of the
/// last update. Uses as much memory as the parameters.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn_fabric::prelude::*;
/// use burn_fabric::MovingAverage;
///
/// let fabric = Fabric::builder().build()?;
/// let model = fabric.setup(LinearConfig::new(4, 1).init(&fabric.inference_device()))?;
/// let mut average = MovingAverage::new(0.999)?;
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
    averages: HashMap<ParamId, BridgeTensor>,
}

impl MovingAverage {
    /// An average that forgets a share of `1 - decay` at each update.
    ///
    /// # Errors
    /// [`FabricError::Settings`] unless `decay` is at least 0 and below 1.
    pub fn new(decay: f64) -> Result<Self, FabricError> {
        if !(0.0..1.0).contains(&decay) {
            let problem = SettingProblem::out_of_range("decay", decay, "at least 0 and below 1");
            return Err(FabricError::Settings {
                problems: vec![problem],
            });
        }
        Ok(Self {
            decay,
            averages: HashMap::new(),
        })
    }

    /// Take the module's weights in, after a step.
    ///
    /// # Errors
    /// [`FabricError::Poisoned`] after a step panicked.
    pub fn update<M: Materialize>(&mut self, module: &FabricModule<M>) -> Result<(), FabricError> {
        let mut update = Update {
            decay: self.decay,
            before: std::mem::take(&mut self.averages),
            after: HashMap::new(),
        };
        // A parameter that is gone from the module is forgotten.
        traverse(module.inference()?, &mut update);
        self.averages = update.after;
        Ok(())
    }

    /// A copy of the module with the averaged weights, for inference. What was never averaged is as
    /// in the module.
    ///
    /// # Errors
    /// [`FabricError::Poisoned`] after a step panicked.
    pub fn module<M: Materialize>(&self, module: &FabricModule<M>) -> Result<M, FabricError> {
        struct Put<'a>(&'a HashMap<ParamId, BridgeTensor>);
        impl Pass for Put<'_> {
            fn tensor(&mut self, _site: &Site<'_>, slot: &mut dyn Slot) {
                let average = averaged(slot).and_then(|id| self.0.get(&id));
                let (Some(average), Some(dtype)) = (average, slot.dtype()) else {
                    return;
                };
                let average = average.clone();
                slot.replace(with_rank!(slot.shape().rank(), D => {
                    cast(Tensor::<D>::from_bridge(average), dtype).into_bridge()
                }));
            }
        }
        Ok(valid(&traverse(
            module.inference()?,
            &mut Put(&self.averages),
        )))
    }
}

/// The id of what is averaged.
fn averaged(slot: &dyn Slot) -> Option<ParamId> {
    let is_float = slot.role() == Role::Parameter && slot.kind() == Kind::Float;
    slot.id().filter(|_| is_float)
}

struct Update {
    decay: f64,
    before: HashMap<ParamId, BridgeTensor>,
    after: HashMap<ParamId, BridgeTensor>,
}

impl Pass for Update {
    fn tensor(&mut self, _site: &Site<'_>, slot: &mut dyn Slot) {
        let Some(id) = averaged(slot).filter(|id| !self.after.contains_key(id)) else {
            return;
        };
        let (decay, before, weight) = (self.decay, self.before.remove(&id), slot.tensor());
        let after = with_rank!(slot.shape().rank(), D => {
            let weight = Tensor::<D>::from_bridge(weight);
            let weight = match weight.dtype() {
                DType::F16 | DType::BF16 => weight.cast(FloatDType::F32),
                _ => weight,
            };
            match before.map(Tensor::<D>::from_bridge) {
                Some(average) if average.shape() == weight.shape() => {
                    average.mul_scalar(decay).add(weight.mul_scalar(1.0 - decay))
                }
                _ => weight,
            }.into_bridge()
        });
        self.after.insert(id, after);
    }
}

fn cast<const D: usize>(tensor: Tensor<D>, dtype: DType) -> Tensor<D> {
    if tensor.dtype() == dtype {
        tensor
    } else {
        tensor.cast(FloatDType::from(dtype))
    }
}
