//! The index of a sharded checkpoint: which file each tensor is in.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path};

use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor};

use crate::error::CheckpointError;

/// An index is JSON of a line a tensor; a larger one is none.
pub(crate) const MAX_INDEX: u64 = 100_000_000;

/// A sound index.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    /// Its own metadata, where it is text.
    pub(crate) metadata: BTreeMap<String, String>,
    /// The file of each tensor.
    pub(crate) files: BTreeMap<String, String>,
}

pub(crate) fn parse(path: &Path, json: &[u8]) -> Result<Index, CheckpointError> {
    #[derive(Deserialize)]
    struct Json {
        #[serde(default)]
        metadata: BTreeMap<String, serde_json::Value>,
        weight_map: Unique,
    }
    let json: Json = serde_json::from_slice(json).map_err(|error| CheckpointError::Index {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    let files = json.weight_map.0;
    for (tensor, shard) in &files {
        let mut parts = Path::new(shard).components();
        let plain = matches!(
            (parts.next(), parts.next()),
            (Some(Component::Normal(_)), None)
        );
        // A separator of another system is none on this one.
        if !plain || shard.contains(['/', '\\', ':']) {
            return Err(CheckpointError::ShardOutside {
                path: path.to_owned(),
                tensor: tensor.clone(),
                shard: shard.clone(),
            });
        }
    }
    let text = |(key, value): (String, serde_json::Value)| match value {
        serde_json::Value::String(value) => Some((key, value)),
        _ => None,
    };
    Ok(Index {
        metadata: json.metadata.into_iter().filter_map(text).collect(),
        files,
    })
}

/// A map in which no name is twice.
struct Unique(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct UniqueVisitor;
        impl<'de> Visitor<'de> for UniqueVisitor {
            type Value = Unique;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of file names")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unique, A::Error> {
                let mut files = BTreeMap::new();
                while let Some((name, file)) = map.next_entry::<String, String>()? {
                    if let Some(first) = files.insert(name.clone(), file.clone()) {
                        return Err(de::Error::custom(format!(
                            "`{name}` is there twice, in {first:?} and in {file:?}"
                        )));
                    }
                }
                Ok(Unique(files))
            }
        }
        deserializer.deserialize_map(UniqueVisitor)
    }
}
