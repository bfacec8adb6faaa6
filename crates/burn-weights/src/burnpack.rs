//! burnpack, through Burn's own reader.

use std::collections::BTreeMap;

use burn_pack::Reader;
use burn_std::{AllocationProperty, Bytes, DType};

use crate::dtype::FileDType;
use crate::error::CheckpointError;
use crate::safetensors::Record;
use crate::storage::Storage;

/// The first bytes of a burnpack file.
pub(crate) fn is(begins: &[u8]) -> bool {
    let magic = begins.first_chunk().map(|magic| u32::from_le_bytes(*magic));
    magic == Some(burn_pack::MAGIC_NUMBER)
}

/// Its metadata and its tensors. Burn's reader takes them from a view of the whole file and looks
/// at the header only.
pub(crate) fn open(
    storage: &Storage,
) -> Result<(BTreeMap<String, String>, Vec<Record>), CheckpointError> {
    let failed = |error| CheckpointError::pack(storage.path(), error);
    let whole = storage.view()?;
    let base = whole.as_ptr() as usize;
    let reader = Reader::from_bytes(Bytes::from_shared(whole.clone(), AllocationProperty::File));
    let reader = reader.map_err(failed)?;
    let metadata = reader.metadata().clone();
    let mut records = Vec::new();
    for tensor in reader.into_tensors().map_err(failed)? {
        let (name, dtype, shape, param_id, bytes) = tensor.into_parts().map_err(failed)?;
        // The view lies in the file: where it does is where the tensor does.
        let start = (bytes.as_ptr() as usize - base) as u64;
        let shape = shape.as_slice().to_vec();
        let dtype = match dtype {
            DType::QFloat(scheme) => FileDType::Foreign(format!("QFloat({:?})", scheme.value)),
            DType::Bool(burn_std::BoolStore::U32) => FileDType::Foreign("BOOL32".to_owned()),
            dtype => FileDType::Burn(dtype),
        };
        records.push(Record {
            end: start + bytes.len() as u64,
            name,
            dtype,
            shape,
            start,
            param_id,
        });
    }
    Ok((metadata, records))
}
