//! Callbacks in their order.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use super::entry::{Entry, OnError, report};
use super::seen::{
    AfterStep, BeforeStep, EpochBegin, EpochEnd, Evaluation, Exception, Point, Saved,
};
use super::state::{PANICKED, STOP};
use super::{Callback, CallbackResult, Flow};
use crate::error::FabricError;
use crate::logging::{message_of, message_of_caught, warn};

/// Callbacks, which the loop calls at its points: each in the order in which it was added.
///
/// A panic in a callback ends there and is treated as its errors are; the callback is not called
/// again, since its state may be broken. What callbacks remember is part of a checkpoint, under their
/// names, and so is the reason for a stop.
///
/// ```
/// use burn::nn::{Linear, LinearConfig};
/// use burn::optim::AdamWConfig;
/// use burn::tensor::Tensor;
/// use burn_fabric::prelude::*;
/// use burn_fabric::{AfterStep, Evaluation};
///
/// #[derive(TrainingState)]
/// struct Training {
///     model: FabricModule<Linear>,
///     optimizer: FabricOptimizer,
///     step: u64,
/// }
///
/// /// What a checkpoint keeps.
/// #[derive(TrainingState)]
/// struct Run<'r> {
///     training: &'r mut Training,
///     callbacks: &'r mut Callbacks<Training>,
/// }
///
/// let fabric = Fabric::builder().build()?;
/// let meta = fabric.init_module(|device| LinearConfig::new(4, 1).init(device))?;
/// let (model, optimizer) = fabric.setup_with_optimizer(meta, AdamWConfig::new())?;
/// let mut training = Training { model, optimizer, step: 0 };
/// let mut callbacks = Callbacks::new()
///     .with(EarlyStopping::new("loss", Better::Lower).patience(3).min_delta(0.05)?);
///
/// # let folder = tempfile::tempdir()?;
/// callbacks.run(&mut training, |training, callbacks| {
///     callbacks.after_setup(training)?;
///     while training.step < 1000 && callbacks.stop_reason().is_none() {
///         let loss = training.model.forward(Tensor::<2>::ones([8, 4], fabric.device()));
///         let loss = loss.powi_scalar(2).mean();
///         let gradients = fabric.backward(loss.clone(), &training.model)?;
///         callbacks.before_step(training, training.step)?;
///         let report = training.optimizer.step(1e-2, &mut training.model, gradients)?;
///         training.step += 1;
///         let loss: f32 = loss.into_scalar();
///         callbacks.after_step(training, AfterStep::new(training.step, &report).loss(loss))?;
///         if training.step % 10 == 0 {
///             let values = [("loss", loss.into())];
///             callbacks.on_evaluation(training, Evaluation::new(training.step, 0, values))?;
///             let run = Run { training: &mut *training, callbacks: &mut *callbacks };
///             fabric.save(folder.path(), &run)?;
///             callbacks.on_save(training, training.step, folder.path())?;
///         }
///     }
///     Ok::<(), FabricError>(())
/// })?;
/// assert!(callbacks.stop_reason().is_some_and(|reason| reason.starts_with("EarlyStopping")));
/// # assert!(training.step < 1000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Callbacks<S> {
    pub(super) entries: Vec<Entry<S>>,
    pub(super) on_error: OnError,
    pub(super) stop_reason: Option<String>,
    pub(super) problems: Vec<FabricError>,
}

impl<S: 'static> Callbacks<S> {
    /// None yet.
    pub fn new() -> Self {
        Self {
            entries: Vec::new(),
            on_error: OnError::default(),
            stop_reason: None,
            problems: Vec::new(),
        }
    }

    /// Add one, after those that are there.
    pub fn with(self, callback: impl Callback<S>) -> Self {
        self.add(callback, None)
    }

    /// Add one whose errors are treated in a way of their own.
    pub fn with_on_error(self, on_error: OnError, callback: impl Callback<S>) -> Self {
        self.add(callback, Some(on_error))
    }

    fn add(mut self, callback: impl Callback<S>, on_error: Option<OnError>) -> Self {
        let (name, part) = self.names_of(callback.name());
        let callback = Box::new(callback);
        self.entries
            .push(Entry::new(callback, name, part, on_error));
        self
    }

    /// A name that no other has, and the same for a part: of letters, digits and `_`.
    fn names_of(&self, name: String) -> (String, String) {
        let fits = |c: char| if c.is_alphanumeric() { c } else { '_' };
        let part: String = name.chars().take(40).map(fits).collect();
        let part = if part.is_empty() {
            "_".to_owned()
        } else {
            part
        };
        let taken = self.entries.iter().map(|entry| entry.part.as_str());
        let taken: BTreeSet<&str> = taken.chain([STOP, PANICKED]).collect();
        if !taken.contains(&*part) {
            return (name, part);
        }
        let number = (2..=taken.len() + 1).find(|number| {
            let numbered = format!("{part}_{number}");
            !taken.contains(&*numbered)
        });
        let number = number.expect("one more number than names that are taken");
        (format!("{name} ({number})"), format!("{part}_{number}"))
    }

    /// What becomes of errors of those that were not added with a way of their own.
    pub fn on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }

    /// Why a callback wants the run to end, with its name; the first reason stays. The loop asks,
    /// and leaves.
    pub fn stop_reason(&self) -> Option<&str> {
        self.stop_reason.as_deref()
    }

    /// Forget the reason, to go on with a run that was stopped.
    pub fn clear_stop(&mut self) {
        self.stop_reason = None;
    }

    /// The errors and panics that were only reported, in their order; those of a save come last.
    pub fn problems(&self) -> Vec<&FabricError> {
        let of_saves = self.entries.iter().filter_map(Entry::panic_in_save);
        self.problems.iter().chain(of_saves).collect()
    }

    /// The names of all, in their order; the second of a name has its number.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The first of a type.
    pub fn get<C: Callback<S>>(&self) -> Option<&C> {
        let mut all = self.entries.iter().map(|entry| {
            let callback: &dyn Any = &*entry.callback;
            callback.downcast_ref::<C>()
        });
        all.find_map(|callback| callback)
    }

    /// Everything is set up, or loaded.
    ///
    /// # Errors
    /// [`FabricError::Callback`] and [`FabricError::CallbackPanicked`] of the first that is to stop
    /// the run, as at every point.
    pub fn after_setup(&mut self, state: &mut S) -> Result<(), FabricError> {
        self.call(Point::AfterSetup, |one| one.after_setup(state))
    }

    /// An epoch begins; counted from 0.
    ///
    /// # Errors
    /// As [`after_setup`](Callbacks::after_setup).
    pub fn on_epoch_begin(&mut self, state: &mut S, epoch: u32) -> Result<(), FabricError> {
        let seen = EpochBegin::new(epoch);
        self.call(Point::EpochBegin, |one| one.on_epoch_begin(state, &seen))
    }

    /// The step of this number, as the loop counts, is to be taken.
    ///
    /// # Errors
    /// As [`after_setup`](Callbacks::after_setup).
    pub fn before_step(&mut self, state: &mut S, step: u64) -> Result<(), FabricError> {
        let seen = BeforeStep::new(step);
        self.call(Point::BeforeStep, |one| one.before_step(state, &seen))
    }

    /// A step was taken, or left out.
    ///
    /// # Errors
    /// As [`after_setup`](Callbacks::after_setup).
    pub fn after_step(&mut self, state: &mut S, seen: AfterStep<'_>) -> Result<(), FabricError> {
        self.call(Point::AfterStep, |one| one.after_step(state, &seen))
    }

    /// The model was evaluated.
    ///
    /// # Errors
    /// As [`after_setup`](Callbacks::after_setup).
    pub fn on_evaluation(&mut self, state: &mut S, seen: Evaluation) -> Result<(), FabricError> {
        self.call(Point::Evaluation, |one| one.on_evaluation(state, &seen))
    }

    /// An epoch is over; counted from 0.
    ///
    /// # Errors
    /// As [`after_setup`](Callbacks::after_setup).
    pub fn on_epoch_end(&mut self, state: &mut S, epoch: u32) -> Result<(), FabricError> {
        let seen = EpochEnd::new(epoch);
        self.call(Point::EpochEnd, |one| one.on_epoch_end(state, &seen))
    }

    /// A checkpoint was written to a folder, after so many steps.
    ///
    /// # Errors
    /// As [`after_setup`](Callbacks::after_setup).
    pub fn on_save(
        &mut self,
        state: &S,
        step: u64,
        folder: impl AsRef<Path>,
    ) -> Result<(), FabricError> {
        let seen = Saved::new(step, folder.as_ref());
        self.call(Point::Save, |one| one.on_save(state, &seen))
    }

    /// Run the loop, and where it ends with an error or a panic, call
    /// [`Callback::on_exception`] of each; then that error is returned, and that panic goes on.
    ///
    /// Errors of `on_exception` itself are only reported, so that the first cause stays.
    ///
    /// # Errors
    /// The loop's own.
    pub fn run<T, E: Display>(
        &mut self,
        state: &mut S,
        body: impl FnOnce(&mut S, &mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        match catch_unwind(AssertUnwindSafe(|| body(state, self))) {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => {
                self.exception(state, &Exception::new(error.to_string(), false));
                Err(error)
            }
            Err(panic) => {
                self.exception(state, &Exception::new(message_of(&*panic), true));
                resume_unwind(panic)
            }
        }
    }

    fn exception(&mut self, state: &S, seen: &Exception) {
        for entry in &mut self.entries {
            let done = entry.call(Point::Exception, |one| one.on_exception(state, seen));
            if let Err(problem) = done {
                report(&mut self.problems, problem);
            }
        }
    }

    fn call(
        &mut self,
        point: Point,
        mut call: impl FnMut(&mut dyn Callback<S>) -> CallbackResult,
    ) -> Result<(), FabricError> {
        for entry in &mut self.entries {
            match entry.call(point, &mut call) {
                Ok(Flow::Continue) => {}
                Ok(Flow::Stop(reason)) => {
                    let reason = || format!("{}: {reason}", entry.name);
                    self.stop_reason.get_or_insert_with(reason);
                }
                Err(problem) => match entry.on_error.unwrap_or(self.on_error) {
                    OnError::Stop => return Err(problem),
                    OnError::Report => report(&mut self.problems, problem),
                },
            }
        }
        Ok(())
    }
}

impl<S> Drop for Callbacks<S> {
    fn drop(&mut self) {
        for entry in self.entries.drain(..) {
            let (name, callback) = (entry.name, entry.callback);
            // What a panic left broken may panic again at its end; while another panic is under way, that
            // would abort the process.
            let dropped = catch_unwind(AssertUnwindSafe(move || drop(callback)));
            if let Err(panic) = dropped {
                let message = message_of_caught(panic);
                warn(&format!(
                    "the callback `{name}` panicked at its end: {message}"
                ));
            }
        }
    }
}

impl<S: 'static> Default for Callbacks<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: 'static> fmt::Debug for Callbacks<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callbacks")
            .field("callbacks", &self.names().collect::<Vec<_>>())
            .field("on_error", &self.on_error)
            .field("stop_reason", &self.stop_reason)
            .field("problems", &self.problems())
            .finish()
    }
}
