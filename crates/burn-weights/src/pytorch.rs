//! PyTorch files, through Burn's own reader, which interprets a pickle as data and runs nothing.
//!
//! What that reader would take too much memory for is refused before it sees it.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use burn_std::{BoolStore, DType};
use pytorch_reader::{PickleValue, PytorchReader, Tensor};
use zip::ZipArchive;

use crate::error::CheckpointError;
use crate::pairs::MAX_RANK;
use crate::pickle::Walk;

/// How a file of the format since PyTorch 1.6 begins, and how the pickles of the one before do.
const ZIP: [u8; 4] = *b"PK\x03\x04";
const PICKLE: u8 = 0x80;

/// Where a tar archive has its mark. The reader would take one that begins like a pickle for what
/// PyTorch 0.1 wrote, and unpack all of it at once.
const TAR: (usize, [u8; 5]) = (257, *b"ustar");

/// The pickles of the format before PyTorch 1.6: what it is, its version, the machine, the object,
/// the order of the storages.
const PICKLES: usize = 5;
const OBJECT: usize = 3;

/// What a pickle may take in memory: this, and that many times the file. Whole models stay far
/// below: a tensor takes some 20,000 bytes here, and has as many itself or comes with some that do.
const FREE: u64 = 256 << 20;
const PER_BYTE: u64 = 8;

/// How often a byte of text is in memory while it is read; and in a message, escaped.
const COPIES: u64 = 4;
const ESCAPED: u64 = 16;

/// A message of the reader may have in it whatever the file has.
const MESSAGE: usize = 500;

pub(crate) fn is(begins: &[u8]) -> bool {
    let is_pickle = matches!(begins, [PICKLE, 0..=5, ..]);
    begins.starts_with(&ZIP) || is_pickle
}

/// The tensors of a file, not yet read.
pub(crate) fn open(path: &Path, len: u64) -> Result<HashMap<String, Tensor>, CheckpointError> {
    let failed = |error: pytorch_reader::PytorchError| refused(path, &error.to_string());
    let io = |error| CheckpointError::io(path, &error);
    let mut source = BufReader::new(File::open(path).map_err(io)?);
    if source.fill_buf().map_err(io)?.starts_with(&ZIP) {
        check_archive(path, len, source)?;
    } else {
        check_stream(path, len, source)?;
    }
    let reader = PytorchReader::new(path).map_err(failed)?;
    for (name, tensor) in reader.tensors() {
        // Putting the values of a strided tensor in order takes time for each dimension.
        let rank = tensor.shape().len();
        if rank > MAX_RANK {
            return Err(refused(path, &format!("`{name}` has {rank} dimensions")));
        }
    }
    let tree = PytorchReader::read_pickle_data(path, None).map_err(failed)?;
    let mut seen = HashSet::new();
    if let Some(tensor) = second_of_a_name(&tree, &mut Vec::new(), &mut seen) {
        let path = path.to_owned();
        return Err(CheckpointError::DuplicateName { path, tensor });
    }
    Ok(reader.into_tensors())
}

pub(crate) fn refused(path: &Path, message: &str) -> CheckpointError {
    let mut message = message.to_owned();
    if let Some((end, _)) = message.char_indices().nth(MESSAGE) {
        message.truncate(end);
        message.push('…');
    }
    let path = path.to_owned();
    CheckpointError::PyTorch { path, message }
}

/// Names are paths through dicts and lists: `a` in `b` and `b.a` are one name for two tensors, of
/// which the reader keeps any.
fn second_of_a_name(
    value: &PickleValue,
    path: &mut Vec<String>,
    seen: &mut HashSet<String>,
) -> Option<String> {
    let items: Vec<(String, &PickleValue)> = match value {
        PickleValue::Dict(dict) => dict
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        PickleValue::List(items) => {
            let items = items.iter().enumerate();
            items
                .map(|(place, value)| (place.to_string(), value))
                .collect()
        }
        // What the reader calls tensors here.
        PickleValue::Unsupported(class) if class == "torch.Tensor" => {
            let name = path.join(".");
            return (!seen.insert(name.clone())).then_some(name);
        }
        _ => return None,
    };
    items.into_iter().find_map(|(key, value)| {
        path.push(key);
        let found = second_of_a_name(value, path, seen);
        path.pop();
        found
    })
}

/// An archive whose entries unpack to more than the archive is. PyTorch stores them as they are, so
/// none that it wrote does.
fn check_archive(path: &Path, len: u64, source: BufReader<File>) -> Result<(), CheckpointError> {
    // What is no archive, Burn's reader tells.
    let Ok(mut archive) = ZipArchive::new(source) else {
        return Ok(());
    };
    let inflates = |entry: String, bytes| CheckpointError::Inflates {
        path: path.to_owned(),
        entry,
        bytes,
        file: len,
    };
    let mut total: u64 = 0;
    let mut pickles = Vec::new();
    for index in 0..archive.len() {
        let Ok(entry) = archive.by_index_raw(index) else {
            continue;
        };
        let name = entry.name().map(|name| name.to_string());
        total = total.saturating_add(entry.size());
        if total > len {
            return Err(inflates(name.unwrap_or_else(|_| "?".to_owned()), total));
        }
        if let Ok(name) = name
            && name.ends_with("data.pkl")
        {
            pickles.push((index, name));
        }
    }
    // The reader takes one of them; which one is its own affair.
    for (index, name) in pickles {
        if let Ok(entry) = archive.by_index(index) {
            // What is packed may go on for longer than it is said to be, which the reader ignores.
            let size = entry.size();
            let mut walk = Walk::new(limit(len));
            let walked = walk.pickle(&mut BufReader::new(entry.take(size)), COPIES);
            walked.map_err(|cost| inflates(name, cost.bytes))?;
        }
    }
    Ok(())
}

/// One pickle after another, and no tar archive.
fn check_stream(path: &Path, len: u64, mut source: BufReader<File>) -> Result<(), CheckpointError> {
    let (place, mark) = TAR;
    let begins = source.fill_buf();
    let begins = begins.map_err(|error| CheckpointError::io(path, &error))?;
    if begins.get(place..place + mark.len()) == Some(&mark) {
        return Err(refused(
            path,
            "a tar archive, as PyTorch before 0.1.10 wrote",
        ));
    }
    let mut walk = Walk::new(limit(len));
    for place in 0..PICKLES {
        let escaped = if place == OBJECT { COPIES } else { ESCAPED };
        match walk.pickle(&mut source, escaped) {
            Ok(true) => {}
            Ok(false) => break,
            Err(cost) => {
                return Err(CheckpointError::Inflates {
                    path: path.to_owned(),
                    entry: format!("pickle {}", place + 1),
                    bytes: cost.bytes,
                    file: len,
                });
            }
        }
    }
    Ok(())
}

fn limit(len: u64) -> u64 {
    len.saturating_mul(PER_BYTE).saturating_add(FREE)
}

pub(crate) fn dtype(dtype: pytorch_reader::DType) -> DType {
    use pytorch_reader::DType as Torch;
    match dtype {
        Torch::F64 => DType::F64,
        Torch::F32 => DType::F32,
        Torch::F16 => DType::F16,
        Torch::BF16 => DType::BF16,
        Torch::I64 => DType::I64,
        Torch::I32 => DType::I32,
        Torch::I16 => DType::I16,
        Torch::I8 => DType::I8,
        Torch::U64 => DType::U64,
        Torch::U32 => DType::U32,
        Torch::U16 => DType::U16,
        Torch::U8 => DType::U8,
        Torch::Bool => DType::Bool(BoolStore::Native),
    }
}
