//! Files written one after another, and what becomes of them when one fails.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use burn_pack::{AtomicFile, Writer};

use super::{OnProgress, Outgoing, WriteFormat, index_path, safetensors};
use crate::error::CheckpointError;

pub(super) struct Progress {
    pub(super) done: u64,
    pub(super) total: u64,
    pub(super) report: Option<OnProgress>,
}

impl Progress {
    pub(super) fn add(&mut self, bytes: u64) {
        self.done += bytes;
        if let Some(report) = &self.report {
            report(self.done, self.total);
        }
    }
}

pub(super) struct Job<'o> {
    pub(super) format: WriteFormat,
    pub(super) metadata: &'o BTreeMap<String, String>,
}

impl Job<'_> {
    pub(super) fn file(
        &self,
        path: &Path,
        tensors: Vec<Outgoing>,
        overwrite: bool,
        progress: &mut Progress,
    ) -> Result<(), CheckpointError> {
        match self.format {
            WriteFormat::Safetensors => commit(path, overwrite, |file| {
                safetensors::write(path, file, tensors, self.metadata, progress)
            }),
            WriteFormat::Burnpack => self.burnpack(path, tensors, overwrite, progress),
        }
    }

    fn burnpack(
        &self,
        path: &Path,
        tensors: Vec<Outgoing>,
        overwrite: bool,
        progress: &mut Progress,
    ) -> Result<(), CheckpointError> {
        let bytes = tensors.iter().map(Outgoing::bytes).sum();
        // Burn's writer passes on a text; the error that names the tensor waits here.
        let produced = Arc::new(Mutex::new(None));
        let deferred = tensors.into_iter().map(|tensor| {
            let (len, id) = (tensor.bytes() as usize, tensor.param_id);
            let (name, dtype, shape) = (tensor.name.clone(), tensor.dtype, tensor.shape.clone());
            let (path, produced) = (path.to_owned(), Arc::clone(&produced));
            let produce = move || {
                tensor.produce().map_err(|message| {
                    let mut produced = produced.lock().unwrap_or_else(PoisonError::into_inner);
                    *produced = Some(CheckpointError::Produce {
                        path: path.clone(),
                        tensor: tensor.name.clone(),
                        message: message.clone(),
                    });
                    burn_pack::Error::ValidationError(message)
                })
            };
            burn_pack::Tensor::deferred(name, dtype, shape, id, len, produce)
        });
        let writer = Writer::new(deferred.collect());
        let metadata = self.metadata.iter();
        let writer = metadata.fold(writer, |writer, (key, text)| {
            writer.with_metadata(key, text)
        });
        let writer = writer.auto_extension(false).overwrite(overwrite);
        writer.write_to_file(path).map_err(|error| {
            let mut produced = produced.lock().unwrap_or_else(PoisonError::into_inner);
            let produced = produced.take();
            produced.unwrap_or_else(|| CheckpointError::pack(path, error))
        })?;
        progress.add(bytes);
        Ok(())
    }

    /// Shards under names that no file has, then the index.
    pub(super) fn shards(
        &self,
        path: &Path,
        parts: Vec<Vec<Outgoing>>,
        bytes: u64,
        overwrite: bool,
        progress: &mut Progress,
    ) -> Result<Vec<PathBuf>, CheckpointError> {
        let count = parts.len();
        let stem = shard_stem(path);
        let extension = match path.extension() {
            Some(extension) => plain(&extension.to_string_lossy()),
            None => self.format.extension().to_owned(),
        };
        let name = |generation: u32, part: usize| {
            let generation = match generation {
                0 => String::new(),
                generation => format!(".{generation}"),
            };
            format!(
                "{stem}{generation}-{:05}-of-{count:05}.{extension}",
                part + 1
            )
        };
        let is_free = |generation: &u32| {
            let mut parts = 0..count;
            parts.all(|part| {
                fs::symlink_metadata(path.with_file_name(name(*generation, part))).is_err()
            })
        };
        let generation = (0..).find(is_free).expect("some number is free");
        let mut weight_map = BTreeMap::new();
        let mut unfinished = Unfinished(Vec::new());
        for (part, tensors) in parts.into_iter().enumerate() {
            let name = name(generation, part);
            for tensor in &tensors {
                weight_map.insert(tensor.name.clone(), name.clone());
            }
            let file = path.with_file_name(name);
            let written = self.file(&file, tensors, false, progress);
            // What somebody else wrote there meanwhile stays; anything else may be half ours.
            if !matches!(written, Err(CheckpointError::Exists { .. })) {
                unfinished.0.push(file);
            }
            written?;
        }
        let mut metadata: BTreeMap<&str, serde_json::Value> = self
            .metadata
            .iter()
            .map(|(key, text)| (key.as_str(), text.as_str().into()))
            .collect();
        metadata.insert("total_size", bytes.into());
        let json = serde_json::json!({ "metadata": metadata, "weight_map": weight_map });
        let json = serde_json::to_vec_pretty(&json).expect("texts and numbers");
        let index = index_path(path);
        let written = commit(&index, overwrite, |mut file| {
            file.write_all(&json)
                .map_err(|error| CheckpointError::io(&index, &error))
        });
        // Where the index is in its place after all, and only the folder could not be synchronised,
        // its shards must stay.
        if written.is_ok() || fs::read(&index).is_ok_and(|there| there == json) {
            let files = std::mem::take(&mut unfinished.0);
            return written.map(|()| files);
        }
        written.map(|()| Vec::new())
    }
}

/// What the names of shards begin with.
pub(super) fn shard_stem(path: &Path) -> String {
    plain(&path.file_stem().unwrap_or_default().to_string_lossy())
}

/// Without what an index must not have in names of files.
fn plain(name: &str) -> String {
    name.replace(['\\', ':'], "_")
}

/// Shards that no index names yet.
struct Unfinished(Vec<PathBuf>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        for file in &self.0 {
            let _ = fs::remove_file(file);
        }
    }
}

/// Write beside `path`, synchronise, rename.
fn commit(
    path: &Path,
    overwrite: bool,
    fill: impl FnOnce(fs::File) -> Result<(), CheckpointError>,
) -> Result<(), CheckpointError> {
    let failed = |error| CheckpointError::pack(path, error);
    let (scratch, file) = AtomicFile::create(path).map_err(failed)?;
    fill(file)?;
    match overwrite {
        true => scratch.commit().map_err(failed),
        false => scratch.commit_new().map_err(failed),
    }
}
