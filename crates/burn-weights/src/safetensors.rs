//! The header of a safetensors file: eight bytes of length, JSON, then the data of every tensor
//! without a gap.
//!
//! The format's own crate refuses a whole file for one dtype that it does not know, keeps one of two
//! tensors of one name, and tells no offsets; so the few lines of JSON are read here, into the same
//! checks. The tests compare both readers on the same files.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, MapAccess, Visitor};

use crate::dtype::{FileDType, TooLarge};
use crate::error::CheckpointError;
use crate::pairs::{Dims, Pairs};

/// What the format's own crate accepts.
pub(crate) const MAX_HEADER: u64 = 100_000_000;

/// The name that is no tensor's.
pub(crate) const METADATA: &str = "__metadata__";

/// A sound header.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) tensors: Vec<Record>,
}

/// One tensor in a header, with absolute offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) dtype: FileDType,
    pub(crate) shape: Vec<usize>,
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The id of its parameter, which burnpack keeps.
    pub(crate) param_id: Option<u64>,
}

/// How a file begins that has a header of an acceptable length. Asked before anything else is: such
/// a length may begin as an index does, or a pickle.
pub(crate) fn is(begins: &[u8]) -> bool {
    let length = begins
        .first_chunk()
        .map(|length| u64::from_le_bytes(*length));
    length.is_some_and(|length| length <= MAX_HEADER) && begins.get(8) == Some(&b'{')
}

/// The length of the header that `begins` a file of `file` bytes announces.
pub(crate) fn header_length(path: &Path, begins: &[u8], file: u64) -> Result<u64, CheckpointError> {
    let truncated = |expected| CheckpointError::Truncated {
        path: path.to_owned(),
        expected,
        found: file,
    };
    let Some(length) = begins.first_chunk::<8>() else {
        return Err(truncated(8));
    };
    let length = u64::from_le_bytes(*length);
    if length > MAX_HEADER {
        return Err(CheckpointError::HeaderTooLarge {
            path: path.to_owned(),
            bytes: length,
            limit: MAX_HEADER,
        });
    }
    if length + 8 > file {
        return Err(truncated(length + 8));
    }
    Ok(length)
}

/// Read a header, the JSON after the length, of a file of `file` bytes, and check all of it.
pub(crate) fn parse(path: &Path, json: &[u8], file: u64) -> Result<Header, CheckpointError> {
    let mut trouble = Trouble::default();
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let parsed = HeaderSeed(&mut trouble)
        .deserialize(&mut deserializer)
        .and_then(|header| deserializer.end().map(|()| header));
    if let Some(tensor) = trouble.twice {
        let path = path.to_owned();
        return Err(CheckpointError::DuplicateName { path, tensor });
    }
    let mut header = parsed.map_err(|error| CheckpointError::Header {
        path: path.to_owned(),
        offset: 8 + position(json, &error),
        message: match trouble.within {
            Some(tensor) => format!("`{tensor}`: {error}"),
            None => error.to_string(),
        },
    })?;
    let first = json.len() as u64 + 8;
    check(path, &header.tensors, first, file.saturating_sub(first))?;
    for record in &mut header.tensors {
        record.start += first;
        record.end += first;
    }
    Ok(header)
}

/// Where in `json` an error is.
fn position(json: &[u8], error: &serde_json::Error) -> u64 {
    let lines = json.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    (before + error.column().saturating_sub(1)) as u64
}

/// Every tensor has the bytes of its shape, and together they have all the data, each byte once.
fn check(path: &Path, records: &[Record], first: u64, data: u64) -> Result<(), CheckpointError> {
    let path = || path.to_owned();
    let mut order: Vec<&Record> = records.iter().collect();
    order.sort_by_key(|record| (record.start, record.end));
    let mut free = 0;
    for record in order {
        let &Record { start, end, .. } = record;
        let tensor = || record.name.clone();
        if start > end || end > data {
            return Err(CheckpointError::OutOfRange {
                path: path(),
                tensor: tensor(),
                start,
                end,
                data,
            });
        }
        let takes = match record.dtype.bytes(&record.shape) {
            Ok(takes) => takes.unwrap_or(end - start),
            Err(TooLarge) => u64::MAX,
        };
        if takes != end - start {
            return Err(CheckpointError::WrongSize {
                path: path(),
                tensor: tensor(),
                offset: first + start,
                shape: record.shape.clone(),
                dtype: record.dtype.name(),
                expected: takes,
                found: end - start,
            });
        }
        if start != free {
            return Err(CheckpointError::NotAdjacent {
                path: path(),
                tensor: tensor(),
                start,
                expected: free,
            });
        }
        free = end;
    }
    if free != data {
        return Err(CheckpointError::NotAdjacent {
            path: path(),
            tensor: "end of file".to_owned(),
            start: data,
            expected: free,
        });
    }
    Ok(())
}

/// What an error of JSON has no room for.
#[derive(Default)]
struct Trouble {
    /// A name that is there twice.
    twice: Option<String>,
    /// The tensor whose entry was being read.
    within: Option<String>,
}

/// Reads the outer object.
struct HeaderSeed<'d>(&'d mut Trouble);

impl<'de> DeserializeSeed<'de> for HeaderSeed<'_> {
    type Value = Header;

    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Header, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for HeaderSeed<'_> {
    type Value = Header;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header, A::Error> {
        let mut header = Header::default();
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if names.contains(&name) {
                self.0.twice = Some(name);
                return Err(de::Error::custom("a name is there twice"));
            }
            names.insert(name.clone());
            if name == METADATA {
                let texts: Option<Pairs<String>> = map.next_value()?;
                match texts.unwrap_or_default().unique() {
                    Ok(texts) => header.metadata = texts,
                    Err(name) => {
                        self.0.twice = Some(name);
                        return Err(de::Error::custom("a name is there twice"));
                    }
                }
            } else {
                self.0.within = Some(name);
                let entry: Entry = map.next_value()?;
                let name = self.0.within.take().unwrap_or_default();
                let [start, end] = entry.data_offsets;
                header.tensors.push(Record {
                    name,
                    dtype: FileDType::of_name(&entry.dtype),
                    shape: entry.shape.0,
                    start,
                    end,
                    param_id: None,
                });
            }
        }
        Ok(header)
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an object with dtype, shape and data_offsets")]
struct Entry {
    dtype: String,
    shape: Dims,
    data_offsets: [u64; 2],
}
