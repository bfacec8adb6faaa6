//! A checkpoint as a source of values: what it is called there, how it is held, what is allowed.

mod layout;
mod load;
mod matching;
mod names;
mod report;
mod save;
mod stacks;
mod values;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::FloatDType;
use burn_weights::{Checkpoint, Reading};
use regex::Regex;

use crate::error::MaterializeError;
use crate::pattern::PathPattern;

pub use layout::Layout;
pub use load::{Loaded, load};
pub(crate) use matching::{Matching, match_weights, own_dtype};
pub(crate) use names::Lineage;
pub use report::{Absent, Cast, CopyMade, LoadReport, LoadedTensor, TieFilled};
pub use save::{SaveOptions, SavePlan, save, save_plan};
pub(crate) use values::{FileTensor, Reader};

/// A checkpoint, and how its tensors go into a module.
///
/// Strict unless it is told otherwise: a parameter that the file has not, and a tensor of the file
/// that the module has not, are refused. Everything is found in the headers, before a tensor is
/// read or allocated. Cloning shares the open files.
///
/// ```
/// use burn::nn::{Linear, LinearConfig};
/// use burn::tensor::Device;
/// use burn_materialize::{Layout, Meta, SaveOptions, Weights, reset_to_defaults, save};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("linear.safetensors");
/// let device = Device::flex();
/// let mut trained = LinearConfig::new(4, 2).init(&device);
/// reset_to_defaults(&mut trained, 42)?; // a lazy parameter has no value to save
/// save(&trained, &path, &SaveOptions::new().layout(Layout::PyTorch))?;
///
/// let weights = Weights::open(&path)?;
/// let meta = Meta::build_for(&device, |device| LinearConfig::new(4, 2).init(device))?;
/// let loaded = meta.load(&device, &weights)?;
/// println!("{}", loaded.report);
/// let linear: Linear = loaded.module;
/// assert_eq!(linear.weight.to_data(), trained.weight.to_data());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Weights {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) layout: Layout,
    renames: Vec<(Regex, String)>,
    only: Vec<PathPattern>,
    except: Vec<PathPattern>,
    allow_missing: Vec<PathPattern>,
    allow_unexpected: Vec<PathPattern>,
    pub(crate) dtypes: DTypePolicy,
    pub(crate) require_finite: bool,
    pub(crate) reading: Reading,
    pub(crate) on_progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

/// The dtype that a loaded tensor gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DTypePolicy {
    /// The one that the module declares; what the file holds is cast, and the report lists it.
    #[default]
    Module,
    /// The one that the file has.
    File,
    /// This one for every float; ints and bools as the module declares them.
    Float(FloatDType),
}

/// How far a load is, in bytes of tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes loaded.
    pub done: u64,
    /// Bytes to load.
    pub total: u64,
}

impl Weights {
    /// Open a checkpoint: safetensors, burnpack, what `torch.save` writes, an index of shards or a
    /// folder of one. Only headers are read.
    ///
    /// # Errors
    /// [`MaterializeError::Checkpoint`], as [`Checkpoint::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, MaterializeError> {
        Ok(Checkpoint::open(path)?.into())
    }

    /// The open checkpoint, to look at.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// How the file names and holds tensors; [`Layout::Auto`] unless set.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Replace what `pattern` matches in the names of the file: a regular expression, and a text in
    /// which `$1` stands for its first group. Rules apply in the order they are given, each to what
    /// the one before left.
    ///
    /// # Errors
    /// [`MaterializeError::Rename`] where the expression is none.
    pub fn rename(mut self, pattern: &str, replacement: &str) -> Result<Self, MaterializeError> {
        let regex = Regex::new(pattern).map_err(|error| MaterializeError::Rename {
            rule: pattern.to_owned(),
            message: error.to_string(),
        })?;
        self.renames.push((regex, replacement.to_owned()));
        Ok(self)
    }

    /// Take `prefix` off the names of the file that begin with it.
    pub fn strip_prefix(mut self, prefix: &str) -> Self {
        let regex = Regex::new(&format!("^{}", regex::escape(prefix)));
        self.renames.push((
            regex.expect("an escaped text is an expression"),
            String::new(),
        ));
        self
    }

    /// Load only tensors whose path matches one of the patterns given so; the others, in the module
    /// and in the file, are as if they were not there.
    ///
    /// # Errors
    /// [`MaterializeError::Pattern`].
    pub fn only(mut self, pattern: &str) -> Result<Self, MaterializeError> {
        self.only.push(PathPattern::new(pattern)?);
        Ok(self)
    }

    /// Load no tensor whose path matches.
    ///
    /// # Errors
    /// [`MaterializeError::Pattern`].
    pub fn except(mut self, pattern: &str) -> Result<Self, MaterializeError> {
        self.except.push(PathPattern::new(pattern)?);
        Ok(self)
    }

    /// Let parameters whose path matches be missing from the file.
    ///
    /// # Errors
    /// [`MaterializeError::Pattern`].
    pub fn allow_missing(mut self, pattern: &str) -> Result<Self, MaterializeError> {
        self.allow_missing.push(PathPattern::new(pattern)?);
        Ok(self)
    }

    /// Let the file have tensors, by their renamed names, that the module has not.
    ///
    /// # Errors
    /// [`MaterializeError::Pattern`].
    pub fn allow_unexpected(mut self, pattern: &str) -> Result<Self, MaterializeError> {
        self.allow_unexpected.push(PathPattern::new(pattern)?);
        Ok(self)
    }

    /// The dtypes that loaded tensors get; [`DTypePolicy::Module`] unless set.
    pub fn dtypes(mut self, dtypes: DTypePolicy) -> Self {
        self.dtypes = dtypes;
        self
    }

    /// Refuse NaN and infinity. Reads every byte.
    pub fn require_finite(mut self, require: bool) -> Self {
        self.require_finite = require;
        self
    }

    /// Copy tensors out of the file instead of viewing it where it is. Independent of what becomes
    /// of the file: whoever writes into a file that is viewed changes the tensors, and whoever cuts
    /// it off ends the process. (A file replaced by renaming another over it stays as it was.)
    pub fn copy(mut self, copy: bool) -> Self {
        self.reading = if copy { Reading::Copy } else { Reading::Map };
        self
    }

    /// Call `report` after each tensor.
    pub fn on_progress(mut self, report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(report));
        self
    }

    /// What the rules make of a name of the file.
    pub(crate) fn renamed(&self, name: &str) -> String {
        let renames = self.renames.iter();
        renames.fold(name.to_owned(), |name, (regex, replacement)| {
            regex.replace_all(&name, replacement).into_owned()
        })
    }

    pub(crate) fn considers(&self, path: &str) -> bool {
        let any = |patterns: &[PathPattern]| patterns.iter().any(|pattern| pattern.matches(path));
        (self.only.is_empty() || any(&self.only)) && !any(&self.except)
    }

    pub(crate) fn may_be_missing(&self, path: &str) -> bool {
        self.allow_missing
            .iter()
            .any(|pattern| pattern.matches(path))
    }

    pub(crate) fn may_be_unexpected(&self, name: &str) -> bool {
        self.allow_unexpected
            .iter()
            .any(|pattern| pattern.matches(name))
    }
}

impl From<Checkpoint> for Weights {
    fn from(checkpoint: Checkpoint) -> Self {
        Self {
            checkpoint,
            layout: Layout::Auto,
            renames: Vec::new(),
            only: Vec::new(),
            except: Vec::new(),
            allow_missing: Vec::new(),
            allow_unexpected: Vec::new(),
            dtypes: DTypePolicy::Module,
            require_finite: false,
            reading: Reading::Map,
            on_progress: None,
        }
    }
}

impl fmt::Debug for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Weights");
        debug.field("path", &self.checkpoint.path());
        debug
            .field("layout", &self.layout)
            .field("renames", &self.renames);
        debug
            .field("dtypes", &self.dtypes)
            .field("reading", &self.reading);
        debug.finish_non_exhaustive()
    }
}
