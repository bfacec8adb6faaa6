//! What can be wrong with a checkpoint, or between one and the state of a program.

use std::path::PathBuf;

use burn_materialize::{CheckpointError, MaterializeError};

use crate::error::{FabricError, rates, shorten};

/// Why a state was not saved or not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateProblem {
    /// The folder holds no checkpoint.
    #[error(
        "{} holds no checkpoint: neither a manifest.json nor a folder with one in it; a save that \
         was ended before its manifest was written leaves none",
        path.display()
    )]
    NotACheckpoint {
        /// The folder.
        path: PathBuf,
    },
    /// The manifest is not what was written.
    #[error("{} is damaged: {message}; load an earlier checkpoint", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The checkpoint has a format that is not known here.
    #[error(
        "{} has format version {found}, and version {readable} is the last that is known here: load \
         it with the version of burn-fabric that wrote it ({written_by}) or a later one",
        path.display()
    )]
    Version {
        /// The manifest.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// The last that can be read.
        readable: u64,
        /// The burn-fabric that wrote it.
        written_by: String,
    },
    /// A file that the manifest names is not there.
    #[error("{} is missing: load an earlier checkpoint", path.display())]
    MissingFile {
        /// The file.
        path: PathBuf,
    },
    /// A file is not what was written.
    #[error("{} is damaged: {what}; load an earlier checkpoint", path.display())]
    ChangedFile {
        /// The file.
        path: PathBuf,
        /// Its length or its hash, and what it was.
        what: String,
    },
    /// The system refused something.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file of tensors cannot be written or read.
    #[error(transparent)]
    File(Box<CheckpointError>),
    /// The state has a part that the checkpoint has not.
    #[error(
        "`{part}` is not in the checkpoint, which has {}: leave it out with \
         `LoadOptions::except(\"{part}\")`, and it stays as it is",
        shorten(there)
    )]
    MissingPart {
        /// The part.
        part: String,
        /// The checkpoint's parts.
        there: Vec<String>,
    },
    /// The checkpoint has a part that the state has not.
    #[error(
        "the checkpoint has `{part}`, a {kind}, and this state has no such part: give it one (a field \
         that is empty at first, an `Option` or a `Vec` of values, goes by `#[state(serde)]`), or leave it \
         out with `LoadOptions::except(\"{part}\")`"
    )]
    UnexpectedPart {
        /// The part.
        part: String,
        /// What it is.
        kind: String,
    },
    /// A part is something else in the checkpoint.
    #[error(
        "`{part}` is a {found} in the checkpoint and a {expected} here: give each its own name"
    )]
    OtherKind {
        /// The part.
        part: String,
        /// What it is in the checkpoint.
        found: String,
        /// What it is here.
        expected: &'static str,
    },
    /// A part has a name that no file could have, or that another part has.
    #[error("a part cannot be called `{part}`: {reason}")]
    PartName {
        /// The name.
        part: String,
        /// Why not.
        reason: &'static str,
    },
    /// A part refuses, for a reason of its own.
    #[error("`{part}`: {source}")]
    Part {
        /// The part.
        part: String,
        /// Why.
        source: Box<FabricError>,
    },
    /// Tensors of a module have other dtypes in the checkpoint.
    #[error(
        "`{part}` has tensors of another dtype than the checkpoint ({}): a resume would not be exact; \
         set the module up with the same `float_dtype`, or load only its weights, with \
         `SavedState::weights`",
        shorten(tensors)
    )]
    OtherDType {
        /// The part.
        part: String,
        /// Paths of the tensors, each with both dtypes.
        tensors: Vec<String>,
    },
    /// An optimizer updates other parameters than the one that was saved.
    #[error(
        "`{part}` updates other parameters than the one that was saved{}{}: set it up over the same, or \
         take what matches, with `LoadOptions::allow_orphans`",
        if orphaned.is_empty() { String::new() } else { format!("; only the checkpoint has {}", shorten(orphaned)) },
        if fresh.is_empty() { String::new() } else { format!("; only this one has {}", shorten(fresh)) }
    )]
    OtherParameters {
        /// The part.
        part: String,
        /// Paths that only the checkpoint has.
        orphaned: Vec<String>,
        /// Paths that only this optimizer has.
        fresh: Vec<String>,
    },
    /// Parameters are updated by another kind of optimizer, or have another shape.
    #[error("`{part}` is another optimizer than the one that was saved: {}", differences.join("; "))]
    OtherOptimizer {
        /// The part.
        part: String,
        /// Paths of the parameters, each with what it was and what it is.
        differences: Vec<String>,
    },
    /// What an optimizer remembers of a parameter cannot be saved or restored.
    #[error("`{part}`: what is remembered of `{path}` cannot be kept: {message}")]
    OptimizerState {
        /// The part.
        part: String,
        /// The parameter's path.
        path: String,
        /// Why.
        message: String,
    },
    /// A scheduler would go on with other rates than the one that was saved.
    #[error(
        "`{part}` is another schedule than the one that was saved, whose next rates are {}, and \
         here they would be {}: make it with the same configuration, or leave it out with \
         `LoadOptions::except(\"{part}\")`, and it starts over",
        rates(found),
        rates(expected)
    )]
    OtherSchedule {
        /// The part.
        part: String,
        /// The next rates of the one that was saved.
        found: Vec<f64>,
        /// The next rates here.
        expected: Vec<f64>,
    },
    /// Accumulated gradients or averages belong to parameters that no module of the state has.
    #[error(
        "`{part}` belongs to parameters that no module of the state has, or not in this shape ({}): put \
         their module into the state, as it was when the checkpoint was saved",
        shorten(parameters)
    )]
    NoSuchParameter {
        /// The part.
        part: String,
        /// The parameters.
        parameters: Vec<String>,
    },
    /// A value of the user's cannot be written or read.
    #[error("`{part}` cannot be kept: {message}")]
    Value {
        /// The part.
        part: String,
        /// Serde's own text.
        message: String,
    },
}

impl StateProblem {
    /// Why the tensors of a module cannot be written.
    pub(super) fn of_module(error: MaterializeError) -> Self {
        match error {
            MaterializeError::Checkpoint(error) => Self::File(error),
            error => Self::Part {
                part: "a module".to_owned(),
                source: Box::new(error.into()),
            },
        }
    }
}

impl From<CheckpointError> for StateProblem {
    fn from(error: CheckpointError) -> Self {
        Self::File(Box::new(error))
    }
}
