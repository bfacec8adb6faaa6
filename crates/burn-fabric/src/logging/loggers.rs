//! Several loggers, none of which stops a training.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::warn::{message_of_caught, text_of, warn};
use super::{Logger, LoggerError};

/// Several loggers, called in order. Whatever goes wrong in one is said once on stderr, and neither
/// the training nor the other loggers notice.
///
/// A logger that fails is tried again with the next values: a disk that was full for an hour does
/// not cost the rest of the curves. How many calls were lost is said when it is back, or at the end.
///
/// ```
/// use burn_fabric::prelude::*;
///
/// let folder = tempfile::tempdir()?;
/// let mut loggers = Loggers::new()
///     .with(CsvLogger::at(folder.path().join("metrics.csv")))
///     .with(JsonLinesLogger::at(folder.path().join("metrics.jsonl")));
/// for step in 0..3 {
///     loggers.log(step, [("train/loss", 0.5), ("rate", 1e-3)]);
/// }
/// loggers.flush();
/// assert!(loggers.problems().is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Default)]
pub struct Loggers {
    loggers: Vec<Entry>,
    problems: Vec<LoggerProblem>,
}

struct Entry {
    logger: Box<dyn Logger>,
    name: String,
    /// Calls that failed and have not been told of yet.
    lost: u64,
    said: bool,
    panicked: bool,
    /// What it has to drop from before it logs anything.
    resume: Option<u64>,
}

/// What went wrong first in a logger.
#[derive(Debug)]
pub struct LoggerProblem {
    /// The logger's name.
    pub logger: String,
    /// The step; none where no values were logged, but settings say.
    pub step: Option<u64>,
    /// What is wrong.
    pub error: LoggerError,
}

impl fmt::Display for LoggerProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failed", self.logger)?;
        if let Some(step) = self.step {
            write!(f, " at step {step}")?;
        }
        write!(f, ": {}", self.error)
    }
}

impl Loggers {
    /// None yet: what is logged goes nowhere.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more.
    #[must_use]
    pub fn with(mut self, logger: impl Logger + 'static) -> Self {
        self.loggers.push(Entry {
            name: logger.name(),
            logger: Box::new(logger),
            lost: 0,
            said: false,
            panicked: false,
            resume: None,
        });
        self
    }

    /// Log values of a step. A second call for the same step adds a second row.
    pub fn log<N: AsRef<str>, V: Into<f64>>(
        &mut self,
        step: u64,
        values: impl IntoIterator<Item = (N, V)>,
    ) {
        let values = values.into_iter().map(|(name, value)| (name, value.into()));
        let values: Vec<(N, f64)> = values.collect();
        let values: Vec<(&str, f64)> = values
            .iter()
            .map(|(name, value)| (name.as_ref(), *value))
            .collect();
        self.each(Some(step), |logger| logger.log(step, &values));
    }

    /// Log names and texts; [`Fabric::log_settings`](crate::Fabric::log_settings) makes them.
    pub fn log_settings(&mut self, settings: &[(String, String)]) {
        self.each(None, |logger| logger.log_settings(settings));
    }

    /// Have each logger drop what an earlier process logged of `step` and later ones, so that no step
    /// is there twice. Call it after a checkpoint was loaded, with the first step that is logged now.
    pub fn resume_at(&mut self, step: u64) {
        for entry in &mut self.loggers {
            entry.resume = Some(step);
        }
        self.each(None, |_| Ok(()));
    }

    /// Write what is still held back; call it at the end, and before a checkpoint.
    pub fn flush(&mut self) {
        self.each(None, |logger| logger.flush());
    }

    /// The first problem of each logger that had one.
    pub fn problems(&self) -> &[LoggerProblem] {
        &self.problems
    }

    /// Take note of a problem that is none of a single logger.
    pub(super) fn problem(&mut self, logger: &str, error: LoggerError) {
        let logger = logger.to_owned();
        let problem = LoggerProblem {
            logger,
            step: None,
            error,
        };
        warn(&problem.to_string());
        self.problems.push(problem);
    }

    fn each(
        &mut self,
        step: Option<u64>,
        call: impl Fn(&mut dyn Logger) -> Result<(), LoggerError>,
    ) {
        for entry in &mut self.loggers {
            if entry.panicked {
                entry.lost += u64::from(step.is_some());
                continue;
            }
            // What a panic leaves broken is not looked at again.
            let called = catch_unwind(AssertUnwindSafe(|| {
                // Tried until it succeeds: values behind those of an earlier process would be double.
                if let Some(step) = entry.resume {
                    entry.logger.resume_at(step)?;
                    entry.resume = None;
                }
                call(entry.logger.as_mut())
            }));
            let error = match called {
                Ok(Ok(())) => {
                    // Only values that arrived show that it is back; `flush` may have had none.
                    if step.is_some() {
                        entry.say_lost("is back; lost meanwhile");
                    }
                    continue;
                }
                Ok(Err(error)) => error,
                Err(panic) => {
                    entry.panicked = true;
                    let message = message_of_caught(panic);
                    LoggerError::Panicked { message }
                }
            };
            entry.lost += u64::from(step.is_some());
            if !std::mem::replace(&mut entry.said, true) {
                let logger = entry.name.clone();
                let problem = LoggerProblem {
                    logger,
                    step,
                    error,
                };
                warn(&format!("{}; the training goes on", text_of(&problem)));
                self.problems.push(problem);
            }
        }
    }
}

impl Entry {
    fn say_lost(&mut self, what: &str) {
        let lost = std::mem::take(&mut self.lost);
        if lost > 0 {
            warn(&format!("{} {what}: {lost} calls", self.name));
        }
    }
}

impl Drop for Loggers {
    fn drop(&mut self) {
        for mut entry in self.loggers.drain(..) {
            entry.say_lost("lost");
            // One that panics at its end stops as little as one that does before, and where a panic is
            // under way already, a second that is not caught would abort the process.
            let dropped = catch_unwind(AssertUnwindSafe(move || drop(entry.logger)));
            if let Err(panic) = dropped {
                let message = message_of_caught(panic);
                warn(&format!("{} panicked at its end: {message}", entry.name));
            }
        }
    }
}

impl fmt::Debug for Loggers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.loggers.iter().map(|entry| &entry.name);
        f.debug_list().entries(names).finish()
    }
}
