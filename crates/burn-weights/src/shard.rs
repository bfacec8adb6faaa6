//! One open file of tensors, whatever its format.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::Path;

use burn_std::{AllocationProperty, Bytes, DType};

use crate::dtype::FileDType;
use crate::error::CheckpointError;
use crate::safetensors::Record;
use crate::storage::Storage;
use crate::{burnpack, pytorch, safetensors};

/// The format of a file, as its content says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// safetensors.
    Safetensors,
    /// Burn's own.
    Burnpack,
    /// What `torch.save` writes.
    PyTorch,
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Safetensors => "safetensors",
            Self::Burnpack => "burnpack",
            Self::PyTorch => "PyTorch",
        })
    }
}

/// Whether tensors are views of a map of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Views where the file's layout allows it: no byte is read before it is used.
    #[default]
    Map,
    /// Copies, independent of what becomes of the file.
    Copy,
}

/// The bytes of a tensor, and why they are a copy of the file's where they are.
#[derive(Clone, Debug)]
pub struct Read {
    /// Row-major, little-endian, aligned for the dtype.
    pub bytes: Bytes,
    /// None for a view of the file.
    pub copied: Option<Copied>,
}

/// Why bytes were copied out of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Copied {
    /// It was asked for.
    Asked,
    /// The file has the tensor where its dtype's values cannot be read in place.
    Misaligned,
    /// The format has no tensors that could be read in place: PyTorch's.
    Container,
    /// Bools are checked one by one first.
    Checked,
}

impl std::fmt::Display for Copied {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Asked => "asked for",
            Self::Misaligned => "misaligned in the file",
            Self::Container => "of a PyTorch file",
            Self::Checked => "bools, checked",
        })
    }
}

/// An open file of tensors.
pub(crate) struct Shard {
    storage: Storage,
    pub(crate) format: Format,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) tensors: BTreeMap<String, Record>,
    /// The tensors of a PyTorch file, by name.
    pickled: HashMap<String, pytorch_reader::Tensor>,
}

impl std::fmt::Debug for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Shard");
        debug.field("path", &self.storage.path());
        debug.field("format", &self.format).finish_non_exhaustive()
    }
}

/// What tells formats apart.
const BEGINNING: usize = 16;

impl Shard {
    pub(crate) fn open(path: &Path) -> Result<Self, CheckpointError> {
        Self::new(Storage::open(path)?)
    }

    /// Read the header.
    pub(crate) fn new(storage: Storage) -> Result<Self, CheckpointError> {
        let begins = storage.beginning(BEGINNING)?;
        let path = storage.path();
        let mut pickled = HashMap::new();
        let is_safetensors = safetensors::is(&begins);
        let (format, metadata, records) = if !is_safetensors && burnpack::is(&begins) {
            let (metadata, records) = burnpack::open(&storage)?;
            (Format::Burnpack, metadata, records)
        } else if !is_safetensors && pytorch::is(&begins) {
            if !storage.is_file() {
                return Err(pytorch::refused(path, "it can be read from a file only"));
            }
            pickled = pytorch::open(path, storage.len())?;
            let records = pickled.iter().map(|(name, tensor)| Record {
                name: name.clone(),
                dtype: FileDType::Burn(pytorch::dtype(tensor.dtype())),
                shape: tensor.shape().to_vec(),
                start: 0,
                end: tensor.byte_len() as u64,
                param_id: None,
            });
            (Format::PyTorch, BTreeMap::new(), records.collect())
        } else if is_safetensors || begins.get(8) == Some(&b'{') {
            let length = safetensors::header_length(path, &begins, storage.len())?;
            let mut json = vec![0; length as usize];
            let read = storage.read_at(&mut json, 8);
            read.map_err(|error| CheckpointError::io(path, &error))?;
            let header = safetensors::parse(path, &json, storage.len())?;
            (Format::Safetensors, header.metadata, header.tensors)
        } else {
            return Err(CheckpointError::UnknownFormat {
                path: path.to_owned(),
                begins: begins.escape_ascii().to_string(),
            });
        };
        let records = records.into_iter();
        Ok(Self {
            format,
            metadata,
            tensors: records
                .map(|record| (record.name.clone(), record))
                .collect(),
            pickled,
            storage,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.storage.path()
    }

    /// The bytes of the file.
    pub(crate) fn len(&self) -> u64 {
        self.storage.len()
    }

    /// The bytes `part` of a tensor.
    pub(crate) fn read(
        &self,
        record: &Record,
        part: Range<u64>,
        reading: Reading,
    ) -> Result<Read, CheckpointError> {
        let Some(dtype) = record.dtype.burn() else {
            return Err(CheckpointError::Unsupported {
                path: self.path().to_owned(),
                tensor: record.name.clone(),
                offset: record.start,
                dtype: record.dtype.name(),
            });
        };
        if let Some(tensor) = self.pickled.get(&record.name) {
            return self.unpickle(tensor, part);
        }
        let start = record.start + part.start;
        let len = (part.end - part.start) as usize;
        let is_bool = matches!(dtype, DType::Bool(_));
        let changed = || CheckpointError::Changed {
            path: self.path().to_owned(),
            tensor: record.name.clone(),
            offset: start,
        };
        let copied = match (reading, is_bool) {
            (Reading::Copy, _) => Copied::Asked,
            (_, true) => Copied::Checked,
            _ => {
                let whole = self.storage.view()?;
                if (whole.len() as u64) < start + len as u64 {
                    return Err(changed());
                }
                let start = start as usize;
                let view = whole.slice(start..start + len);
                if (view.as_ptr() as usize).is_multiple_of(dtype.size()) {
                    let bytes = Bytes::from_shared(view, AllocationProperty::File);
                    return Ok(Read {
                        bytes,
                        copied: None,
                    });
                }
                Copied::Misaligned
            }
        };
        // Words, so that the copy is aligned for every dtype.
        let mut words = vec![0_u64; len.div_ceil(8)];
        let bytes = &mut bytemuck::cast_slice_mut(&mut words)[..len];
        self.storage
            .read_at(bytes, start)
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => changed(),
                _ => CheckpointError::io(self.path(), &error),
            })?;
        if let (true, Some(at)) = (is_bool, bytes.iter().position(|byte| *byte > 1)) {
            return Err(CheckpointError::NotABool {
                path: self.path().to_owned(),
                tensor: record.name.clone(),
                offset: start + at as u64,
                value: bytes[at],
            });
        }
        let bytes = Bytes::from_elems(words);
        let bytes = match bytes.len() == len {
            true => bytes,
            false => bytes.shared().view(0, len).expect("a part of shared bytes"),
        };
        let copied = Some(copied);
        Ok(Read { bytes, copied })
    }

    /// Let the memory of a part go that has been copied elsewhere.
    pub(crate) fn release(&self, record: &Record, part: Range<u64>) {
        if self.format != Format::PyTorch {
            let place = |within: u64| record.start.saturating_add(within).min(record.end);
            self.storage.release(place(part.start)..place(part.end));
        }
    }

    fn unpickle(
        &self,
        tensor: &pytorch_reader::Tensor,
        part: Range<u64>,
    ) -> Result<Read, CheckpointError> {
        // A view of one value as a million is small in the file and large in memory.
        let takes = tensor.byte_len() as u64;
        if takes > self.len() {
            return Err(CheckpointError::Inflates {
                path: self.path().to_owned(),
                entry: tensor.name.clone(),
                bytes: takes,
                file: self.len(),
            });
        }
        let bytes = tensor
            .read()
            .map_err(|error| pytorch::refused(self.path(), &error.to_string()))?;
        let whole = part == (0..takes);
        let bytes = Bytes::from_bytes_vec(bytes);
        let bytes = match whole {
            true => bytes,
            false => {
                let shared = bytes.shared();
                let part = shared.view(part.start as usize, part.end as usize);
                part.expect("a part of shared bytes")
            }
        };
        let copied = Some(Copied::Container);
        Ok(Read { bytes, copied })
    }
}
