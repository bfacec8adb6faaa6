//! Why a command did not do what it was told.

use std::fmt;
use std::process::ExitCode;

use burn_weights::CheckpointError;

/// What is said in one line, and the exit code that goes with it.
#[derive(Debug)]
pub enum Failure {
    /// The arguments are wrong, alone or for this file.
    Arguments(String),
    /// A file is bad, or is not there.
    Files(String),
}

impl Failure {
    pub fn code(&self) -> ExitCode {
        match self {
            Self::Arguments(_) => ExitCode::from(2),
            Self::Files(_) => ExitCode::from(1),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Arguments(message) | Self::Files(message)) = self;
        f.write_str(message)
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Self {
        match error {
            // The library names its own option.
            CheckpointError::Exists { path } => Self::Files(format!(
                "{}: there is a file already: pass --overwrite to replace it",
                path.display()
            )),
            error => Self::Files(error.to_string()),
        }
    }
}
