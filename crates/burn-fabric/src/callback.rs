//! What a loop calls at named points, so that it need not be written into the loop.

mod averaging;
mod collection;
mod early_stopping;
mod entry;
mod seen;
mod state;

pub use averaging::ModelAveraging;
pub use collection::Callbacks;
pub use early_stopping::EarlyStopping;
pub use entry::OnError;
pub use seen::{AfterStep, BeforeStep, EpochBegin, EpochEnd, Evaluation, Exception, Point, Saved};

use std::any::{Any, type_name};
use std::error::Error;

use crate::checkpoint::{Loading, Saving};

/// What the run does next, as far as one callback is concerned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    /// Go on.
    #[default]
    Continue,
    /// End the run, for this reason: [`Callbacks::stop_reason`] has it from now on.
    Stop(String),
}

/// What a callback returns: any error goes through `?`.
pub type CallbackResult = Result<Flow, Box<dyn Error + Send + Sync>>;

/// Something a training loop does besides training, at points that have names; `S` is the loop's
/// own state. Every point does nothing unless it is written.
///
/// ```
/// use burn_fabric::prelude::*;
/// use burn_fabric::{AfterStep, StepReport};
///
/// #[derive(Default)]
/// struct Training {
///     rate: f64,
/// }
///
/// /// Halves the rate when the loss explodes.
/// struct Brake;
///
/// impl Callback<Training> for Brake {
///     fn after_step(&mut self, training: &mut Training, seen: &AfterStep<'_>) -> CallbackResult {
///         if seen.loss.is_some_and(|loss| loss > 1e3) {
///             training.rate *= 0.5;
///         }
///         Ok(Flow::Continue)
///     }
/// }
///
/// let mut training = Training { rate: 0.1 };
/// let mut callbacks = Callbacks::new().with(Brake);
/// let report = StepReport::default(); // of `optimizer.step`
/// callbacks.after_step(&mut training, AfterStep::new(1, &report).loss(2e3))?;
/// assert_eq!(training.rate, 0.05);
/// # Ok::<(), FabricError>(())
/// ```
pub trait Callback<S>: Any + Send {
    /// What errors, reasons and checkpoints call it; the name of its type unless said otherwise.
    fn name(&self) -> String {
        short(type_name::<Self>())
    }

    /// Everything is set up, or loaded, and no step has been taken yet.
    ///
    /// # Errors
    /// Its own, as at every point: the [`Callbacks`] name it.
    fn after_setup(&mut self, _state: &mut S) -> CallbackResult {
        Ok(Flow::Continue)
    }

    /// An epoch begins.
    ///
    /// # Errors
    /// Its own.
    fn on_epoch_begin(&mut self, _state: &mut S, _seen: &EpochBegin) -> CallbackResult {
        Ok(Flow::Continue)
    }

    /// A step is to be taken.
    ///
    /// # Errors
    /// Its own.
    fn before_step(&mut self, _state: &mut S, _seen: &BeforeStep) -> CallbackResult {
        Ok(Flow::Continue)
    }

    /// A step was taken, or left out.
    ///
    /// # Errors
    /// Its own.
    fn after_step(&mut self, _state: &mut S, _seen: &AfterStep<'_>) -> CallbackResult {
        Ok(Flow::Continue)
    }

    /// The model was evaluated.
    ///
    /// # Errors
    /// Its own.
    fn on_evaluation(&mut self, _state: &mut S, _seen: &Evaluation) -> CallbackResult {
        Ok(Flow::Continue)
    }

    /// An epoch is over.
    ///
    /// # Errors
    /// Its own.
    fn on_epoch_end(&mut self, _state: &mut S, _seen: &EpochEnd) -> CallbackResult {
        Ok(Flow::Continue)
    }

    /// A checkpoint was written. Changes now would not be in it, so the state is only to be read.
    ///
    /// # Errors
    /// Its own.
    fn on_save(&mut self, _state: &S, _seen: &Saved<'_>) -> CallbackResult {
        Ok(Flow::Continue)
    }

    /// The loop ended with an error or a panic. The state is what that left.
    ///
    /// # Errors
    /// Its own; the run's error stays the one that is returned.
    fn on_exception(&mut self, _state: &S, _seen: &Exception) -> CallbackResult {
        Ok(Flow::Continue)
    }

    /// Hand to a checkpoint what it remembers, as
    /// [`TrainingState::save_state`](crate::TrainingState::save_state) does; nothing unless written.
    fn save_state(&self, _saving: &mut Saving) {}

    /// Take the same back.
    fn load_state<'s>(&'s mut self, _loading: &mut Loading<'s>) {}
}

/// `a::b::Name<a::C>` is `Name`.
fn short(name: &str) -> String {
    let plain = name.split('<').next().unwrap_or(name);
    plain.rsplit("::").next().unwrap_or(plain).to_owned()
}
