//! A safetensors file: the length of the header, the header, the data.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::Outgoing;
use super::job::Progress;
use crate::dtype::FileDType;
use crate::error::CheckpointError;
use crate::safetensors::MAX_HEADER;

/// Where data begins is a multiple of this, so that a map of the file has each tensor aligned.
const ALIGNMENT: usize = 64;

pub(super) fn write(
    path: &Path,
    mut file: File,
    mut tensors: Vec<Outgoing>,
    metadata: &BTreeMap<String, String>,
    progress: &mut Progress,
) -> Result<(), CheckpointError> {
    // Wide values first, so that every tensor is aligned for its own.
    tensors.sort_by_key(|tensor| std::cmp::Reverse(tensor.dtype.size()));
    let failed = |error: io::Error| CheckpointError::io(path, &error);
    let header = header(&tensors, metadata);
    let bytes = header.len() as u64 - 8;
    if bytes > MAX_HEADER {
        return Err(CheckpointError::HeaderTooLarge {
            path: path.to_owned(),
            bytes,
            limit: MAX_HEADER,
        });
    }
    file.write_all(&header).map_err(failed)?;
    for tensor in tensors {
        let bytes = tensor
            .produce()
            .map_err(|message| CheckpointError::Produce {
                path: path.to_owned(),
                tensor: tensor.name.clone(),
                message,
            })?;
        file.write_all(&bytes).map_err(failed)?;
        progress.add(bytes.len() as u64);
    }
    Ok(())
}

fn header(tensors: &[Outgoing], metadata: &BTreeMap<String, String>) -> Vec<u8> {
    let mut header = Map::new();
    if !metadata.is_empty() {
        header.insert("__metadata__".to_owned(), json!(metadata));
    }
    let mut start = 0;
    for tensor in tensors {
        let end = start + tensor.bytes();
        let entry: Value = json!({
            "dtype": FileDType::Burn(tensor.dtype).name(),
            "shape": tensor.shape,
            "data_offsets": [start, end],
        });
        header.insert(tensor.name.clone(), entry);
        start = end;
    }
    let mut json = serde_json::to_vec(&header).expect("texts and numbers");
    // Spaces after the JSON are part of the format.
    let padded = (8 + json.len()).next_multiple_of(ALIGNMENT) - 8;
    json.resize(padded, b' ');
    let mut bytes = (json.len() as u64).to_le_bytes().to_vec();
    bytes.extend(json);
    bytes
}
