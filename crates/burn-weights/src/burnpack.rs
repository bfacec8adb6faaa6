//! The header of a burnpack file: ten bytes, CBOR, then the data of every tensor at a multiple of
//! 256 bytes.
//!
//! Burn's own reader keeps one of two tensors of one name, lets tensors overlap, and tells no
//! offsets; so the CBOR is read here, into the same checks as safetensors. The tests compare both
//! readers on the same files.

use std::collections::BTreeMap;
use std::path::Path;

use burn_pack::{
    FORMAT_VERSION, HEADER_SIZE, Header, MAX_CBOR_RECURSION_DEPTH, MAX_METADATA_SIZE,
    aligned_data_section_start,
};
use burn_std::{BoolStore, DType};
use ciborium::de::Error as CborError;
use serde::Deserialize;

use crate::dtype::{FileDType, TooLarge};
use crate::error::CheckpointError;
use crate::pairs::{Dims, Pairs};
use crate::safetensors::Record;
use crate::storage::Storage;

/// The first bytes of a burnpack file.
pub(crate) fn is(begins: &[u8]) -> bool {
    let magic = begins.first_chunk().map(|magic| u32::from_le_bytes(*magic));
    magic == Some(burn_pack::MAGIC_NUMBER)
}

#[derive(Deserialize)]
struct Metadata {
    tensors: Pairs<Descriptor>,
    #[serde(default)]
    metadata: Pairs<String>,
}

#[derive(Deserialize)]
struct Descriptor {
    dtype: DType,
    shape: Dims,
    data_offsets: (u64, u64),
    #[serde(default)]
    param_id: Option<u64>,
}

/// Its metadata and its tensors, all of them checked.
pub(crate) fn open(
    storage: &Storage,
) -> Result<(BTreeMap<String, String>, Vec<Record>), CheckpointError> {
    let path = storage.path();
    let truncated = |expected| CheckpointError::Truncated {
        path: path.to_owned(),
        expected,
        found: storage.len(),
    };
    let begins = storage.beginning(HEADER_SIZE)?;
    if begins.len() < HEADER_SIZE {
        return Err(truncated(HEADER_SIZE as u64));
    }
    let header = Header::from_bytes(&begins).map_err(|error| CheckpointError::pack(path, error))?;
    if header.version > FORMAT_VERSION {
        return Err(CheckpointError::Burnpack {
            path: path.to_owned(),
            message: format!(
                "it has version {} of the format, and {FORMAT_VERSION} is the last one known",
                header.version
            ),
        });
    }
    if header.metadata_size > MAX_METADATA_SIZE {
        return Err(CheckpointError::HeaderTooLarge {
            path: path.to_owned(),
            bytes: header.metadata_size.into(),
            limit: MAX_METADATA_SIZE.into(),
        });
    }
    let end = HEADER_SIZE as u64 + u64::from(header.metadata_size);
    if end > storage.len() {
        return Err(truncated(end));
    }
    let mut cbor = vec![0; header.metadata_size as usize];
    let read = storage.read_at(&mut cbor, HEADER_SIZE as u64);
    read.map_err(|error| CheckpointError::io(path, &error))?;
    let Metadata { tensors, metadata } = parse(path, &cbor)?;
    let twice = |tensor| CheckpointError::DuplicateName {
        path: path.to_owned(),
        tensor,
    };
    let metadata = metadata.unique().map_err(twice)?;
    let tensors = tensors.unique().map_err(twice)?;
    let first = aligned_data_section_start(cbor.len()) as u64;
    let data = storage.len().saturating_sub(first);
    let records = tensors.into_iter().map(|(name, descriptor)| {
        let record = record(path, name, descriptor, first, data)?;
        Ok(record)
    });
    let mut records = records.collect::<Result<Vec<Record>, CheckpointError>>()?;
    check_overlap(path, &mut records, first)?;
    Ok((metadata, records))
}

fn parse(path: &Path, cbor: &[u8]) -> Result<Metadata, CheckpointError> {
    let parsed = ciborium::de::from_reader_with_recursion_limit(cbor, MAX_CBOR_RECURSION_DEPTH);
    parsed.map_err(|error: CborError<_>| {
        let offset = match &error {
            CborError::Syntax(offset) | CborError::Semantic(Some(offset), _) => *offset,
            CborError::Io(_) => cbor.len(),
            _ => 0,
        };
        CheckpointError::Header {
            path: path.to_owned(),
            offset: (HEADER_SIZE + offset) as u64,
            message: match error {
                CborError::Io(_) => "the CBOR ends within a value".to_owned(),
                CborError::Syntax(_) => "no CBOR".to_owned(),
                CborError::Semantic(_, message) => message,
                CborError::RecursionLimitExceeded => "nested too deeply".to_owned(),
            },
        }
    })
}

/// A tensor within the `data` bytes from `first`, with the bytes of its shape.
fn record(
    path: &Path,
    name: String,
    descriptor: Descriptor,
    first: u64,
    data: u64,
) -> Result<Record, CheckpointError> {
    let (start, end) = descriptor.data_offsets;
    let shape = descriptor.shape.0;
    if start > end || end > data {
        return Err(CheckpointError::OutOfRange {
            path: path.to_owned(),
            tensor: name,
            start,
            end,
            data,
        });
    }
    // Quantised values are packed, with their scales behind them.
    let takes = match descriptor.dtype {
        DType::QFloat(_) => end - start,
        dtype => match FileDType::Burn(dtype).bytes(&shape) {
            Ok(takes) => takes.unwrap_or(end - start),
            Err(TooLarge) => u64::MAX,
        },
    };
    if takes != end - start {
        return Err(CheckpointError::WrongSize {
            path: path.to_owned(),
            tensor: name,
            offset: first + start,
            shape,
            dtype: FileDType::Burn(descriptor.dtype).name(),
            expected: takes,
            found: end - start,
        });
    }
    Ok(Record {
        name,
        dtype: match descriptor.dtype {
            DType::QFloat(scheme) => FileDType::Foreign(format!("QFloat({:?})", scheme.value)),
            DType::Bool(BoolStore::U32) => FileDType::Foreign("BOOL32".to_owned()),
            // A byte as well.
            DType::Bool(BoolStore::U8) => FileDType::Burn(DType::Bool(BoolStore::Native)),
            dtype => FileDType::Burn(dtype),
        },
        shape,
        start: first + start,
        end: first + end,
        param_id: descriptor.param_id,
    })
}

/// Tensors may leave gaps, to be aligned, and share no bytes.
fn check_overlap(path: &Path, records: &mut [Record], first: u64) -> Result<(), CheckpointError> {
    records.sort_by_key(|record| (record.start, record.end));
    let mut free = first;
    for record in records {
        if record.start < free && record.start < record.end {
            return Err(CheckpointError::NotAdjacent {
                path: path.to_owned(),
                tensor: record.name.clone(),
                start: record.start - first,
                expected: free - first,
            });
        }
        free = free.max(record.end);
    }
    Ok(())
}
