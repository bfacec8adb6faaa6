//! Writing a checkpoint: one tensor in memory at a time, and a crash at any moment leaves the old
//! checkpoint or the new one.
//!
//! A file is written beside its place, synchronised and renamed. Several files get names that no
//! file has yet; the index, which is renamed over the old one at last, decides which are meant; then
//! what only the old one named is removed.

mod safetensors;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use burn_pack::{AtomicFile, Writer};
use burn_std::{Bytes, DType};

use crate::dtype::FileDType;
use crate::error::CheckpointError;
use crate::index;

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
    check(path, &tensors)?;
    let index = index_path(path);
    if path.is_dir() {
        let path = path.to_owned();
        return Err(CheckpointError::NotAFile { path });
    }
    for there in [path, &index] {
        if !options.overwrite && fs::symlink_metadata(there).is_ok() {
            let path = there.to_owned();
            return Err(CheckpointError::Exists { path });
        }
    }
    let bytes = tensors.iter().map(Outgoing::bytes).sum();
    let mut progress = Progress {
        done: 0,
        total: bytes,
        report: options.on_progress.clone(),
    };
    let obsolete = shards_of(&index);
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
    // The new one is in its place; what only the old one was made of goes.
    let keep: HashSet<&PathBuf> = files.iter().chain([&main]).collect();
    let stale = obsolete.into_iter().chain([path.to_owned(), index]);
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

/// What no format could hold.
fn check(path: &Path, tensors: &[Outgoing]) -> Result<(), CheckpointError> {
    let mut names = HashSet::new();
    for tensor in tensors {
        if !names.insert(&tensor.name) {
            return Err(CheckpointError::DuplicateName {
                path: path.to_owned(),
                tensor: tensor.name.clone(),
            });
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
    }
    Ok(())
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

/// The files that an index names, if it is one of ours to replace.
fn shards_of(index: &Path) -> Vec<PathBuf> {
    let Ok(json) = fs::read(index) else {
        return Vec::new();
    };
    let files = index::parse(index, &json)
        .map(|index| index.files)
        .unwrap_or_default();
    let files: HashSet<String> = files.into_values().collect();
    files
        .into_iter()
        .map(|file| index.with_file_name(file))
        .collect()
}

struct Progress {
    done: u64,
    total: u64,
    report: Option<OnProgress>,
}

impl Progress {
    fn add(&mut self, bytes: u64) {
        self.done += bytes;
        if let Some(report) = &self.report {
            report(self.done, self.total);
        }
    }
}

struct Job<'o> {
    format: WriteFormat,
    metadata: &'o BTreeMap<String, String>,
}

impl Job<'_> {
    fn file(
        &self,
        path: &Path,
        tensors: Vec<Outgoing>,
        overwrite: bool,
        progress: &mut Progress,
    ) -> Result<(), CheckpointError> {
        match self.format {
            WriteFormat::Safetensors => commit(path, overwrite, |file| {
                safetensors::write(path, file, tensors, self.metadata, progress)
            }),
            WriteFormat::Burnpack => {
                let bytes = tensors.iter().map(Outgoing::bytes).sum();
                let deferred = tensors.into_iter().map(|tensor| {
                    let (len, id) = (tensor.bytes() as usize, tensor.param_id);
                    let (name, dtype, shape) =
                        (tensor.name.clone(), tensor.dtype, tensor.shape.clone());
                    let produce =
                        move || tensor.produce().map_err(burn_pack::Error::ValidationError);
                    burn_pack::Tensor::deferred(name, dtype, shape, id, len, produce)
                });
                let writer = Writer::new(deferred.collect());
                let metadata = self.metadata.iter();
                let writer = metadata.fold(writer, |writer, (key, text)| {
                    writer.with_metadata(key, text)
                });
                let writer = writer.auto_extension(false).overwrite(overwrite);
                writer
                    .write_to_file(path)
                    .map_err(|error| CheckpointError::pack(path, error))?;
                progress.add(bytes);
                Ok(())
            }
        }
    }

    /// Shards under names that no file has, then the index.
    fn shards(
        &self,
        path: &Path,
        parts: Vec<Vec<Outgoing>>,
        bytes: u64,
        overwrite: bool,
        progress: &mut Progress,
    ) -> Result<Vec<PathBuf>, CheckpointError> {
        let count = parts.len();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let extension = match path.extension() {
            Some(extension) => extension.to_string_lossy().into_owned(),
            None => self.format.extension().to_owned(),
        };
        let name = |generation: u32, part: usize| {
            let generation = match generation {
                0 => String::new(),
                generation => format!(".{generation}"),
            };
            format!(
                "{stem}{generation}-{:05}-of-{count:05}.{extension}",
                part + 1
            )
        };
        let is_free = |generation: &u32| {
            let mut parts = 0..count;
            parts.all(|part| {
                fs::symlink_metadata(path.with_file_name(name(*generation, part))).is_err()
            })
        };
        let generation = (0..).find(is_free).expect("some number is free");
        let mut weight_map = BTreeMap::new();
        let mut unfinished = Unfinished(Vec::new());
        for (part, tensors) in parts.into_iter().enumerate() {
            let name = name(generation, part);
            for tensor in &tensors {
                weight_map.insert(tensor.name.clone(), name.clone());
            }
            let file = path.with_file_name(name);
            self.file(&file, tensors, false, progress)?;
            unfinished.0.push(file);
        }
        let mut metadata: BTreeMap<&str, serde_json::Value> = self
            .metadata
            .iter()
            .map(|(key, text)| (key.as_str(), text.as_str().into()))
            .collect();
        metadata.insert("total_size", bytes.into());
        let json = serde_json::json!({ "metadata": metadata, "weight_map": weight_map });
        let index = index_path(path);
        commit(&index, overwrite, |mut file| {
            let json = serde_json::to_vec_pretty(&json).expect("texts and numbers");
            file.write_all(&json)
                .map_err(|error| CheckpointError::io(&index, &error))
        })?;
        Ok(std::mem::take(&mut unfinished.0))
    }
}

/// Shards that no index names yet.
struct Unfinished(Vec<PathBuf>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        for file in &self.0 {
            let _ = fs::remove_file(file);
        }
    }
}

/// Write beside `path`, synchronise, rename.
fn commit(
    path: &Path,
    overwrite: bool,
    fill: impl FnOnce(fs::File) -> Result<(), CheckpointError>,
) -> Result<(), CheckpointError> {
    let failed = |error| CheckpointError::pack(path, error);
    let (scratch, file) = AtomicFile::create(path).map_err(failed)?;
    fill(file)?;
    match overwrite {
        true => scratch.commit().map_err(failed),
        false => scratch.commit_new().map_err(failed),
    }
}
