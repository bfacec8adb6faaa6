//! safetensors from a header's text.

use std::ops::Range;

pub fn file(header: &str, data: &[u8]) -> Vec<u8> {
    announcing(header.len() as u64, header, data)
}

/// A header that is said to have `length` bytes.
pub fn announcing(length: u64, header: &str, data: &[u8]) -> Vec<u8> {
    [&length.to_le_bytes(), header.as_bytes(), data].concat()
}

/// `"name": {…}`.
pub fn entry(name: &str, dtype: &str, shape: &[u64], offsets: Range<u64>) -> String {
    format!(
        r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{},{}]}}"#,
        offsets.start, offsets.end
    )
}

/// A file of such entries, whose data are `len` bytes that count up.
pub fn of(entries: &[String], len: usize) -> Vec<u8> {
    let data: Vec<u8> = (0..len).map(|byte| byte as u8).collect();
    file(&format!("{{{}}}", entries.join(",")), &data)
}

/// A file with a tensor of each of a few dtypes, and metadata.
pub fn sample() -> Vec<u8> {
    let entries = [
        r#""__metadata__":{"format":"pt","alias":"linear.weight"}"#.to_owned(),
        entry("linear.weight", "F32", &[2, 3], 0..24),
        entry("linear.bias", "BF16", &[3], 24..30),
        entry("mask", "BOOL", &[2], 30..32),
        entry("scale", "F8_E4M3", &[4], 32..36),
        entry("empty", "I64", &[0, 3], 36..36),
        entry("step", "I64", &[], 36..44),
    ];
    let mut file = of(&entries, 44);
    let mask = file.len() - 14;
    file[mask..mask + 2].copy_from_slice(&[0, 1]);
    file
}
