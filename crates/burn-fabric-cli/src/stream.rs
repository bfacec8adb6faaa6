//! The values of one tensor, a part at a time.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use burn_std::Bytes;
use burn_weights::{Checkpoint, Reading, TensorInfo};

use crate::failure::Failure;

/// Elements to take at once.
pub const ELEMENTS: u64 = 1 << 20;

/// Reads a tensor from its beginning. Copies are read, not a map of the file: whoever cuts the file
/// off meanwhile makes an error, not a bus error.
pub struct Stream<'s> {
    checkpoint: &'s Checkpoint,
    info: &'s TensorInfo,
    at: u64,
    part: Bytes,
}

impl<'s> Stream<'s> {
    pub fn new(checkpoint: &'s Checkpoint, info: &'s TensorInfo) -> Self {
        Self {
            checkpoint,
            info,
            at: 0,
            part: Bytes::from_elems(Vec::<u8>::new()),
        }
    }

    /// The bytes of an element. What Burn has no dtype for is taken by bytes.
    pub fn step(&self) -> u64 {
        self.info
            .dtype
            .burn()
            .map_or(1, |dtype| dtype.size() as u64)
    }

    /// The bytes of the next `elements`, or of those that are left; None at the end.
    pub fn next(&mut self, elements: u64) -> Result<Option<&[u8]>, Failure> {
        let (start, info) = (self.at, self.info);
        if start >= info.bytes {
            return Ok(None);
        }
        self.at = info.bytes.min(start + elements * self.step());
        let part = start..self.at;
        if info.dtype.burn().is_none() {
            self.part = foreign(info, start, (self.at - start) as usize)?;
            return Ok(Some(&self.part));
        }
        if info.offset.is_some() {
            let read = self
                .checkpoint
                .read(&info.name, Some(part), Reading::Copy)?;
            self.part = read.bytes;
            return Ok(Some(&self.part));
        }
        // A PyTorch file is unpacked a tensor at a time, however little of it is asked for.
        if start == 0 {
            self.part = self.checkpoint.read(&info.name, None, Reading::Copy)?.bytes;
        }
        Ok(Some(&self.part[start as usize..self.at as usize]))
    }
}

/// Bytes of a tensor whose dtype the readers know no values of.
fn foreign(info: &TensorInfo, start: u64, len: usize) -> Result<Bytes, Failure> {
    let read = |path: &Path| -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(info.offset.unwrap_or(0) + start))?;
        let mut bytes = vec![0; len];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read(&info.file).map_err(|error| {
        Failure::Files(format!("{}: `{}`: {error}", info.file.display(), info.name))
    })?;
    Ok(Bytes::from_elems(bytes))
}
