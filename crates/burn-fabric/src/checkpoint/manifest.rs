//! What a checkpoint says of itself.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use burn_pack::AtomicFile;
use ciborium::Value;
use serde::{Deserialize, Serialize};

use super::plain;
use super::problem::StateProblem;

/// Its file in the folder.
pub(super) const FILE: &str = "manifest.json";

/// The format that is written, and the last that can be read.
pub(super) const VERSION: u64 = 1;

/// The versions it was written with: burn-fabric's own, and the line of Burn it is built on.
const BURN_FABRIC: &str = env!("CARGO_PKG_VERSION");
const BURN: &str = "0.22";

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) version: u64,
    pub(super) burn_fabric: String,
    pub(super) burn: String,
    pub(super) step: Option<u64>,
    /// How many were saved before it among others of one run, and itself.
    pub(super) serial: u64,
    pub(super) metrics: BTreeMap<String, f64>,
    pub(super) parts: BTreeMap<String, Part>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) kind: String,
    /// Its tensors, where it has any.
    pub(super) file: Option<File>,
    /// Everything else, as the part itself writes it.
    pub(super) record: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// BLAKE3, in hexadecimal.
    pub(super) blake3: String,
}

impl File {
    /// What is on the disk under this name.
    pub(super) fn of(folder: &Path, name: String) -> Result<Self, StateProblem> {
        let path = folder.join(&name);
        let failed = |source| StateProblem::Io {
            path: path.clone(),
            source,
        };
        let (bytes, hash) = hash(&path).map_err(failed)?;
        let blake3 = hash.to_hex().to_string();
        Ok(Self {
            name,
            bytes,
            blake3,
        })
    }

    /// Whether the file is what it was when the manifest was written.
    pub(super) fn check(&self, folder: &Path) -> Result<(), StateProblem> {
        let path = folder.join(&self.name);
        let changed = |what: String| StateProblem::ChangedFile {
            path: path.clone(),
            what,
        };
        match fs::metadata(&path) {
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(StateProblem::MissingFile { path });
            }
            Err(source) => return Err(StateProblem::Io { path, source }),
            Ok(metadata) if metadata.len() != self.bytes => {
                let (is, was) = (metadata.len(), self.bytes);
                return Err(changed(format!("it has {is} bytes and had {was}")));
            }
            Ok(_) => {}
        }
        let now = Self::of(folder, self.name.clone())?;
        match now.blake3 == self.blake3 {
            true => Ok(()),
            false => Err(changed(
                "its bytes are not those that were written".to_owned(),
            )),
        }
    }
}

/// The length and the hash of a file: one piece is read while the last one is hashed. Not by a map of
/// it, whose pages would count as this process's memory.
fn hash(path: &Path) -> std::io::Result<(u64, blake3::Hash)> {
    const PIECE: usize = 4 << 20;
    let mut file = fs::File::open(path)?;
    let mut hasher = blake3::Hasher::new();
    let (mut last, mut next) = (Vec::new(), vec![0; PIECE]);
    let mut bytes = 0;
    loop {
        let (read, _) = rayon::join(|| fill(&mut file, &mut next), || hasher.update_rayon(&last));
        let read = read?;
        if read == 0 {
            return Ok((bytes, hasher.finalize()));
        }
        bytes += read as u64;
        last.resize(PIECE, 0);
        std::mem::swap(&mut last, &mut next);
        last.truncate(read);
        next.resize(PIECE, 0);
    }
}

/// Read until the buffer is full or the file ends.
fn fill(file: &mut fs::File, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// What stands before and after the text that the hash is of.
const BEGIN: &str = "{\n\"blake3\": \"";
const MIDDLE: &str = "\",\n\"manifest\": ";
const END: &str = "\n}\n";

impl Manifest {
    /// One without parts.
    pub(super) fn new() -> Self {
        Self {
            version: VERSION,
            burn_fabric: BURN_FABRIC.to_owned(),
            burn: BURN.to_owned(),
            step: None,
            serial: 0,
            metrics: BTreeMap::new(),
            parts: BTreeMap::new(),
        }
    }

    /// The files of its parts.
    pub(super) fn files(&self) -> impl Iterator<Item = &File> {
        self.parts.values().filter_map(|part| part.file.as_ref())
    }

    /// The names of its files.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.files().map(|file| file.name.as_str())
    }

    /// Put it into its place, synchronised; from then on the folder is this checkpoint.
    pub(super) fn write(&self, folder: &Path) -> Result<(), StateProblem> {
        let path = folder.join(FILE);
        let failed = |message: String| StateProblem::Io {
            path: path.clone(),
            source: std::io::Error::other(message),
        };
        let value = plain::encode(self).map_err(failed)?;
        let body = serde_json::to_string_pretty(&plain::to_json(&value));
        let body = body.map_err(|error| failed(error.to_string()))?;
        // What could be written and not read is no checkpoint, and must not replace one.
        let again = serde_json::from_str(&body).map_err(|error| error.to_string());
        let again = again.and_then(|json| plain::from_json(&json));
        let again = again.and_then(|value| plain::decode::<Self>(&value));
        again.map_err(|message| StateProblem::Value {
            part: FILE.to_owned(),
            message,
        })?;
        let hash = blake3::hash(body.as_bytes()).to_hex();
        let text = format!("{BEGIN}{hash}{MIDDLE}{body}{END}");
        let (scratch, mut file) =
            AtomicFile::create(&path).map_err(|error| failed(error.to_string()))?;
        let io = |source| StateProblem::Io {
            path: path.clone(),
            source,
        };
        file.write_all(text.as_bytes()).map_err(io)?;
        drop(file);
        scratch.commit().map_err(|error| failed(error.to_string()))
    }

    /// Read it, and check that it is what was written.
    pub(super) fn read(folder: &Path) -> Result<Self, StateProblem> {
        let path = folder.join(FILE);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let path = folder.to_owned();
                return Err(StateProblem::NotACheckpoint { path });
            }
            Err(source) => return Err(StateProblem::Io { path, source }),
            Ok(text) => text,
        };
        let damaged = |message: &str| StateProblem::Manifest {
            path: path.clone(),
            message: message.to_owned(),
        };
        let text = String::from_utf8(text).map_err(|_| damaged("it is no text"))?;
        let body =
            body(&text).ok_or_else(|| damaged("its text is not the one that was written"))?;
        let json = serde_json::from_str(body).map_err(|error| damaged(&error.to_string()))?;
        let value = plain::from_json(&json).map_err(|message| damaged(&message))?;
        // Before anything else: of another version, nothing else is known.
        let found = json["version"].as_u64();
        let found = found.ok_or_else(|| damaged("it has no version"))?;
        if found > VERSION {
            let written_by = json["burn_fabric"].as_str().unwrap_or("unknown").to_owned();
            return Err(StateProblem::Version {
                path,
                found,
                readable: VERSION,
                written_by,
            });
        }
        let manifest: Self = plain::decode(&value).map_err(|message| damaged(&message))?;
        for file in manifest.files() {
            // Nothing outside the folder is ever opened.
            if Path::new(&file.name).file_name() != Some(file.name.as_ref()) {
                return Err(damaged("it names a file that is not in the folder"));
            }
        }
        Ok(manifest)
    }
}

/// The text between, where the hash is its own.
fn body(text: &str) -> Option<&str> {
    let (hash, rest) = text.strip_prefix(BEGIN)?.split_at_checked(64)?;
    let body = rest.strip_prefix(MIDDLE)?.strip_suffix(END)?;
    (blake3::hash(body.as_bytes()).to_hex().as_str() == hash).then_some(body)
}
