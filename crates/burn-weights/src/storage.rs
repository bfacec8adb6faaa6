//! The bytes of one file: opened once, mapped when the first view of it is asked for.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bytes::Bytes;

use crate::error::CheckpointError;
use crate::map::Map;

/// A file, or bytes that the program has anyway.
#[derive(Debug)]
pub(crate) struct Storage {
    path: PathBuf,
    len: u64,
    /// None for bytes in memory.
    file: Option<File>,
    view: OnceLock<(Option<Map>, Bytes)>,
}

impl Storage {
    pub(crate) fn open(path: &Path) -> Result<Self, CheckpointError> {
        let failed = |error: io::Error| CheckpointError::io(path, &error);
        // Asked before opening: opening a pipe would wait for whoever writes into it.
        if !fs::metadata(path).map_err(failed)?.is_file() {
            let path = path.to_owned();
            return Err(CheckpointError::NotAFile { path });
        }
        let file = File::open(path).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        if len == 0 {
            let path = path.to_owned();
            return Err(CheckpointError::Empty { path });
        }
        Ok(Self {
            path: path.to_owned(),
            len,
            file: Some(file),
            view: OnceLock::new(),
        })
    }

    pub(crate) fn memory(name: &Path, bytes: Bytes) -> Result<Self, CheckpointError> {
        if bytes.is_empty() {
            let path = name.to_owned();
            return Err(CheckpointError::Empty { path });
        }
        Ok(Self {
            path: name.to_owned(),
            len: bytes.len() as u64,
            file: None,
            view: OnceLock::from((None, bytes)),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has a place on disk, not only a name.
    pub(crate) fn is_file(&self) -> bool {
        self.file.is_some()
    }

    /// Everything, without reading it: less than it was when the file became shorter.
    pub(crate) fn view(&self) -> Result<&Bytes, CheckpointError> {
        if let (None, Some(file)) = (self.view.get(), &self.file) {
            let mapped = Map::new(file);
            let (map, bytes) = mapped.map_err(|error| CheckpointError::io(&self.path, &error))?;
            // What another thread mapped meanwhile is as good.
            let _ = self.view.set((Some(map), bytes));
        }
        Ok(self.in_memory())
    }

    fn in_memory(&self) -> &Bytes {
        let (_, bytes) = self.view.get().expect("bytes in memory, or a mapped file");
        bytes
    }

    /// Let the memory of a part go that has been copied elsewhere.
    pub(crate) fn release(&self, part: std::ops::Range<u64>) {
        if let Some((Some(map), _)) = self.view.get() {
            map.release(part.start as usize..part.end as usize);
        }
    }

    /// Fill `buffer` from `offset`; an end of the file in between is an error of its kind.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match &self.file {
            Some(file) => read_exact_at(file, buffer, offset),
            None => {
                let bytes = self.in_memory();
                let range = usize::try_from(offset)
                    .ok()
                    .and_then(|start| Some(start..start.checked_add(buffer.len())?))
                    .and_then(|range| bytes.get(range));
                buffer.copy_from_slice(range.ok_or(io::ErrorKind::UnexpectedEof)?);
                Ok(())
            }
        }
    }

    /// The first bytes, `len` of them or all there are.
    pub(crate) fn beginning(&self, len: usize) -> Result<Vec<u8>, CheckpointError> {
        let len = self.len.min(len as u64) as usize;
        let mut buffer = vec![0; len];
        self.read_at(&mut buffer, 0)
            .map_err(|error| CheckpointError::io(&self.path, &error))?;
        Ok(buffer)
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !buffer.is_empty() {
        match file.seek_read(buffer, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                buffer = &mut buffer[read..];
                offset += read as u64;
            }
        }
    }
    Ok(())
}
