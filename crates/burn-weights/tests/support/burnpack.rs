//! burnpack from CBOR.

use burn_pack::{Header, aligned_data_section_start};
use ciborium::Value;

pub fn file(cbor: &[u8], data: &[u8]) -> Vec<u8> {
    let mut file = Header::new(cbor.len() as u32).into_bytes().to_vec();
    file.extend(cbor);
    file.resize(aligned_data_section_start(cbor.len()), 0);
    file.extend(data);
    file
}

pub fn cbor(value: &Value) -> Vec<u8> {
    let mut cbor = Vec::new();
    ciborium::into_writer(value, &mut cbor).unwrap();
    cbor
}

pub fn map(entries: Vec<(&str, Value)>) -> Value {
    let entries = entries.into_iter();
    Value::Map(entries.map(|(name, value)| (name.into(), value)).collect())
}

pub fn tensor(dtype: &str, shape: &[u64], start: u64, end: u64) -> Value {
    let numbers =
        |numbers: &[u64]| Value::Array(numbers.iter().map(|number| (*number).into()).collect());
    map(vec![
        ("dtype", dtype.into()),
        ("shape", numbers(shape)),
        ("data_offsets", numbers(&[start, end])),
    ])
}

/// A file of such tensors, whose data are `len` bytes that count up.
pub fn of(tensors: Vec<(&str, Value)>, len: usize) -> Vec<u8> {
    let metadata = map(vec![("tensors", map(tensors))]);
    let data: Vec<u8> = (0..len).map(|byte| byte as u8).collect();
    file(&cbor(&metadata), &data)
}

/// A file with two tensors, metadata and a number.
pub fn sample() -> Vec<u8> {
    let texts = map(vec![("producer", "a test".into())]);
    let number = map(vec![("epoch", map(vec![("UInt", 3.into())]))]);
    let tensors = map(vec![
        ("bias", tensor("F16", &[3], 0, 6)),
        ("weight", tensor("F32", &[2, 3], 256, 280)),
    ]);
    let metadata = map(vec![
        ("tensors", tensors),
        ("metadata", texts),
        ("scalars", number),
    ]);
    file(&cbor(&metadata), &[7; 280])
}
