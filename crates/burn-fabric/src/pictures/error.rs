//! Why a picture is not there.

use std::io;
use std::path::{Path, PathBuf};

use super::page::Failed;
use crate::LoggerError;

/// What keeps a picture from being written. What was at its path stays.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// The file's name does not say which format.
    #[error(
        "{} ends in `{found}`, where `svg` or `png` is expected: pictures are drawn in these two, \
         give the file one of these endings",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// What is behind its last dot; empty where there is none.
        found: String,
    },
    /// What is there cannot be replaced by a picture.
    #[error("{} is {found}, where a file is expected: draw to another path", path.display())]
    NotAFile {
        /// What was to be written to.
        path: PathBuf,
        /// What it is: a pipe, a socket, a device, a folder.
        found: &'static str,
    },
    /// The file cannot be written.
    #[error("{} cannot be written: {source}; free the disk or draw to another folder", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl PictureError {
    pub(super) fn of(path: &Path, error: LoggerError) -> Self {
        let path = path.to_owned();
        match error {
            LoggerError::NotAFile { found, .. } => Self::NotAFile { path, found },
            LoggerError::File { source, .. } => Self::File { path, source },
            other => Self::File {
                path,
                source: io::Error::other(other),
            },
        }
    }

    pub(super) fn drawing(path: &Path, failed: Failed) -> Self {
        Self::File {
            path: path.to_owned(),
            source: io::Error::other(failed),
        }
    }
}
