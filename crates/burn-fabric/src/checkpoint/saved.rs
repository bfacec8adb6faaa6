//! A checkpoint on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn_materialize::{Checkpoint, Weights};

use super::busy::Busy;
use super::folder::complete;
use super::manifest::{self, Manifest};
use super::part::Kind;
use super::problem::StateProblem;
use crate::error::FabricError;

/// A checkpoint that [`Fabric::save`](crate::Fabric::save) wrote, to look at before it is loaded.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn_fabric::prelude::*;
///
/// # let folder = tempfile::tempdir()?;
/// let fabric = Fabric::builder().build()?;
/// let mut model = fabric.setup(LinearConfig::new(4, 1).init(&fabric.inference_device()))?;
/// fabric.save(folder.path(), &model)?;
///
/// let saved = SavedState::open(folder.path())?;
/// saved.verify()?; // every byte of every file
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SavedState {
    folder: PathBuf,
    manifest: Manifest,
}

impl SavedState {
    /// Open the checkpoint in `folder`, or the latest of those in its subfolders where
    /// [`Checkpoints`](super::Checkpoints) keeps several there. Reads the manifest only.
    ///
    /// # Errors
    /// [`FabricError::Checkpoint`] where there is none, or its manifest is damaged or of a later
    /// version.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, FabricError> {
        let folder = folder.as_ref();
        Self::find(folder).map_err(|problem| FabricError::Checkpoint {
            folder: folder.to_owned(),
            doing: "opened",
            problems: vec![problem],
        })
    }

    pub(super) fn find(folder: &Path) -> Result<Self, StateProblem> {
        match Self::at(folder) {
            Err(StateProblem::NotACheckpoint { path }) => match complete(folder).pop() {
                Some(latest) => Self::at(&latest),
                None => Err(StateProblem::NotACheckpoint { path }),
            },
            found => found,
        }
    }

    pub(super) fn at(folder: &Path) -> Result<Self, StateProblem> {
        Ok(Self {
            folder: folder.to_owned(),
            manifest: Manifest::read(folder)?,
        })
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The step it was saved after, where [`Checkpoints`](super::Checkpoints) saved it.
    pub fn step(&self) -> Option<u64> {
        self.manifest.step
    }

    pub(super) fn serial(&self) -> u64 {
        self.manifest.serial
    }

    /// What was measured then.
    pub fn metrics(&self) -> &BTreeMap<String, f64> {
        &self.manifest.metrics
    }

    /// The version of burn-fabric that wrote it.
    pub fn written_by(&self) -> &str {
        &self.manifest.burn_fabric
    }

    /// Its parts: their names, and what they are.
    pub fn parts(&self) -> impl Iterator<Item = (&str, &str)> {
        let parts = self.manifest.parts.iter();
        parts.map(|(name, part)| (name.as_str(), part.kind.as_str()))
    }

    pub(super) fn part(&self, name: &str) -> Option<&manifest::Part> {
        self.manifest.parts.get(name)
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &manifest::File> {
        self.manifest.files()
    }

    /// The tensors of a module, to set it up with, or to load into another program.
    ///
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn_fabric::prelude::*;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let fabric = Fabric::builder().build()?;
    /// # #[derive(TrainingState)]
    /// # struct Training { model: FabricModule<burn::nn::Linear> }
    /// # let meta = fabric.init_module(|device| LinearConfig::new(4, 1).init(device))?;
    /// # fabric.save(folder.path(), &Training { model: fabric.setup(meta)? })?;
    /// let weights = SavedState::open(folder.path())?.weights("model")?;
    /// let meta = fabric.init_module(|device| LinearConfig::new(4, 1).init(device))?;
    /// let model = fabric.setup_with(meta, &weights)?; // no initialiser runs
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FabricError::Checkpoint`] where it has no such part, where that is no module, or where its
    /// file is damaged.
    pub fn weights(&self, part: &str) -> Result<Weights, FabricError> {
        let open = || {
            let found = self.part(part).ok_or_else(|| StateProblem::MissingPart {
                part: part.to_owned(),
                there: self.parts().map(|(name, _)| name.to_owned()).collect(),
            })?;
            let file = found
                .file
                .as_ref()
                .filter(|_| found.kind == Kind::Module.name());
            let file = file.ok_or_else(|| StateProblem::OtherKind {
                part: part.to_owned(),
                found: found.kind.clone(),
                expected: Kind::Module.name(),
            })?;
            let _busy = Busy::wait(&self.folder);
            file.check(&self.folder)?;
            Ok(Weights::from(Checkpoint::open(
                self.folder.join(&file.name),
            )?))
        };
        open().map_err(|problem| self.failed(vec![problem]))
    }

    /// Compare every file with the hash that the manifest has of it.
    ///
    /// # Errors
    /// [`FabricError::Checkpoint`] with each file that is missing or not what was written.
    pub fn verify(&self) -> Result<(), FabricError> {
        let _busy = Busy::wait(&self.folder);
        let problems = self.damages();
        match problems.is_empty() {
            true => Ok(()),
            false => Err(self.failed(problems)),
        }
    }

    pub(super) fn damages(&self) -> Vec<StateProblem> {
        let checks = self.files().map(|file| file.check(&self.folder));
        checks.filter_map(Result::err).collect()
    }

    fn failed(&self, problems: Vec<StateProblem>) -> FabricError {
        FabricError::Checkpoint {
            folder: self.folder.clone(),
            doing: "opened",
            problems,
        }
    }
}
