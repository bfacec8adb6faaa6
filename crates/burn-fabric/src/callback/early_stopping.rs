//! Ending a run that no longer gets better.

use serde::{Deserialize, Serialize};

use super::seen::Evaluation;
use super::{Callback, CallbackResult, Flow};
use crate::checkpoint::{Better, Loading, Saving};
use crate::config::SettingProblem;
use crate::error::FabricError;

/// Asks for a stop after so many evaluations in a row at which a value got no better.
///
/// A NaN is refused unless [`stop_on_nan`](EarlyStopping::stop_on_nan) says otherwise: it is better or
/// worse than nothing, and a run that has diverged would end as one that has converged does. An
/// error leaves what is remembered as it was.
///
/// ```
/// use burn_fabric::Evaluation;
/// use burn_fabric::prelude::*;
///
/// let early = EarlyStopping::new("valid/loss", Better::Lower).patience(2).min_delta(0.01)?;
/// let mut callbacks = Callbacks::new().with(early);
/// for (epoch, loss) in [(0, 0.5), (1, 0.3), (2, 0.295), (3, 0.31), (4, 0.2)] {
///     let step = 100 * u64::from(epoch) + 100;
///     callbacks.on_evaluation(&mut (), Evaluation::new(step, epoch, [("valid/loss", loss)]))?;
///     if callbacks.stop_reason().is_some() {
///         break;
///     }
/// }
/// let early: Option<&EarlyStopping> = callbacks.get();
/// assert_eq!(early.and_then(EarlyStopping::best), Some((200, 0.3)));
/// assert_eq!(early.map(EarlyStopping::waited), Some(2)); // stopped in epoch 3
/// # Ok::<(), FabricError>(())
/// ```
#[derive(Clone, Debug)]
pub struct EarlyStopping {
    value: String,
    better: Better,
    patience: u64,
    min_delta: f64,
    stop_on_nan: bool,
    memory: Memory,
}

/// What it remembers from one evaluation to the next, and from one process to the next.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Memory {
    /// Of which value this is, and which is better.
    watched: String,
    /// The step and the value.
    best: Option<(u64, f64)>,
    waited: u64,
    /// Whether it asked for a stop; whoever evaluates again goes on.
    stopped: bool,
}

impl EarlyStopping {
    /// Watch a value of the evaluations. The third in a row that is no better ends the run, unless
    /// [`patience`](EarlyStopping::patience) says otherwise.
    pub fn new(value: impl Into<String>, better: Better) -> Self {
        let value = value.into();
        let direction = match better {
            Better::Lower => "the lower",
            Better::Higher => "the higher",
        };
        let memory = Memory {
            watched: format!("{value}, {direction}"),
            best: None,
            waited: 0,
            stopped: false,
        };
        Self {
            value,
            better,
            patience: 3,
            min_delta: 0.0,
            stop_on_nan: false,
            memory,
        }
    }

    /// How many evaluations in a row may be no better: the last of them stops the run. At least one.
    pub fn patience(mut self, evaluations: u64) -> Self {
        self.patience = evaluations.max(1);
        self
    }

    /// By how much a value must be better than the best to count, more than 0 unless said.
    ///
    /// # Errors
    /// [`FabricError::Settings`] unless it is a finite number of at least 0.
    pub fn min_delta(mut self, delta: f64) -> Result<Self, FabricError> {
        if !(delta.is_finite() && delta >= 0.0) {
            let problem = SettingProblem::out_of_range("min_delta", delta, "at least 0");
            return Err(FabricError::Settings {
                problems: vec![problem],
            });
        }
        self.min_delta = delta;
        Ok(self)
    }

    /// Ask for a stop at a NaN, instead of an error.
    pub fn stop_on_nan(mut self) -> Self {
        self.stop_on_nan = true;
        self
    }

    /// The best value so far, and its step.
    pub fn best(&self) -> Option<(u64, f64)> {
        self.memory.best
    }

    /// Evaluations since then; after a stop that was cleared, since that.
    pub fn waited(&self) -> u64 {
        self.memory.waited
    }

    fn is_better(&self, value: f64) -> bool {
        let Some((_, best)) = self.memory.best else {
            return true;
        };
        match self.better {
            Better::Lower => value < best - self.min_delta,
            Better::Higher => value > best + self.min_delta,
        }
    }
}

impl<S: 'static> Callback<S> for EarlyStopping {
    fn name(&self) -> String {
        "EarlyStopping".to_owned()
    }

    fn on_evaluation(&mut self, _state: &mut S, seen: &Evaluation) -> CallbackResult {
        let name = &self.value;
        let Some(value) = seen.values.get(name).copied() else {
            // A loop may have evaluations of several kinds; a name that none of them has is a slip.
            if self.memory.best.is_some() {
                return Ok(Flow::Continue);
            }
            let there = seen.values.keys().cloned().collect();
            let value = name.clone();
            return Err(FabricError::NoSuchValue { value, there }.into());
        };
        let step = seen.step;
        if value.is_nan() {
            if self.stop_on_nan {
                return Ok(Flow::Stop(format!("`{name}` is NaN at step {step}")));
            }
            let value = name.clone();
            return Err(FabricError::ValueIsNaN { value, step }.into());
        }
        let is_better = self.is_better(value);
        let memory = &mut self.memory;
        // A loop that goes on after a stop has the whole patience again.
        if is_better || std::mem::take(&mut memory.stopped) {
            memory.waited = 0;
        }
        if is_better {
            memory.best = Some((step, value));
            memory.stopped = false;
            return Ok(Flow::Continue);
        }
        memory.waited += 1;
        let waited = memory.waited;
        match memory.best {
            Some((at, best)) if waited >= self.patience => {
                memory.stopped = true;
                Ok(Flow::Stop(format!(
                    "`{name}` is no better than {best}, of step {at}, at step {step} and for \
                     {waited} evaluations"
                )))
            }
            _ => Ok(Flow::Continue),
        }
    }

    fn save_state(&self, saving: &mut Saving) {
        saving.value("memory", &self.memory);
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        let expected = self.memory.watched.clone();
        loading.value_that("memory", &mut self.memory, move |memory| {
            let found = memory.watched.clone();
            match found == expected {
                true => Ok(()),
                false => Err(FabricError::OtherValueWatched { found, expected }),
            }
        });
    }
}
