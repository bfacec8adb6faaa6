//! Tensors to write.

use std::path::Path;

use burn_std::{BoolStore, Bytes, DType};
use burn_weights::{Checkpoint, Outgoing, Reading, WriteFormat, WriteOptions};

pub const FORMATS: [WriteFormat; 2] = [WriteFormat::Safetensors, WriteFormat::Burnpack];

pub const DTYPES: [DType; 13] = [
    DType::F64,
    DType::F32,
    DType::F16,
    DType::BF16,
    DType::I64,
    DType::I32,
    DType::I16,
    DType::I8,
    DType::U64,
    DType::U32,
    DType::U16,
    DType::U8,
    DType::Bool(BoolStore::Native),
];

/// A tensor of these bytes.
pub fn tensor(name: &str, dtype: DType, shape: &[usize], bytes: Vec<u8>) -> Outgoing {
    Outgoing::new(name, dtype, shape, move || {
        Ok(Bytes::from_bytes_vec(bytes.clone()))
    })
}

/// Bytes that are those of any dtype, and differ by `seed`.
pub fn filled(seed: u8, len: usize) -> Vec<u8> {
    (0..len)
        .map(|at| (at as u8).wrapping_add(seed) % 2)
        .collect()
}

/// `count` tensors of `len` bytes each, filled by `seed`.
pub fn many(count: usize, len: usize, seed: u8) -> Vec<Outgoing> {
    let name = |number| format!("layer.{number}");
    let tensors = 0..count;
    tensors
        .map(|number| {
            let bytes = vec![seed.wrapping_add(number as u8); len];
            tensor(&name(number), DType::U8, &[len], bytes)
        })
        .collect()
}

pub fn overwriting() -> WriteOptions {
    WriteOptions {
        overwrite: true,
        ..WriteOptions::default()
    }
}

pub fn sharded(limit: u64) -> WriteOptions {
    WriteOptions {
        max_shard_bytes: Some(limit),
        ..WriteOptions::default()
    }
}

/// The first byte of each tensor.
pub fn seeds(path: &Path) -> Vec<u8> {
    let checkpoint = Checkpoint::open(path).unwrap();
    let first = |name| checkpoint.read(name, None, Reading::Map).unwrap().bytes[0];
    checkpoint.names().map(first).collect()
}
