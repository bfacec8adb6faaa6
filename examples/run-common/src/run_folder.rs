//! The folder of a run that can be interrupted: what an earlier run left there, and where to go on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use burn_fabric::{Better, Checkpoints, Interrupt};

/// The folder of the checkpoints, in that of a run.
const CHECKPOINTS: &str = "checkpoints";

/// Why a run does not begin, or not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The checkpoint is of a run that was told other things.
    #[error("the run in {} has {there}; this one was told {here}", folder.display())]
    OtherSettings {
        /// The checkpoint.
        folder: PathBuf,
        /// Seed and settings of its run.
        there: String,
        /// Seed and settings of this one.
        here: String,
    },
    /// An earlier run in the folder did not come to its end, and would be lost.
    #[error(
        "{} has checkpoints of a run that did not end: go on with it by `--resume`, or give another \
         `--out`, or remove that folder",
        folder.display()
    )]
    Unfinished {
        /// The checkpoints.
        folder: PathBuf,
    },
    /// What an earlier run left cannot be removed.
    #[error("cannot remove `{}`: {source}", path.display())]
    Remove {
        /// A file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// How a training ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It came to its end.
    Done,
    /// It was asked to, and is kept in this checkpoint.
    Interrupted(PathBuf),
}

/// The folder of a run: its results, and its checkpoints in a folder of their own.
#[derive(Clone, Debug)]
pub struct RunFolder {
    out: PathBuf,
    results: &'static [&'static str],
    checkpoints: Checkpoints,
}

impl RunFolder {
    /// The folder `out`. Of `results` the last one is written last: where it is, the run ended.
    /// Of checkpoints the last two are kept, and the best by a metric.
    pub fn new(out: &Path, results: &'static [&'static str], metric: &str, better: Better) -> Self {
        let checkpoints = Checkpoints::new(out.join(CHECKPOINTS));
        Self {
            out: out.to_owned(),
            results,
            checkpoints: checkpoints.keep_last(2).keep_best(1, metric, better),
        }
    }

    /// The checkpoints.
    pub fn checkpoints(&self) -> &Checkpoints {
        &self.checkpoints
    }

    /// Where to resume from: what `folder` is, a run's or one of checkpoints; this run's own where
    /// none is given.
    pub fn resume_from(&self, folder: Option<&Path>) -> PathBuf {
        let folder = folder.unwrap_or(&self.out);
        match folder.join(CHECKPOINTS) {
            checkpoints if checkpoints.is_dir() => checkpoints,
            _ => folder.to_owned(),
        }
    }

    /// Remove an earlier run, checkpoints and results: the latest checkpoint is to be this run's.
    ///
    /// # Errors
    /// [`RunError::Unfinished`] where it has checkpoints and did not end; [`RunError::Remove`].
    pub fn remove_run(&self) -> Result<(), RunError> {
        let earlier = self.checkpoints.list();
        let last = self.results.last();
        let ended = last.is_some_and(|last| self.out.join(last).exists());
        if !earlier.is_empty() && !ended {
            let folder = self.checkpoints.root().to_owned();
            return Err(RunError::Unfinished { folder });
        }
        for saved in earlier {
            let path = saved.folder().to_owned();
            if let Err(source) = fs::remove_dir_all(&path) {
                return Err(RunError::Remove { path, source });
            }
        }
        self.remove_results()
    }

    /// Remove the results of an earlier run, which are not those of one that begins or goes on.
    ///
    /// # Errors
    /// [`RunError::Remove`].
    pub fn remove_results(&self) -> Result<(), RunError> {
        for name in self.results {
            let path = self.out.join(name);
            match fs::remove_file(&path) {
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(RunError::Remove { path, source });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Say where an interrupted run is and how to go on; its exit code.
    pub fn interrupted(&self, step: u64, checkpoint: &Path) -> ExitCode {
        let (checkpoint, out) = (checkpoint.display(), self.out.display());
        println!("interrupted after step {step}, and saved in {checkpoint}");
        println!("to go on: the same command with --resume {out}");
        Interrupt::EXIT_CODE.into()
    }
}
