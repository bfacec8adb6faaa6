//! What a run was told, which a resume has to be told again.

use std::fmt;
use std::path::Path;

use crate::RunError;

/// What a run was told.
#[derive(Clone, Debug, PartialEq)]
pub struct Told<S> {
    /// What its order, its draws and its initial weights follow from.
    pub seed: u64,
    /// How to train.
    pub settings: S,
}

impl<S: fmt::Display> fmt::Display for Told<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, settings } = self;
        write!(f, "seed {seed}, {settings}")
    }
}

impl<S: fmt::Display + PartialEq> Told<S> {
    /// See whether the run of the checkpoint in `folder` was told the same.
    ///
    /// # Errors
    /// [`RunError::OtherSettings`].
    pub fn is_also(&self, there: &Self, folder: &Path) -> Result<(), RunError> {
        if self == there {
            return Ok(());
        }
        Err(RunError::OtherSettings {
            folder: folder.to_owned(),
            there: there.to_string(),
            here: self.to_string(),
        })
    }
}
