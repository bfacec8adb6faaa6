//! The moments of Adam and AdamW as they are.
//!
//! Burn shows an optimizer's state by copying it, and the names and shapes in it only so: twice the
//! copy for a file that begins with them. What most training keeps is read without: measured with
//! 268 M parameters on flex, three of ten seconds of a save.

use burn::optim::{AdamState, AdamWState, AdaptiveMomentumState, DynState};
use burn::tensor::kind::BridgeTensor;
use burn_pack::Scalar;

use crate::gradients::with_rank;

/// Names, as the state itself gives them, with tensors and scalars.
pub(super) struct Moments {
    pub(super) tensors: Vec<(String, BridgeTensor)>,
    pub(super) scalars: Vec<(String, Scalar)>,
}

/// None for the state of any other optimizer.
pub(super) fn moments(optimizer: &str, path: &str, state: &DynState) -> Option<Moments> {
    with_rank!(state.rank(), D => match optimizer {
        "AdamConfig" => Some(of::<D>(path, &state.downcast_ref::<AdamState<D>>().momentum)),
        "AdamWConfig" => Some(of::<D>(path, &state.downcast_ref::<AdamWState<D>>().momentum)),
        _ => None,
    })
}

fn of<const D: usize>(path: &str, momentum: &AdaptiveMomentumState<D>) -> Moments {
    let AdaptiveMomentumState {
        time,
        moment_1,
        moment_2,
        max_moment_2,
    } = momentum;
    let name = |leaf: &str| format!("{path}.momentum.{leaf}");
    let mut tensors = vec![
        (name("moment_1"), moment_1.clone().into_bridge()),
        (name("moment_2"), moment_2.clone().into_bridge()),
    ];
    if let Some(most) = max_moment_2 {
        tensors.push((name("max_moment_2"), most.clone().into_bridge()));
    }
    Moments {
        tensors,
        scalars: vec![(name("time"), Scalar::from(*time))],
    }
}

#[cfg(test)]
mod tests {
    use burn::optim::{AdamConfig, AdamWConfig, DynOptimizer, StateSink};
    use burn::tensor::{Device, Tensor};
    use burn_meta::read;

    use super::moments;

    /// Burn's own way of showing the state is the reference.
    #[test]
    fn what_is_read_without_a_copy_is_what_burn_shows() {
        let adam: Box<dyn DynOptimizer> = Box::new(AdamConfig::new().with_amsgrad(true).build());
        let plain: Box<dyn DynOptimizer> = Box::new(AdamConfig::new().build());
        let adam_w: Box<dyn DynOptimizer> = Box::new(AdamWConfig::new().build());
        for (name, optimizer) in [
            ("AdamConfig", adam),
            ("AdamConfig", plain),
            ("AdamWConfig", adam_w),
        ] {
            let tensor = || Tensor::<2>::from_floats([[1.0, 2.0], [3.0, -4.0]], &Device::flex());
            let step = |state| {
                let (tensor, gradient) = (tensor().into_bridge(), tensor().into_bridge());
                optimizer.step_dyn(2, 1e-3, tensor, gradient, state).1
            };
            let state = step(step(None)).unwrap();
            let mut shown = StateSink::default();
            optimizer.state_flatten("a.weight", &state, &mut shown);
            let ours = moments(name, "a.weight", &state).unwrap();
            let tensors = ours.tensors.into_iter();
            let mut tensors: Vec<_> = tensors
                .map(|(name, tensor)| (name, read(tensor).unwrap()))
                .collect();
            tensors.sort_by(|a, b| a.0.cmp(&b.0));
            shown.tensors.sort_by(|a, b| a.0.cmp(&b.0));
            assert_eq!(tensors, shown.tensors);
            assert_eq!(ours.scalars, shown.scalars);
        }
        let state = burn::optim::DynState::create((), 1);
        assert!(moments("SgdConfig", "a", &state).is_none());
    }
}
