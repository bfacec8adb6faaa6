//! What training takes at the very least, found before anything is allocated.

use std::collections::HashSet;
use std::fmt;

use burn::backend::DispatchDevice;
use burn::module::ParamId;
use burn::tensor::kind::Kind;
use burn::tensor::{DType, Device};
use burn_materialize::{ByteCount, DeviceMemory, Pass, Role, Site, Slot};
use burn_meta::{HalfPrecision, TensorId, tensor_id};

use super::planner::Optimizer;
use super::update_memory::{Gradients, Parameter};
use crate::error::FabricError;

/// What a module and its optimizer hold between two steps and at the end of a backward pass, in
/// bytes. Activations come on top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrainingNeeds {
    /// Parameters, ties once.
    pub parameters: u64,
    /// Running states and buffers.
    pub buffers: u64,
    /// Gradients of the parameters that the optimizer is for.
    pub gradients: u64,
    /// What the optimizer remembers of them, measured by tracing its step.
    pub optimizer_state: u64,
    /// Weights in f32 beside those in half precision, under a mixed precision.
    pub master_weights: u64,
}

impl TrainingNeeds {
    /// All of it.
    pub fn total(&self) -> u64 {
        let parts = [
            self.parameters,
            self.buffers,
            self.gradients,
            self.optimizer_state,
            self.master_weights,
        ];
        parts.into_iter().fold(0, u64::saturating_add)
    }
}

impl fmt::Display for TrainingNeeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of parameters, {} of buffers, {} of gradients, {} of optimizer state, {} of master \
             weights",
            ByteCount(self.parameters),
            ByteCount(self.buffers),
            ByteCount(self.gradients),
            ByteCount(self.optimizer_state),
            ByteCount(self.master_weights),
        )
    }
}

/// The needs of a module that `look` looks at, to be trained on `device`.
///
/// What cannot be foreseen, as the state of an optimizer whose step reads values, counts nothing.
pub(crate) fn training_needs(
    device: &Device,
    optimizer: &mut Optimizer,
    masters: bool,
    look: impl FnOnce(&mut dyn Pass),
) -> TrainingNeeds {
    let gradients = Gradients {
        masters,
        accumulated: false,
    };
    let mut sum = Sum {
        gradients,
        default: device.settings().float_dtype.into(),
        needs: TrainingNeeds::default(),
        seen: HashSet::new(),
        trained: Vec::new(),
    };
    look(&mut sum);
    let Sum {
        mut needs, trained, ..
    } = sum;
    let own = trained.iter().map(|(_, one)| one);
    let of_gradients = own.clone().map(|one| one.gradient_bytes(gradients));
    needs.gradients = of_gradients.fold(0, u64::saturating_add);
    let of_masters = own.map(|one| one.master_bytes(gradients));
    needs.master_weights = of_masters.fold(0, u64::saturating_add);
    for one in &trained {
        let update = optimizer.updates(std::slice::from_ref(one), gradients);
        let state = update.map_or(0, |update| update[0].state);
        needs.optimizer_state = needs.optimizer_state.saturating_add(state);
    }
    needs
}

/// Refuse what cannot fit on `device`, where that says what it has.
///
/// # Errors
/// [`FabricError::DoesNotFit`].
pub(crate) fn check_needs(device: &Device, needs: TrainingNeeds) -> Result<(), FabricError> {
    // A device that cannot be opened is told of by what allocates.
    let memory = DeviceMemory::of(device)
        .ok()
        .and_then(|memory| memory.total);
    match memory.filter(|memory| needs.total() > *memory) {
        Some(memory) => Err(FabricError::DoesNotFit {
            device: format!("{device:?}"),
            needs,
            memory,
        }),
        None => Ok(()),
    }
}

/// How `device` computes in half precision.
pub(crate) fn half_precision(device: &Device) -> HalfPrecision {
    match device.clone().without_autodiff().as_dispatch() {
        DispatchDevice::Flex(_) => HalfPrecision::ByF32,
        _ => HalfPrecision::Native,
    }
}

/// What makes two paths one tensor.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    Id(ParamId),
    Recorded(TensorId),
}

struct Sum {
    gradients: Gradients,
    /// The default float dtype of the device.
    default: DType,
    needs: TrainingNeeds,
    seen: HashSet<Identity>,
    trained: Vec<(String, Parameter)>,
}

impl Pass for Sum {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        let recorded = match slot.is_lazy() {
            true => None,
            false => tensor_id(&slot.tensor()),
        };
        let identity = slot.id().map(Identity::Id);
        let identity = identity.or(recorded.map(Identity::Recorded));
        if identity.is_some_and(|identity| !self.seen.insert(identity)) {
            return;
        }
        let dtype = slot.dtype().unwrap_or(self.default);
        let shape = slot.shape().to_vec();
        let of = |dtype| {
            let shape = shape.clone();
            Parameter { shape, dtype }
        };
        // What was recorded for any device becomes its default dtype, unless code named another. What
        // is not known for sure is not to be refused, so what takes less counts.
        let own = of(dtype);
        let parameter = match recorded {
            Some(_) if dtype.is_float() => {
                let default = of(self.default);
                let takes = |one: &Parameter| match slot.role() {
                    Role::Parameter => one
                        .bytes()
                        .saturating_add(one.gradient_bytes(self.gradients))
                        .saturating_add(one.master_bytes(self.gradients)),
                    _ => one.bytes(),
                };
                match takes(&default) < takes(&own) {
                    true => default,
                    false => own,
                }
            }
            _ => own,
        };
        let bytes = parameter.bytes();
        if slot.role() != Role::Parameter {
            self.needs.buffers = self.needs.buffers.saturating_add(bytes);
            return;
        }
        self.needs.parameters = self.needs.parameters.saturating_add(bytes);
        // What Burn has not initialised yet shows only later whether it is trained.
        if slot.kind() == Kind::Float && slot.is_trainable() == Some(true) {
            self.trained.push((site.path().to_owned(), parameter));
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::nn::{Linear, LinearConfig};
    use burn::optim::{AdamWConfig, SgdConfig, SgdState};
    use burn::tensor::{FloatDType, Tensor};
    use burn_materialize::{DefaultDTypes, Meta, Realize, traverse};

    use super::*;
    use crate::optimizer::{Custom, OptimizerConfig, ParameterGroup, ParameterGroups};
    use crate::parameters::{Resolved, look_for_parameters, parameters};

    const WEIGHT: u64 = 8 * 4;
    const BIAS: u64 = 4;

    fn linear(device: &Device) -> Linear {
        LinearConfig::new(8, 4).init(device)
    }

    fn optimizer(config: impl OptimizerConfig, parameters: Resolved) -> Optimizer {
        Optimizer::new(&config.into_groups(), &parameters, HalfPrecision::default()).unwrap()
    }

    fn of_meta(dtype: FloatDType, masters: bool, config: impl OptimizerConfig) -> TrainingNeeds {
        let dtypes = DefaultDTypes {
            float: dtype,
            ..DefaultDTypes::default()
        };
        let meta = Meta::build_with(dtypes, linear).unwrap();
        let parameters = Resolved::of_one(look_for_parameters(|pass| meta.look(pass)));
        let mut optimizer = optimizer(config, parameters);
        training_needs(&Device::flex(), &mut optimizer, masters, |pass| {
            meta.look(pass)
        })
    }

    #[test]
    fn what_may_become_the_default_dtype_counts_as_what_takes_less() {
        // In bf16 with a gradient and a master in f32: 10 bytes an element; in f32: 8.
        let needs = of_meta(FloatDType::BF16, true, SgdConfig::new());
        let elements = WEIGHT + BIAS;
        assert_eq!(needs.parameters, 4 * elements);
        assert_eq!((needs.gradients, needs.master_weights), (4 * elements, 0));
        // Without a master it is smaller in bf16.
        let needs = of_meta(FloatDType::BF16, false, SgdConfig::new());
        assert_eq!(needs.parameters, 2 * elements);
        assert_eq!((needs.gradients, needs.master_weights), (2 * elements, 0));
    }

    #[test]
    fn of_what_is_lazy_only_the_weights_are_sure() {
        let lazy = linear(&Device::flex());
        let mut optimizer = optimizer(AdamWConfig::new(), Resolved::of_one(parameters(&lazy)));
        let needs = training_needs(&Device::flex(), &mut optimizer, false, |pass| {
            traverse(lazy.clone(), pass);
        });
        assert!(!lazy.weight.is_initialized(), "looked at, and not made");
        let expected = TrainingNeeds {
            parameters: 4 * (WEIGHT + BIAS),
            ..TrainingNeeds::default()
        };
        assert_eq!(needs, expected);
    }

    #[derive(Clone)]
    struct Reads;

    impl burn::optim::Optimizer for Reads {
        type State<const D: usize> = SgdState<D>;

        fn step<const D: usize>(
            &self,
            _: f64,
            weight: Tensor<D>,
            gradient: Tensor<D>,
            state: Option<Self::State<D>>,
        ) -> (Tensor<D>, Option<Self::State<D>>) {
            let scale = gradient.max().into_scalar::<f32>();
            (weight * scale, state)
        }

        fn to_device<const D: usize>(state: Self::State<D>, _: &Device) -> Self::State<D> {
            state
        }
    }

    #[test]
    fn an_optimizer_that_cannot_be_traced_takes_no_other_s_state_away() {
        let groups = ParameterGroups::new(AdamWConfig::new())
            .with(ParameterGroup::of(["bias"]).optimizer(Custom(Reads)));
        let needs = of_meta(FloatDType::F32, false, groups);
        assert_eq!(needs.optimizer_state, 8 * WEIGHT);
        assert_eq!(needs.gradients, 4 * (WEIGHT + BIAS));
    }
}
