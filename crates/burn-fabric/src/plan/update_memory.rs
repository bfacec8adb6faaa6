//! What an optimizer takes for one parameter: its own step, traced.

use burn::optim::RmsPropState;
use burn::tensor::kind::Kind;
use burn::tensor::{DType, Shape};
use burn_meta::{Cost, DefaultDTypes, HalfPrecision, MetaDevice, RecordError, TensorId, tensor_id};

use crate::gradients::with_rank;
use crate::optimizer::{BuiltOptimizer, Kept, update};
use crate::precision::is_half;

/// A kind of parameter to an optimizer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Parameter {
    pub(super) shape: Vec<usize>,
    pub(super) dtype: DType,
}

/// What becomes of gradients between the pass and the step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Gradients {
    /// Whether weights in half precision have a master in f32.
    pub(super) masters: bool,
    /// Whether those of earlier batches are there: sums are in f32, and so are their means.
    pub(super) accumulated: bool,
}

impl Parameter {
    /// The dtype that its gradient has in the step.
    fn gradient(&self, gradients: Gradients) -> DType {
        match is_half(self.dtype) && (gradients.masters || gradients.accumulated) {
            true => DType::F32,
            false => self.dtype,
        }
    }

    fn has_master(&self, gradients: Gradients) -> bool {
        gradients.masters && is_half(self.dtype)
    }

    fn bytes_in(&self, dtype: DType) -> u64 {
        let lengths = self.shape.iter().map(|&length| length as u64);
        lengths.fold(dtype.size() as u64, u64::saturating_mul)
    }

    /// Its own bytes, which are also those of its gradient as the pass makes it.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes_in(self.dtype)
    }

    /// The bytes of its gradient in the step.
    pub(super) fn gradient_bytes(&self, gradients: Gradients) -> u64 {
        self.bytes_in(self.gradient(gradients))
    }

    /// The bytes of its master weight.
    pub(super) fn master_bytes(&self, gradients: Gradients) -> u64 {
        match self.has_master(gradients) {
            true => self.bytes_in(DType::F32),
            false => 0,
        }
    }
}

/// What the step of one parameter takes, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct UpdateMemory {
    /// What the optimizer remembers from one step to the next, without the master weight.
    pub(super) state: u64,
    /// The most that is there in a step beside weight, gradient, state and master.
    pub(super) workspace: u64,
    pub(super) cost: Cost,
}

/// Trace the third step of a parameter: by then a state is what it stays.
///
/// # Errors
/// Why it could not be traced: in Burn's words, where the step reads values.
pub(super) fn update_memory(
    optimizer: &BuiltOptimizer,
    parameter: &Parameter,
    gradients: Gradients,
    half: HalfPrecision,
) -> Result<UpdateMemory, String> {
    const STEPS: usize = 3;
    let told = |error: RecordError| error.to_string();
    let device = MetaDevice::new(DefaultDTypes::default()).map_err(told)?;
    let traced = device.trace(|scope| {
        let begin = scope.mark();
        let tensor = |dtype| {
            let shape = Shape::from(parameter.shape.clone());
            scope.placeholder(Kind::Float, shape, dtype, scope.device())
        };
        let mut kept = Kept::default();
        let mut weight = tensor(parameter.dtype);
        let (mut last, mut unread) = (begin, Vec::new());
        for _ in 0..STEPS {
            let gradient = tensor(parameter.gradient(gradients));
            last = scope.mark();
            unread = tensor_id(&weight).into_iter().collect();
            unread.extend(unread_state(optimizer, weight.rank(), &kept));
            (weight, kept) = update(optimizer, 1e-3, weight, gradient, kept, gradients.masters);
        }
        (begin, last, unread)
    });
    let traced = traced.map_err(told)?;
    let (begin, last, unread) = traced.outcome.map_err(|stopped| stopped.message)?;
    let list = traced.tape.list(begin);
    let first = list.first_after(last);
    let live = traced.tape.live_bytes(begin, unread, half);
    // The new gradient was the last thing that was made before the step.
    let before = first.checked_sub(1).map_or(0, |last| live.after[last]);
    let during = live.during[first..].iter().max().copied().unwrap_or(before);
    let own =
        parameter.bytes() + parameter.gradient_bytes(gradients) + parameter.master_bytes(gradients);
    Ok(UpdateMemory {
        state: before.saturating_sub(own),
        workspace: during.saturating_sub(before),
        cost: list.operations[first..]
            .iter()
            .map(|operation| operation.cost)
            .sum(),
    })
}

/// What of a state no step reads: RMSProp's average less the square of the mean, which each makes
/// anew and keeps. (A weight beside its master is the other thing that is there and is not read.)
fn unread_state(optimizer: &BuiltOptimizer, rank: usize, kept: &Kept) -> Option<TensorId> {
    let state = kept.state.clone()?;
    if optimizer.name != "RmsPropConfig" {
        return None;
    }
    with_rank!(rank, D => {
        let state = state.downcast::<RmsPropState<D>>();
        tensor_id(&state.centered.avg.into_bridge())
    })
}

#[cfg(test)]
mod tests {
    use burn::optim::momentum::MomentumConfig;
    use burn::optim::{
        AdaGradConfig, AdafactorConfig, AdamConfig, AdamWConfig, AdanConfig, LambConfig,
        LionConfig, MuonConfig, RmsPropConfig, SgdConfig, StateSink,
    };
    use burn::tensor::kind::BridgeTensor;
    use burn::tensor::{Device, FloatDType, Tensor};

    use super::*;
    use crate::optimizer::{Configured, Custom};

    fn all() -> Vec<Box<dyn Configured>> {
        let momentum = || Some(MomentumConfig::new());
        vec![
            Box::new(AdaGradConfig::new()),
            Box::new(AdafactorConfig::new()),
            Box::new(AdamConfig::new()),
            Box::new(AdamConfig::new().with_amsgrad(true)),
            Box::new(AdamWConfig::new()),
            Box::new(AdanConfig::new()),
            Box::new(LambConfig::new()),
            Box::new(LionConfig::new()),
            Box::new(MuonConfig::new()),
            Box::new(RmsPropConfig::new()),
            Box::new(RmsPropConfig::new().with_centered(true)),
            Box::new(SgdConfig::new()),
            Box::new(SgdConfig::new().with_momentum(momentum())),
        ]
    }

    fn tensor(shape: &[usize], dtype: DType) -> BridgeTensor {
        let tensor = Tensor::<2>::ones([shape[0], shape[1]], &Device::flex());
        tensor.cast(FloatDType::from(dtype)).into_bridge()
    }

    /// The bytes of what it really remembers, after a few steps on flex.
    fn real_state(optimizer: &BuiltOptimizer, parameter: &Parameter, gradients: Gradients) -> u64 {
        let mut kept = Kept::default();
        let mut weight = tensor(&parameter.shape, parameter.dtype);
        for _ in 0..3 {
            let gradient = tensor(&parameter.shape, parameter.gradient(gradients));
            (weight, kept) = update(optimizer, 1e-3, weight, gradient, kept, gradients.masters);
        }
        assert_eq!(kept.master.is_some(), parameter.has_master(gradients));
        let mut sink = StateSink::default();
        if let Some(state) = &kept.state {
            optimizer.optimizer.state_flatten("", state, &mut sink);
        }
        // The average of a gradient that is not centred is the same memory as the one without.
        let shares = !sink
            .tensors
            .iter()
            .any(|(name, _)| name.ends_with("grad_avg"));
        let is_shared = |name: &str| shares && name.ends_with("centered.avg");
        let tensors = sink.tensors.iter().filter(|(name, _)| !is_shared(name));
        tensors.map(|(_, data)| data.bytes().len() as u64).sum()
    }

    #[test]
    fn what_every_optimizer_remembers_is_what_it_really_does() {
        let mut most = 0;
        for config in all() {
            let optimizer = config.build(None, "").unwrap();
            for (dtype, masters, accumulated) in [
                (DType::F32, false, false),
                (DType::BF16, false, false),
                (DType::BF16, false, true),
                (DType::BF16, true, false),
            ] {
                let gradients = Gradients {
                    masters,
                    accumulated,
                };
                let shape = vec![24, 40];
                let parameter = Parameter { shape, dtype };
                let traced =
                    update_memory(&optimizer, &parameter, gradients, HalfPrecision::Native);
                let traced = traced.unwrap();
                let real = real_state(&optimizer, &parameter, gradients);
                assert_eq!(
                    traced.state, real,
                    "{} {dtype:?} {gradients:?}",
                    optimizer.name
                );
                assert!(traced.cost.flops > 0, "{}", optimizer.name);
                most = most.max(real);
            }
        }
        // Adan's four.
        assert_eq!(most, 4 * 4 * 24 * 40);
    }

    /// Reads the gradient.
    #[derive(Clone, Debug)]
    struct Reads;

    impl burn::optim::Optimizer for Reads {
        type State<const D: usize> = burn::optim::SgdState<D>;

        fn step<const D: usize>(
            &self,
            rate: burn::optim::LearningRate,
            tensor: Tensor<D>,
            gradient: Tensor<D>,
            state: Option<Self::State<D>>,
        ) -> (Tensor<D>, Option<Self::State<D>>) {
            let scale = gradient.clone().abs().max().into_scalar::<f32>();
            (tensor - gradient * (rate as f32 / scale), state)
        }

        fn to_device<const D: usize>(state: Self::State<D>, _: &Device) -> Self::State<D> {
            state
        }
    }

    #[test]
    fn a_step_that_reads_values_is_told() {
        let optimizer = Custom(Reads).build(None, "").unwrap();
        let (shape, dtype) = (vec![2, 3], DType::F32);
        let told = update_memory(
            &optimizer,
            &Parameter { shape, dtype },
            Gradients::default(),
            HalfPrecision::Native,
        );
        assert!(told.is_err(), "{told:?}");
    }
}
