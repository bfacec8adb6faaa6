//! Values by step, written by several loggers at once.

mod csv;
#[cfg(feature = "pictures")]
mod curves;
mod error;
mod file;
mod flatten;
mod json_lines;
mod loggers;
mod progress;
mod settings;
#[cfg(feature = "tensorboard")]
mod tensorboard;
mod warn;

pub use csv::CsvLogger;
#[cfg(feature = "pictures")]
pub use curves::CurvesLogger;
pub use error::LoggerError;
pub use json_lines::JsonLinesLogger;
pub use loggers::{LoggerProblem, Loggers};
pub use progress::TrainingProgress;
#[cfg(feature = "tensorboard")]
pub use tensorboard::TensorBoardLogger;

#[cfg(feature = "pictures")]
pub(crate) use file::replace;
pub(crate) use warn::{message_of, message_of_caught, text_of, warn};

/// Writes values by step somewhere. Give it to [`Loggers`], which calls it in the thread that trains:
/// the loop waits for every method, so what takes long belongs into a thread of the logger's own.
///
/// A method that returns an error is called again with the next values; one that panics is not.
///
/// ```
/// use burn_fabric::{Logger, LoggerError, Loggers};
///
/// struct Printed;
///
/// impl Logger for Printed {
///     fn name(&self) -> String {
///         "the printer".to_owned()
///     }
///     fn log(&mut self, step: u64, values: &[(&str, f64)]) -> Result<(), LoggerError> {
///         println!("{step}: {values:?}");
///         Ok(())
///     }
/// }
///
/// Loggers::new().with(Printed).log(0, [("train/loss", 0.5)]);
/// ```
pub trait Logger: Send {
    /// What it is and where it writes, for messages.
    fn name(&self) -> String;

    /// Write the values of a step; several calls may belong to one step.
    ///
    /// # Errors
    /// Whatever keeps it from writing; nothing of these values is written then.
    fn log(&mut self, step: u64, values: &[(&str, f64)]) -> Result<(), LoggerError>;

    /// Write settings: names and texts. A logger that has no place for them does nothing.
    ///
    /// # Errors
    /// As [`log`](Logger::log).
    fn log_settings(&mut self, settings: &[(String, String)]) -> Result<(), LoggerError> {
        let _ = settings;
        Ok(())
    }

    /// Drop what an earlier process logged of `step` and of those after it.
    ///
    /// # Errors
    /// As [`log`](Logger::log); what is there stays then.
    fn resume_at(&mut self, step: u64) -> Result<(), LoggerError> {
        let _ = step;
        Ok(())
    }

    /// Write what is still held back.
    ///
    /// # Errors
    /// As [`log`](Logger::log).
    fn flush(&mut self) -> Result<(), LoggerError> {
        Ok(())
    }
}
