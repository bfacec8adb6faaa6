//! The index of a sharded checkpoint: which file each tensor is in.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::Deserialize;

use crate::error::CheckpointError;
use crate::pairs::{Pairs, Text};

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
        metadata: Option<Pairs<Text>>,
        weight_map: Pairs<String>,
    }
    let json: Json = serde_json::from_slice(json).map_err(|error| CheckpointError::Index {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    let twice = |tensor| CheckpointError::DuplicateName {
        path: path.to_owned(),
        tensor,
    };
    let files = json.weight_map.unique().map_err(twice)?;
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
    let metadata = json.metadata.unwrap_or_default().unique();
    let texts = metadata.map_err(twice)?.into_iter();
    Ok(Index {
        metadata: texts
            .filter_map(|(key, Text(text))| Some((key, text?)))
            .collect(),
        files,
    })
}
