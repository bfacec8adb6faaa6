//! A checkpoint: one file of tensors, or several with an index.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::dtype::FileDType;
use crate::error::CheckpointError;
use crate::folder::{self, Found};
use crate::index::{self, Index, MAX_INDEX};
use crate::nearest::hint;
use crate::safetensors::{self, Record};
use crate::shard::{Format, Read, Reading, Shard};
use crate::storage::Storage;

/// An open checkpoint. Opening reads headers only; a shard is opened when one of its tensors is
/// asked for. Each file is opened once.
///
/// ```
/// use burn_weights::{Checkpoint, FileDType, Outgoing, Reading, WriteOptions, write};
/// use burn_std::{Bytes, DType};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("small.safetensors");
/// let tensor = Outgoing::new("bias", DType::F32, [2], || Ok(Bytes::from_elems(vec![1_f32, 2.0])));
/// write(&path, vec![tensor], &WriteOptions::default())?;
///
/// let checkpoint = Checkpoint::open(&path)?;
/// let bias = checkpoint.tensor("bias")?;
/// assert_eq!((bias.dtype, bias.shape), (FileDType::Burn(DType::F32), vec![2]));
/// let bytes = checkpoint.read("bias", None, Reading::Map)?.bytes;
/// assert_eq!(bytes[..4], 1_f32.to_le_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoint(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    shards: Vec<Lazy>,
    /// The shard of each tensor.
    names: BTreeMap<String, usize>,
    metadata: BTreeMap<String, String>,
    is_sharded: bool,
}

/// A shard that is opened when it is needed.
#[derive(Debug)]
struct Lazy {
    path: PathBuf,
    shard: OnceLock<Result<Shard, CheckpointError>>,
}

/// What a file says of one tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Its name in the file.
    pub name: String,
    /// Its dtype.
    pub dtype: FileDType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its bytes.
    pub bytes: u64,
    /// The file that it is in.
    pub file: PathBuf,
    /// Where it begins in that file, in bytes; a PyTorch file has no such place.
    pub offset: Option<u64>,
}

/// What one file of a checkpoint has in it, whatever an index says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
    /// Its bytes.
    pub bytes: u64,
    /// Names and texts that its writer added.
    pub metadata: BTreeMap<String, String>,
    /// The names of its tensors, sorted.
    pub names: Vec<String>,
}

impl Checkpoint {
    /// Open a file, an index of shards, or a folder that holds one checkpoint. The content tells
    /// the format, not the name. Symbolic links are followed, as hubs' caches consist of them; an
    /// index may name files of its own folder only.
    ///
    /// # Errors
    /// [`CheckpointError`] for whatever is wrong with a header that is read now: all of a single
    /// file's, the index of a sharded one. Nothing is allocated beyond the size of the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, CheckpointError> {
        let path = path.as_ref();
        let metadata = fs::metadata(path).map_err(|error| CheckpointError::io(path, &error))?;
        if metadata.is_dir() {
            return match folder::find(path)? {
                Found::File(file) => Self::open(file),
                Found::Parts(files) => Self::open_parts(path, &files),
            };
        }
        let storage = Storage::open(path)?;
        let begins = storage.beginning(16)?;
        // A header of 123 bytes announces itself with a brace as well.
        if begins[0] == b'{' && !safetensors::is(&begins) {
            return Self::open_index(&storage);
        }
        Self::single(Shard::new(storage)?)
    }

    /// A checkpoint that the program holds, in safetensors or burnpack: `include_bytes!`, or a
    /// download. `name` stands for the path in errors.
    ///
    /// # Errors
    /// As [`open`](Checkpoint::open).
    pub fn from_bytes(
        name: impl AsRef<Path>,
        bytes: impl Into<bytes::Bytes>,
    ) -> Result<Self, CheckpointError> {
        Self::single(Shard::new(Storage::memory(name.as_ref(), bytes.into())?)?)
    }

    fn single(shard: Shard) -> Result<Self, CheckpointError> {
        Ok(Self::of(shard.path().to_owned(), vec![shard], false))
    }

    /// Files whose tensors are known.
    fn of(path: PathBuf, shards: Vec<Shard>, is_sharded: bool) -> Self {
        let mut names = BTreeMap::new();
        let mut metadata = BTreeMap::new();
        for (place, shard) in shards.iter().enumerate() {
            names.extend(shard.tensors.keys().map(|name| (name.clone(), place)));
            metadata.extend(shard.metadata.clone());
        }
        let shards = shards.into_iter().map(|shard| Lazy {
            path: shard.path().to_owned(),
            shard: OnceLock::from(Ok(shard)),
        });
        Self(Arc::new(Inner {
            path,
            shards: shards.collect(),
            names,
            metadata,
            is_sharded,
        }))
    }

    fn open_index(storage: &Storage) -> Result<Self, CheckpointError> {
        let path = storage.path();
        if storage.len() > MAX_INDEX {
            return Err(CheckpointError::HeaderTooLarge {
                path: path.to_owned(),
                bytes: storage.len(),
                limit: MAX_INDEX,
            });
        }
        let Index { metadata, files } =
            index::parse(path, &storage.beginning(storage.len() as usize)?)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut shards: Vec<Lazy> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut names = BTreeMap::new();
        for (tensor, file) in files {
            let place = match places.get(&file) {
                Some(place) => *place,
                None => {
                    let path = folder.join(&file);
                    // Whether it is there is asked of all; it is opened when it is needed.
                    if !path.is_file() {
                        return Err(CheckpointError::ShardMissing {
                            path: storage.path().to_owned(),
                            tensor,
                            shard: file,
                        });
                    }
                    shards.push(Lazy {
                        path,
                        shard: OnceLock::new(),
                    });
                    places.insert(file, shards.len() - 1);
                    shards.len() - 1
                }
            };
            names.insert(tensor, place);
        }
        Ok(Self(Arc::new(Inner {
            path: path.to_owned(),
            shards,
            names,
            metadata,
            is_sharded: true,
        })))
    }

    /// All parts of a checkpoint without an index.
    fn open_parts(folder: &Path, files: &[PathBuf]) -> Result<Self, CheckpointError> {
        let shards = files.iter().map(|file| Shard::open(file));
        let shards: Vec<Shard> = shards.collect::<Result<_, _>>()?;
        let mut seen = BTreeMap::new();
        for shard in &shards {
            for name in shard.tensors.keys() {
                if seen.insert(name, ()).is_some() {
                    return Err(CheckpointError::DuplicateName {
                        path: shard.path().to_owned(),
                        tensor: name.clone(),
                    });
                }
            }
        }
        Ok(Self::of(folder.to_owned(), shards, true))
    }

    /// What was opened.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Whether it is in several files.
    pub fn is_sharded(&self) -> bool {
        self.0.is_sharded
    }

    /// Its files.
    pub fn files(&self) -> Vec<&Path> {
        self.0
            .shards
            .iter()
            .map(|lazy| lazy.path.as_path())
            .collect()
    }

    /// What each file has in it, in the order of [`files`](Checkpoint::files); an error for one whose
    /// header is not sound. Opens every shard.
    pub fn file_infos(&self) -> impl Iterator<Item = Result<FileInfo, CheckpointError>> {
        (0..self.0.shards.len()).map(|place| {
            let shard = self.shard(place)?;
            Ok(FileInfo {
                path: shard.path().to_owned(),
                format: shard.format,
                bytes: shard.len(),
                metadata: shard.metadata.clone(),
                names: shard.tensors.keys().cloned().collect(),
            })
        })
    }

    /// The file that holds `name`, or should by the index. Opens no shard.
    pub fn file_of(&self, name: &str) -> Option<&Path> {
        let place = self.0.names.get(name)?;
        Some(&self.0.shards[*place].path)
    }

    /// The files that were opened so far.
    pub fn opened(&self) -> Vec<&Path> {
        let shards = self.0.shards.iter();
        let opened = shards.filter(|lazy| lazy.shard.get().is_some());
        opened.map(|lazy| lazy.path.as_path()).collect()
    }

    /// The format of the file that holds `name`.
    ///
    /// # Errors
    /// As [`tensor`](Checkpoint::tensor).
    pub fn format_of(&self, name: &str) -> Result<Format, CheckpointError> {
        Ok(self.find(name)?.0.format)
    }

    /// The format of its first file.
    ///
    /// # Errors
    /// Where that file's header is not sound.
    pub fn format(&self) -> Result<Format, CheckpointError> {
        match self.0.shards.first() {
            Some(_) => Ok(self.shard(0)?.format),
            None => Ok(Format::Safetensors),
        }
    }

    /// Names and texts that its writer added: of the file, or of the index.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.0.metadata
    }

    /// The names of its tensors, sorted. Opens no shard.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.names.keys().map(String::as_str)
    }

    /// Whether there is a tensor of that name. Opens no shard.
    pub fn contains(&self, name: &str) -> bool {
        self.0.names.contains_key(name)
    }

    /// Other names of tensors that are there, as the writer noted in the metadata: `(other, name)`.
    /// The other names of a tie are written so here, and by PyTorch's `save_model`.
    pub fn ties(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.0.metadata.iter();
        pairs
            .map(|(other, name)| (other.as_str(), name.as_str()))
            .filter(|(other, name)| self.contains(name) && !self.contains(other))
    }

    /// What the file says of a tensor. Opens its shard.
    ///
    /// # Errors
    /// [`CheckpointError::NoTensor`], and what is wrong with the shard.
    pub fn tensor(&self, name: &str) -> Result<TensorInfo, CheckpointError> {
        let (shard, record) = self.find(name)?;
        Ok(TensorInfo {
            name: record.name.clone(),
            dtype: record.dtype.clone(),
            shape: record.shape.clone(),
            bytes: record.end - record.start,
            file: shard.path().to_owned(),
            offset: (shard.format != Format::PyTorch).then_some(record.start),
        })
    }

    /// The id of a tensor's parameter, which burnpack keeps and no other format has.
    ///
    /// # Errors
    /// As [`tensor`](Checkpoint::tensor).
    pub fn param_id(&self, name: &str) -> Result<Option<u64>, CheckpointError> {
        Ok(self.find(name)?.1.param_id)
    }

    /// What the files say of all tensors, by name. Opens every shard.
    ///
    /// # Errors
    /// What is wrong with a shard.
    pub fn tensors(&self) -> Result<Vec<TensorInfo>, CheckpointError> {
        self.names().map(|name| self.tensor(name)).collect()
    }

    /// The bytes of a tensor, or a `part` of them: row-major, little-endian, aligned.
    ///
    /// # Panics
    /// When `part` is not within the tensor.
    ///
    /// # Errors
    /// [`CheckpointError::Unsupported`] for a dtype that Burn lacks, [`CheckpointError::NotABool`],
    /// [`CheckpointError::Inflates`], and what the system refuses.
    pub fn read(
        &self,
        name: &str,
        part: Option<Range<u64>>,
        reading: Reading,
    ) -> Result<Read, CheckpointError> {
        let (shard, record) = self.find(name)?;
        let whole = 0..record.end - record.start;
        let part = part.unwrap_or_else(|| whole.clone());
        assert!(
            part.start <= part.end && part.end <= whole.end,
            "{part:?} of the {} bytes of `{name}`",
            whole.end
        );
        shard.read(record, part, reading)
    }

    /// Let the memory of a tensor go, or of a `part` of it, that was read as a view and has been
    /// copied elsewhere. Views of it stay valid; reading them reads the file again.
    ///
    /// # Errors
    /// As [`tensor`](Checkpoint::tensor).
    pub fn release(&self, name: &str, part: Option<Range<u64>>) -> Result<(), CheckpointError> {
        let (shard, record) = self.find(name)?;
        shard.release(record, part.unwrap_or(0..record.end - record.start));
        Ok(())
    }

    fn find(&self, name: &str) -> Result<(&Shard, &Record), CheckpointError> {
        let Some(&place) = self.0.names.get(name) else {
            return Err(CheckpointError::NoTensor {
                path: self.path().to_owned(),
                tensor: name.to_owned(),
                hint: hint(name, self.names()),
            });
        };
        let shard = self.shard(place)?;
        let record = shard.tensors.get(name);
        let record = record.ok_or_else(|| CheckpointError::NotInShard {
            path: shard.path().to_owned(),
            tensor: name.to_owned(),
        })?;
        Ok((shard, record))
    }

    fn shard(&self, place: usize) -> Result<&Shard, CheckpointError> {
        let lazy = &self.0.shards[place];
        let shard = lazy.shard.get_or_init(|| Shard::open(&lazy.path));
        shard.as_ref().map_err(Clone::clone)
    }
}
