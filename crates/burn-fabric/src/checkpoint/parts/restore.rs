//! States of Burn's optimizers from their tensors, each in the dtype it was saved in.
//!
//! Burn's own way makes every tensor in its device's default dtype: of f32 state beside a model in
//! half precision it would keep the half.

use std::collections::BTreeMap;

use burn::optim::momentum::MomentumState;
use burn::optim::{
    AdaGradState, AdafactorState, AdamState, AdamWState, AdanState, AdaptiveMomentumState,
    AdaptiveNesterovMomentumState, CenteredState, DynOptimizer, DynState, LambState, LionState,
    LrDecayState, MuonState, RmsPropMomentumState, RmsPropState, SgdState, SquareAvgState,
    StateSource,
};
use burn::tensor::{Device, Tensor, TensorData};
use burn_pack::Scalar;

use crate::gradients::with_rank;

/// Whether the state of this configuration can be restored in any dtype.
pub(super) fn restores(optimizer: &str) -> bool {
    const KNOWN: [&str; 10] = [
        "AdaGradConfig",
        "AdafactorConfig",
        "AdamConfig",
        "AdamWConfig",
        "AdanConfig",
        "LambConfig",
        "LionConfig",
        "MuonConfig",
        "RmsPropConfig",
        "SgdConfig",
    ];
    KNOWN.contains(&optimizer)
}

/// What was saved of the state of one parameter, by the names that Burn gives.
pub(super) struct SavedValues<'a> {
    pub(super) path: &'a str,
    pub(super) rank: usize,
    pub(super) device: &'a Device,
    pub(super) tensors: BTreeMap<String, TensorData>,
    pub(super) scalars: &'a BTreeMap<String, Scalar>,
}

impl SavedValues<'_> {
    fn name(&self, leaf: &str) -> String {
        format!("{}.{leaf}", self.path)
    }

    fn tensor<const D: usize>(&mut self, leaf: &str) -> Option<Tensor<D>> {
        let data = self.tensors.remove(&self.name(leaf))?;
        let dtype = data.dtype();
        Some(Tensor::from_data(data, (self.device, dtype)))
    }

    fn count(&self, leaf: &str) -> Option<usize> {
        usize::try_from(*self.scalars.get(&self.name(leaf))?).ok()
    }

    /// The state that the optimizer of the configuration `name` keeps.
    ///
    /// # Errors
    /// That something is missing.
    pub(super) fn restore(
        mut self,
        name: &str,
        optimizer: &dyn DynOptimizer,
    ) -> Result<DynState, String> {
        let rank = self.rank;
        let state = match restores(name) {
            true => with_rank!(rank, D => self.of::<D>(name)),
            false => {
                let mut source = StateSource::new(self.scalars.clone());
                for (name, data) in self.tensors {
                    source.insert_tensor(name, data);
                }
                optimizer.state_unflatten(rank, self.path, &mut source, self.device)
            }
        };
        state.ok_or_else(|| "what the checkpoint has is not all of it".to_owned())
    }

    fn of<const D: usize>(&mut self, name: &str) -> Option<DynState> {
        let rank = self.rank;
        match name {
            "AdamConfig" => self
                .adaptive::<D>()
                .map(|momentum| DynState::create(AdamState::new(momentum), rank)),
            "AdamWConfig" => self
                .adaptive::<D>()
                .map(|momentum| DynState::create(AdamWState::new(momentum), rank)),
            "SgdConfig" => {
                let momentum = self.tensor::<D>("momentum.velocity");
                let momentum = momentum.map(MomentumState::new);
                Some(DynState::create(SgdState::new(momentum), rank))
            }
            "MuonConfig" => self.tensor::<D>("momentum.velocity").map(|velocity| {
                DynState::create(MuonState::new(MomentumState::new(velocity)), rank)
            }),
            "LionConfig" => self
                .tensor::<D>("momentum")
                .map(|momentum| DynState::create(LionState::new(momentum), rank)),
            "LambConfig" => self.lamb::<D>().map(|state| DynState::create(state, rank)),
            "AdanConfig" => self
                .adan::<D>()
                .map(|state| DynState::create(AdanState::new(state), rank)),
            "AdaGradConfig" => self
                .ada_grad::<D>()
                .map(|state| DynState::create(state, rank)),
            "AdafactorConfig" => self
                .adafactor::<D>()
                .map(|state| DynState::create(state, rank)),
            "RmsPropConfig" => self
                .rms_prop::<D>()
                .map(|state| DynState::create(state, rank)),
            _ => None,
        }
    }

    fn adaptive<const D: usize>(&mut self) -> Option<AdaptiveMomentumState<D>> {
        Some(AdaptiveMomentumState {
            time: self.count("momentum.time")?,
            moment_1: self.tensor("momentum.moment_1")?,
            moment_2: self.tensor("momentum.moment_2")?,
            max_moment_2: self.tensor("momentum.max_moment_2"),
        })
    }

    fn lamb<const D: usize>(&mut self) -> Option<LambState<D>> {
        Some(LambState {
            time: self.count("time")?,
            moment_1: self.tensor("moment_1")?,
            moment_2: self.tensor("moment_2")?,
        })
    }

    fn adan<const D: usize>(&mut self) -> Option<AdaptiveNesterovMomentumState<D>> {
        Some(AdaptiveNesterovMomentumState {
            time: self.count("momentum.time")?,
            exp_avg: self.tensor("momentum.exp_avg")?,
            exp_avg_sq: self.tensor("momentum.exp_avg_sq")?,
            exp_avg_diff: self.tensor("momentum.exp_avg_diff")?,
            neg_pre_grad: self.tensor("momentum.neg_pre_grad")?,
        })
    }

    fn ada_grad<const D: usize>(&mut self) -> Option<AdaGradState<D>> {
        let decay = LrDecayState::new(self.count("lr_decay.time")?, self.tensor("lr_decay.sum")?);
        Some(AdaGradState::new(decay))
    }

    fn adafactor<const D: usize>(&mut self) -> Option<AdafactorState<D>> {
        Some(AdafactorState {
            time: self.count("time")?,
            second_moment: self.tensor("second_moment")?,
            column_second_moment: self.tensor("column_second_moment"),
        })
    }

    fn rms_prop<const D: usize>(&mut self) -> Option<RmsPropState<D>> {
        let centered = CenteredState {
            grad_avg: self.tensor("centered.grad_avg"),
            avg: self.tensor("centered.avg")?,
        };
        let momentum = self.tensor("momentum.buf").map(RmsPropMomentumState::new);
        let average = SquareAvgState::new(self.tensor("square_avg.square_avg")?);
        Some(RmsPropState::new(average, centered, momentum))
    }
}

#[cfg(test)]
mod tests {
    use burn::optim::decay::WeightDecayConfig;
    use burn::optim::momentum::MomentumConfig;
    use burn::optim::{
        AdaGradConfig, AdafactorConfig, AdamConfig, AdamWConfig, AdanConfig, LambConfig,
        LionConfig, MuonConfig, RmsPropConfig, SgdConfig, StateSink,
    };
    use burn::tensor::{DType, FloatDType};

    use super::*;

    fn all() -> Vec<(&'static str, Box<dyn DynOptimizer>)> {
        let momentum = Some(MomentumConfig::new());
        let decay = Some(WeightDecayConfig::new(1e-2));
        vec![
            (
                "AdamConfig",
                Box::new(AdamConfig::new().with_amsgrad(true).build()),
            ),
            ("AdamWConfig", Box::new(AdamWConfig::new().build())),
            ("SgdConfig", Box::new(SgdConfig::new().build())),
            (
                "SgdConfig",
                Box::new(SgdConfig::new().with_momentum(momentum).build()),
            ),
            ("MuonConfig", Box::new(MuonConfig::new().build())),
            ("LionConfig", Box::new(LionConfig::new().build())),
            ("LambConfig", Box::new(LambConfig::new().build())),
            ("AdanConfig", Box::new(AdanConfig::new().build())),
            (
                "AdaGradConfig",
                Box::new(AdaGradConfig::new().with_weight_decay(decay).build()),
            ),
            ("AdafactorConfig", Box::new(AdafactorConfig::new().build())),
            (
                "RmsPropConfig",
                Box::new(
                    RmsPropConfig::new()
                        .with_momentum(0.9)
                        .with_centered(true)
                        .build(),
                ),
            ),
            ("RmsPropConfig", Box::new(RmsPropConfig::new().build())),
        ]
    }

    fn shown(optimizer: &dyn DynOptimizer, state: &DynState) -> StateSink {
        let mut sink = StateSink::default();
        optimizer.state_flatten("a.weight", state, &mut sink);
        sink
    }

    /// In a dtype that is not the device's default; what is shown, and what the next step makes of
    /// it, is what it was.
    #[test]
    fn every_state_comes_back_in_the_dtype_it_had() {
        let device = Device::flex();
        for (name, optimizer) in all() {
            for dtype in [FloatDType::F64, FloatDType::BF16] {
                let tensor = || {
                    let values = [[1.0, 2.0], [3.0, -4.0]];
                    Tensor::<2>::from_floats(values, &device)
                        .cast(dtype)
                        .into_bridge()
                };
                let step = |state| optimizer.step_dyn(2, 1e-2, tensor(), tensor(), state);
                let (_, state) = step(step(None).1);
                let Some(state) = state else {
                    continue;
                };
                let before = shown(&*optimizer, &state);
                let scalars = before.scalars.iter().cloned().collect();
                let saved = SavedValues {
                    path: "a.weight",
                    rank: 2,
                    device: &device,
                    tensors: before.tensors.iter().cloned().collect(),
                    scalars: &scalars,
                };
                let restored = saved.restore(name, &*optimizer).unwrap();
                let after = shown(&*optimizer, &restored);
                assert_eq!(before.tensors, after.tensors, "{name}");
                assert_eq!(before.scalars, after.scalars, "{name}");
                let next = |state| Tensor::<2>::from_bridge(step(Some(state)).0).into_data();
                let (one, other) = (next(state), next(restored));
                assert_eq!(one, other, "{name}");
                assert_eq!(one.dtype(), DType::from(dtype), "{name}");
            }
        }
    }

    #[test]
    fn what_is_not_all_there_is_told() {
        for (name, optimizer) in all() {
            assert!(restores(name), "{name}");
            let saved = SavedValues {
                path: "a.weight",
                rank: 2,
                device: &Device::flex(),
                tensors: BTreeMap::new(),
                scalars: &BTreeMap::new(),
            };
            // Plain SGD keeps nothing that could be missing.
            let restored = saved.restore(name, &*optimizer);
            assert_eq!(restored.is_ok(), name == "SgdConfig", "{name}");
        }
        assert!(!restores("Mine"));
    }
}
