//! Writing a checkpoint: a tensor or two in memory at a time, and a crash at any moment leaves the old
//! checkpoint or the new one.
//!
//! A file is written beside its place, synchronised and renamed. Several files get names that no
//! file has yet; the index, which is renamed over the old one at last, decides which are meant; then
//! what only the old one named is removed.

mod job;
mod safetensors;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn_std::{Bytes, DType};

use crate::dtype::FileDType;
use crate::error::CheckpointError;
use crate::index::{self, MAX_INDEX};
use crate::safetensors::METADATA;
use crate::storage::Storage;

use job::{Job, Progress};

type Produce = Arc<dyn Fn() -> Result<Bytes, String> + Send + Sync>;

/// A tensor to write. Its bytes are asked for when it is its turn, and let go after.
#[derive(Clone)]
pub struct Outgoing {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    param_id: Option<u64>,
    produce: Produce,
}

impl Outgoing {
    /// A tensor whose bytes, row-major and little-endian, `produce` gives.
    pub fn new(
        name: impl Into<String>,
        dtype: DType,
        shape: impl Into<Vec<usize>>,
        produce: impl Fn() -> Result<Bytes, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            dtype,
            shape: shape.into(),
            param_id: None,
            produce: Arc::new(produce),
        }
    }

    /// The parameter's id, which burnpack keeps.
    pub fn with_param_id(mut self, id: Option<u64>) -> Self {
        self.param_id = id;
        self
    }

    pub(crate) fn bytes(&self) -> u64 {
        let dims = self.shape.iter().map(|dim| *dim as u64);
        dims.fold(self.dtype.size() as u64, u64::saturating_mul)
    }

    /// Its bytes, as many as its shape says.
    pub(crate) fn produce(&self) -> Result<Bytes, String> {
        let bytes = (self.produce)()?;
        if bytes.len() as u64 == self.bytes() {
            return Ok(bytes);
        }
        Err(format!(
            "{} bytes came where its shape takes {}",
            bytes.len(),
            self.bytes()
        ))
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?} {:?}", self.name, self.dtype, self.shape)
    }
}

/// The formats that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteFormat {
    /// safetensors, which everything reads.
    Safetensors,
    /// Burn's own, which also keeps the ids of parameters.
    Burnpack,
}

impl WriteFormat {
    /// The ending of its files.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Safetensors => "safetensors",
            Self::Burnpack => burn_pack::EXTENSION,
        }
    }
}

type OnProgress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// How a checkpoint is written.
#[derive(Clone, Default)]
pub struct WriteOptions {
    /// The format; without it the path's ending says it, and safetensors is the default.
    pub format: Option<WriteFormat>,
    /// Begin another file before one has more bytes of tensors than this; one tensor is never split.
    pub max_shard_bytes: Option<u64>,
    /// Names and texts to keep beside the tensors.
    pub metadata: BTreeMap<String, String>,
    /// Replace what is there.
    pub overwrite: bool,
    /// Called with bytes written and bytes to write.
    pub on_progress: Option<OnProgress>,
}

impl fmt::Debug for WriteOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("WriteOptions");
        debug.field("format", &self.format);
        debug.field("max_shard_bytes", &self.max_shard_bytes);
        debug.field("metadata", &self.metadata);
        debug
            .field("overwrite", &self.overwrite)
            .finish_non_exhaustive()
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// What to open: the file, or the index.
    pub path: PathBuf,
    /// The files with tensors.
    pub files: Vec<PathBuf>,
    /// Bytes of tensors.
    pub bytes: u64,
}

/// Write `tensors` to `path`, and into several files with an index beside them where the options
/// limit their size: `model.safetensors` becomes `model-00001-of-00004.safetensors` and so on, and
/// `model.safetensors.index.json`.
///
/// A process that is killed meanwhile leaves the old checkpoint or the new one, and may leave files
/// beside it that nothing names: `*.tmp`, and shards without an index. The next save is not in their
/// way, nor is opening the folder.
///
/// # Errors
/// [`CheckpointError`], and then nothing that was there has changed.
pub fn write(
    path: impl AsRef<Path>,
    tensors: Vec<Outgoing>,
    options: &WriteOptions,
) -> Result<Written, CheckpointError> {
    let path = path.as_ref();
    let format = options.format.unwrap_or_else(|| match path.extension() {
        Some(extension) if extension == burn_pack::EXTENSION => WriteFormat::Burnpack,
        _ => WriteFormat::Safetensors,
    });
    let bytes = check(path, &tensors)?;
    let index = index_path(path);
    if path.is_dir() || path.file_name().is_none() {
        let path = path.to_owned();
        return Err(CheckpointError::NotAFile { path });
    }
    for there in [path, &index] {
        if !options.overwrite && fs::symlink_metadata(there).is_ok() {
            let path = there.to_owned();
            return Err(CheckpointError::Exists { path });
        }
    }
    let mut progress = Progress {
        done: 0,
        total: bytes,
        report: options.on_progress.clone(),
    };
    let obsolete = shards_of(path, &index);
    let parts = split(tensors, options.max_shard_bytes);
    let job = Job {
        format,
        metadata: &options.metadata,
    };
    let (main, files) = match <[_; 1]>::try_from(parts) {
        Ok([tensors]) => {
            job.file(path, tensors, options.overwrite, &mut progress)?;
            (path.to_owned(), vec![path.to_owned()])
        }
        Err(parts) => {
            let files = job.shards(path, parts, bytes, options.overwrite, &mut progress)?;
            (index.clone(), files)
        }
    };
    // The new one is in its place; what only the old one was made of goes: first of all its index,
    // since an index must not name files that are not there.
    let keep: HashSet<&PathBuf> = files.iter().chain([&main]).collect();
    let stale = [index, path.to_owned()].into_iter().chain(obsolete);
    for file in stale.filter(|file| !keep.contains(file)) {
        // The new checkpoint is complete without this.
        let _ = fs::remove_file(file);
    }
    Ok(Written {
        path: main,
        files,
        bytes,
    })
}

/// Refuse what no format could hold, and count the bytes.
fn check(path: &Path, tensors: &[Outgoing]) -> Result<u64, CheckpointError> {
    let mut names = HashSet::new();
    let mut bytes: u64 = 0;
    for tensor in tensors {
        let refused = |message: &str| CheckpointError::Produce {
            path: path.to_owned(),
            tensor: tensor.name.clone(),
            message: message.to_owned(),
        };
        if !names.insert(&tensor.name) {
            return Err(CheckpointError::DuplicateName {
                path: path.to_owned(),
                tensor: tensor.name.clone(),
            });
        }
        if tensor.name == METADATA {
            return Err(refused(
                "safetensors has this name for texts beside the tensors",
            ));
        }
        let dtype = FileDType::Burn(tensor.dtype).name();
        if FileDType::of_name(&dtype).burn().is_none() {
            return Err(CheckpointError::Unsupported {
                path: path.to_owned(),
                tensor: tensor.name.clone(),
                offset: 0,
                dtype,
            });
        }
        let takes = FileDType::Burn(tensor.dtype).bytes(&tensor.shape);
        let takes = takes.ok().flatten();
        let sum = takes.and_then(|takes| bytes.checked_add(takes));
        bytes = sum.ok_or_else(|| refused("its shape takes more bytes than can be counted"))?;
    }
    Ok(bytes)
}

/// Tensors in order, no file larger than the limit where it holds more than one.
fn split(tensors: Vec<Outgoing>, limit: Option<u64>) -> Vec<Vec<Outgoing>> {
    let mut parts = vec![Vec::new()];
    let mut filled = 0;
    for tensor in tensors {
        let bytes = tensor.bytes();
        let last = parts.last_mut().expect("there is one at the beginning");
        if limit.is_some_and(|limit| filled + bytes > limit) && !last.is_empty() {
            parts.push(vec![tensor]);
            filled = bytes;
        } else {
            last.push(tensor);
            filled += bytes;
        }
    }
    parts
}

fn index_path(path: &Path) -> PathBuf {
    let mut index = path.as_os_str().to_owned();
    index.push(".index.json");
    index.into()
}

/// The files that the index of `path` names and that are named as its shards are: an index that
/// somebody else wrote may name any file here, and none but shards is to be removed.
fn shards_of(path: &Path, index: &Path) -> Vec<PathBuf> {
    let json = Storage::open(index)
        .ok()
        .filter(|storage| storage.len() <= MAX_INDEX)
        .and_then(|storage| storage.beginning(storage.len() as usize).ok());
    let files = json.and_then(|json| index::parse(index, &json).ok());
    let files: HashSet<String> = files.unwrap_or_default().files.into_values().collect();
    let stem = job::shard_stem(path);
    let is_shard = |file: &String| {
        let rest = file.strip_prefix(&stem);
        rest.is_some_and(|rest| rest.starts_with(['-', '.']) && rest.contains("-of-"))
    };
    files
        .into_iter()
        .filter(is_shard)
        .map(|file| index.with_file_name(file))
        .collect()
}
