//! Why a logger could not log.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// What keeps a logger from writing. It never stops a training: [`Loggers`](crate::Loggers) says it
/// once, and keeps it in [`problems`](crate::Loggers::problems).
#[derive(Debug, thiserror::Error)]
pub enum LoggerError {
    /// A file cannot be read or written.
    #[error("{} cannot be written: {source}; free the disk or log to another folder", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file there is none of this logger's.
    #[error(
        "{} holds something else ({found}) and is left as it is: log to another path, or remove it",
        path.display()
    )]
    OtherFile {
        /// The file.
        path: PathBuf,
        /// What stands in it.
        found: String,
    },
    /// What is there can be no log: it cannot be read back.
    #[error(
        "{} is {found}, where a file is expected that can be read back and continued: log to another \
         path",
        path.display()
    )]
    NotAFile {
        /// What was to be written to.
        path: PathBuf,
        /// What it is: a pipe, a socket, a device, a folder.
        found: &'static str,
    },
    /// A value has the name of the steps' own column.
    #[error("a value is called `step`, as the steps themselves are: give it another name")]
    NamedStep,
    /// Hyper-parameters cannot be turned into names and texts.
    #[error(
        "the hyper-parameters cannot be logged: {source}; give a struct or a map of plain values"
    )]
    Settings {
        /// Serde's error.
        source: serde_json::Error,
    },
    /// The logger panicked, and is left out from there on: it may be in any state.
    #[error("it panicked ({message}) and is not called again: return an error instead")]
    Panicked {
        /// The panic's text.
        message: String,
    },
    /// The error of a logger that is not of this crate.
    #[error("{source}")]
    Custom {
        /// Its own error.
        source: Box<dyn Error + Send + Sync>,
    },
}

impl LoggerError {
    /// What turns an error of the system into one about a file.
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::File {
            path: path.to_owned(),
            source,
        }
    }
}
