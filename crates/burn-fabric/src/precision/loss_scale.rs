//! Scaling the loss, so that gradients do not vanish in f16.

use std::sync::atomic::{AtomicU64, Ordering};
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

    /// What a scale may be.
    pub(crate) const EXPECTED: &str = "a power of two from 1 to 16777216";

    pub(crate) fn is_scale(scale: f64) -> bool {
        (Self::LEAST..=Self::MOST).contains(&scale) && scale.log2().fract() == 0.0
    }
}

/// A Fabric's and its optimizers' own.
///
/// It moves once for the losses between two steps, however many optimizers step with their gradients.
#[derive(Debug)]
pub(crate) struct LossScaler {
    state: Mutex<State>,
    interval: u32,
}

#[derive(Debug)]
struct State {
    now: LossScale,
    /// What came of the gradients of the losses that were scaled last.
    outcome: Outcome,
    /// How often the losses of another step began.
    turn: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    /// No step was made with them.
    Open,
    Taken {
        /// The scale before that.
        before: LossScale,
    },
    Skipped {
        /// Whether a smaller scale may help.
        may_help: bool,
    },
}

impl State {
    fn next_turn(&mut self) {
        self.outcome = Outcome::Open;
        self.turn += 1;
    }
}

impl LossScaler {
    pub(crate) fn new(scale: f64, interval: u32) -> Self {
        let now = LossScale {
            scale,
            steady: 0,
            skipped: 0,
        };
        let outcome = Outcome::Open;
        Self {
            state: Mutex::new(State {
                now,
                outcome,
                turn: 0,
            }),
            interval,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> LossScale {
        self.lock().now
    }

    pub(crate) fn set(&self, now: LossScale) {
        let mut state = self.lock();
        state.now = now;
        state.next_turn();
    }

    /// What to multiply a loss by.
    pub(crate) fn begin(&self) -> f64 {
        let mut state = self.lock();
        state.next_turn();
        state.now.scale
    }

    /// An optimizer steps, which stepped last in the turn that `last` says. A second step in one turn is
    /// with gradients of another backward than the Fabric's: they begin a turn as well.
    pub(crate) fn steps(&self, last: &AtomicU64) {
        let mut state = self.lock();
        if last.load(Ordering::Relaxed) == state.turn {
            state.next_turn();
        }
        last.store(state.turn, Ordering::Relaxed);
    }

    /// A step was taken.
    pub(crate) fn taken(&self) {
        let mut state = self.lock();
        if state.outcome != Outcome::Open {
            return;
        }
        state.outcome = Outcome::Taken { before: state.now };
        let now = &mut state.now;
        now.steady = now.steady.saturating_add(1);
        if now.steady >= self.interval {
            now.steady = 0;
            now.scale = (now.scale * 2.0).min(LossScale::MOST);
        }
    }

    /// A step was left out; says whether a smaller scale may help.
    pub(crate) fn skipped(&self) -> bool {
        let mut state = self.lock();
        match state.outcome {
            Outcome::Open => {}
            Outcome::Skipped { may_help } => return may_help,
            // Another optimizer had no overflow: as if it had not counted.
            Outcome::Taken { before } => state.now = before,
        }
        let now = &mut state.now;
        let may_help = now.scale > LossScale::LEAST;
        now.steady = 0;
        if may_help {
            now.skipped = now.skipped.saturating_add(1);
            now.scale = (now.scale / 2.0).max(LossScale::LEAST);
        }
        state.outcome = Outcome::Skipped { may_help };
        may_help
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_after_steps_and_halves_after_an_overflow() {
        let scaler = LossScaler::new(4.0, 3);
        let taken = || {
            scaler.begin();
            scaler.taken();
        };
        let skipped = || {
            scaler.begin();
            scaler.skipped()
        };
        (0..2).for_each(|_| taken());
        assert!(skipped());
        let now = scaler.now();
        assert_eq!((now.scale, now.steady, now.skipped), (2.0, 0, 1));
        (0..3).for_each(|_| taken());
        assert_eq!((scaler.now().scale, scaler.now().steady), (4.0, 0));
        assert!(skipped() && skipped());
        assert_eq!(scaler.now().scale, 1.0);
        taken();
        assert!(!skipped());
        assert_eq!((scaler.now().skipped, scaler.now().steady), (3, 0));
        scaler.set(LossScale {
            scale: LossScale::MOST,
            ..scaler.now()
        });
        (0..3).for_each(|_| taken());
        assert_eq!(scaler.now().scale, LossScale::MOST);
    }

    #[test]
    fn several_optimizers_move_it_once_for_a_loss() {
        let scaler = LossScaler::new(16.0, 2);
        scaler.begin();
        scaler.taken();
        scaler.taken();
        assert_eq!((scaler.now().scale, scaler.now().steady), (16.0, 1));
        // The second overflows.
        assert!(scaler.skipped() && scaler.skipped());
        scaler.taken();
        let now = scaler.now();
        assert_eq!((now.scale, now.steady, now.skipped), (8.0, 0, 1));
    }

    #[test]
    fn an_overflow_counts_from_where_the_turn_began() {
        let scaler = LossScaler::new(16.0, 1);
        scaler.begin();
        scaler.taken();
        assert_eq!(scaler.now().scale, 32.0);
        assert!(scaler.skipped());
        assert_eq!(scaler.now().scale, 8.0);
    }

    #[test]
    fn gradients_of_another_backward_begin_a_turn() {
        let scaler = LossScaler::new(4.0, 10);
        let last = AtomicU64::new(u64::MAX);
        let skip = || {
            scaler.steps(&last);
            scaler.skipped()
        };
        assert!(skip() && skip());
        assert_eq!(scaler.now().scale, 1.0);
        assert!(!skip());
    }
}
