//! PyTorch files, through Burn's own reader, which interprets a pickle as data and runs nothing.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use burn_std::{BoolStore, DType};
use pytorch_reader::PytorchReader;
use zip::ZipArchive;

use crate::error::CheckpointError;

/// How a file of the format since PyTorch 1.6 begins, and how the pickles of the one before do.
const ZIP: [u8; 4] = *b"PK\x03\x04";
const PICKLE: u8 = 0x80;

pub(crate) fn is(begins: &[u8]) -> bool {
    let is_pickle = matches!(begins, [PICKLE, 0..=5, ..]);
    begins.starts_with(&ZIP) || is_pickle
}

/// The tensors of a file, not yet read.
pub(crate) fn open(
    path: &Path,
    len: u64,
) -> Result<HashMap<String, pytorch_reader::Tensor>, CheckpointError> {
    refuse_inflating_entries(path, len)?;
    let reader = PytorchReader::new(path).map_err(|error| CheckpointError::PyTorch {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    Ok(reader.into_tensors())
}

/// An archive whose entries unpack to more than the archive is. PyTorch stores them as they are, so
/// none that it wrote does.
fn refuse_inflating_entries(path: &Path, len: u64) -> Result<(), CheckpointError> {
    let file = File::open(path).map_err(|error| CheckpointError::io(path, &error))?;
    // What is no archive, Burn's reader tells.
    let Ok(mut archive) = ZipArchive::new(BufReader::new(file)) else {
        return Ok(());
    };
    let mut total: u64 = 0;
    for index in 0..archive.len() {
        let Ok(entry) = archive.by_index_raw(index) else {
            continue;
        };
        total = total.saturating_add(entry.size());
        if total > len {
            return Err(CheckpointError::Inflates {
                path: path.to_owned(),
                entry: entry
                    .name()
                    .map_or_else(|_| "?".to_owned(), |name| name.to_string()),
                bytes: total,
                file: len,
            });
        }
    }
    Ok(())
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
