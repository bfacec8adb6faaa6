//! Scaling the loss, so that gradients do not vanish in f16.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// What the loss is multiplied by before its gradients are computed in f16, and where it stands.
///
/// Under [`Precision::MixedF16`](crate::Precision::MixedF16) a Fabric's
/// [`backward`](crate::Fabric::backward) multiplies the loss, and divides the gradients again once
/// they are f32; nobody else sees the scale. A step whose gradients are not finite is left out and
/// halves it; so many steps in a row that were taken double it (`loss_scale_interval`, 2000 unless
/// said). Twice and half, so that scaling rounds nothing; after Micikevicius and others, "Mixed
/// precision training" (2018). An optimizer keeps it in its checkpoint.
///
/// ```standalone_crate
/// use burn::nn::LinearConfig;
/// use burn::optim::SgdConfig;
/// use burn::tensor::{FloatDType, Tensor};
/// use burn_fabric::prelude::*;
///
/// let fabric = Fabric::builder().precision(Precision::MixedF16).build()?;
/// let meta = fabric.init_module(|device| LinearConfig::new(4, 1).init(device))?;
/// let (mut model, mut optimizer) = fabric.setup_with_optimizer(meta, SgdConfig::new())?;
/// let output = model.forward(Tensor::<2>::ones([2, 4], fabric.device()));
/// let loss = output.cast(FloatDType::F32).mul_scalar(1e9).mean(); // too much for f16
/// let gradients = fabric.backward(loss, &model)?;
/// let report = optimizer.step(1e-3, &mut model, gradients)?;
/// assert!(report.is_skipped());
/// let scale = fabric.loss_scale().expect("f16 has one");
/// assert_eq!((scale.scale, scale.skipped), (16_384.0, 1));
/// # Ok::<(), FabricError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossScale {
    /// What the loss is multiplied by.
    pub scale: f64,
    /// How many steps in a row were taken with it.
    pub steady: u32,
    /// How many steps were left out since the beginning.
    pub skipped: u64,
}

impl LossScale {
    /// The greatest power of two that f16 has.
    pub(crate) const DEFAULT: f64 = 32_768.0;
    /// Steps after which it is doubled.
    pub(crate) const INTERVAL: u32 = 2000;
    /// Below it, it is not the scale that makes gradients leave f16.
    const LEAST: f64 = 1.0;
    /// Far above what f32 and f16 together have a use for.
    const MOST: f64 = 16_777_216.0;
}

/// A Fabric's and its optimizers' own.
#[derive(Debug)]
pub(crate) struct LossScaler {
    now: Mutex<LossScale>,
    interval: u32,
}

impl LossScaler {
    pub(crate) fn new(scale: f64, interval: u32) -> Self {
        let now = LossScale {
            scale,
            steady: 0,
            skipped: 0,
        };
        Self {
            now: Mutex::new(now),
            interval,
        }
    }

    fn lock(&self) -> MutexGuard<'_, LossScale> {
        // Nothing panics while it is held.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> LossScale {
        *self.lock()
    }

    pub(crate) fn set(&self, scale: LossScale) {
        *self.lock() = scale;
    }

    /// A step was taken.
    pub(crate) fn taken(&self) {
        let mut now = self.lock();
        now.steady += 1;
        if now.steady >= self.interval {
            now.steady = 0;
            now.scale = (now.scale * 2.0).min(LossScale::MOST);
        }
    }

    /// A step was left out; says whether a smaller scale may help.
    pub(crate) fn skipped(&self) -> bool {
        let mut now = self.lock();
        if now.scale <= LossScale::LEAST {
            return false;
        }
        now.steady = 0;
        now.skipped += 1;
        now.scale = (now.scale / 2.0).max(LossScale::LEAST);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_after_steps_and_halves_after_an_overflow() {
        let scaler = LossScaler::new(4.0, 3);
        for _ in 0..2 {
            scaler.taken();
        }
        assert!(scaler.skipped());
        let now = scaler.now();
        assert_eq!((now.scale, now.steady, now.skipped), (2.0, 0, 1));
        for _ in 0..3 {
            scaler.taken();
        }
        assert_eq!((scaler.now().scale, scaler.now().steady), (4.0, 0));
        assert!(scaler.skipped() && scaler.skipped());
        assert_eq!(scaler.now().scale, 1.0);
        assert!(!scaler.skipped());
        assert_eq!(scaler.now().skipped, 3);
        scaler.set(LossScale {
            scale: LossScale::MOST,
            ..scaler.now()
        });
        (0..3).for_each(|_| scaler.taken());
        assert_eq!(scaler.now().scale, LossScale::MOST);
    }
}
