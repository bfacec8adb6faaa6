//! A safetensors file: the length of the header, the header, the data.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Outgoing;
use super::job::Progress;
use crate::dtype::FileDType;
use crate::error::CheckpointError;
use crate::safetensors::MAX_HEADER;

/// Where data begins is a multiple of this, so that a map of the file has each tensor aligned.
const ALIGNMENT: usize = 64;

pub(super) fn write(
    path: &Path,
    mut file: File,
    mut tensors: Vec<Outgoing>,
    metadata: &BTreeMap<String, String>,
    progress: &mut Progress,
) -> Result<(), CheckpointError> {
    // Wide values first, so that every tensor is aligned for its own.
    tensors.sort_by_key(|tensor| std::cmp::Reverse(tensor.dtype.size()));
    let failed = |error: io::Error| CheckpointError::io(path, &error);
    let header = header(&tensors, metadata);
    let bytes = header.len() as u64 - 8;
    if bytes > MAX_HEADER {
        return Err(CheckpointError::HeaderTooLarge {
            path: path.to_owned(),
            bytes,
            limit: MAX_HEADER,
        });
    }
    file.write_all(&header).map_err(failed)?;
    let bytes: u64 = tensors.iter().map(Outgoing::bytes).sum();
    let writers = Writers {
        path,
        file: &file,
        begins: header.len() as u64,
        waiting: Mutex::new((0, tensors.into_iter())),
        progress: Mutex::new(progress),
        failed: Mutex::new(None),
        is_over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        if bytes < WORTH_A_THREAD {
            return writers.write();
        }
        // Where the system starts none, this one does all.
        let start = || thread::Builder::new();
        let flushing = start().spawn_scoped(scope, || writers.flush());
        // Also when a tensor panics while it is read.
        let _over = Over(
            &writers.is_over,
            flushing.ok().map(|thread| thread.thread().clone()),
        );
        let second = start().spawn_scoped(scope, || writers.write());
        writers.write();
        if let Ok(second) = second
            && let Err(panic) = second.join()
        {
            std::panic::resume_unwind(panic);
        }
    });
    let failed = writers.failed.into_inner();
    failed
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), Err)
}

/// From here on a second thread reads and writes tensors as well, and a third keeps the disk busy. The
/// system would begin to write out late, and whoever synchronises the file at last would wait for all
/// of it: measured with 3.2 GB, two of ten seconds.
const WORTH_A_THREAD: u64 = 16 << 20;

/// Threads that write tensors to their places, each one at a time.
struct Writers<'w, 'p> {
    path: &'w Path,
    file: &'w File,
    /// Where the first tensor begins.
    begins: u64,
    /// Bytes before the tensors that wait.
    waiting: Mutex<(u64, std::vec::IntoIter<Outgoing>)>,
    progress: Mutex<&'p mut Progress>,
    failed: Mutex<Option<CheckpointError>>,
    is_over: AtomicBool,
}

impl Writers<'_, '_> {
    fn write(&self) {
        while let Some((offset, tensor)) = self.next() {
            let written = self.write_one(offset, &tensor);
            if let Err(error) = written {
                lock(&self.failed).get_or_insert(error);
            }
        }
    }

    /// Have the disk take what was written so far, again and again.
    fn flush(&self) {
        while !self.is_over.load(Ordering::Relaxed) {
            // An error is told once, to whoever asks first.
            if let Err(error) = self.file.sync_data() {
                lock(&self.failed).get_or_insert(CheckpointError::io(self.path, &error));
                return;
            }
            thread::park_timeout(Duration::from_millis(20));
        }
    }

    /// The next tensor and where it belongs; none after a failure.
    fn next(&self) -> Option<(u64, Outgoing)> {
        if lock(&self.failed).is_some() {
            return None;
        }
        let mut waiting = lock(&self.waiting);
        let tensor = waiting.1.next()?;
        let offset = self.begins + waiting.0;
        waiting.0 += tensor.bytes();
        Some((offset, tensor))
    }

    fn write_one(&self, offset: u64, tensor: &Outgoing) -> Result<(), CheckpointError> {
        let bytes = tensor
            .produce()
            .map_err(|message| CheckpointError::Produce {
                path: self.path.to_owned(),
                tensor: tensor.name.clone(),
                message,
            })?;
        let written = write_all_at(self.file, &bytes, offset);
        written.map_err(|error| CheckpointError::io(self.path, &error))?;
        lock(&self.progress).add(bytes.len() as u64);
        Ok(())
    }
}

/// Ends the flushing.
struct Over<'w>(&'w AtomicBool, Option<thread::Thread>);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        if let Some(flushing) = &self.1 {
            flushing.unpark();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A caller's report of progress may panic; what is counted is whole in any case.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

#[cfg(windows)]
fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    use std::os::windows::fs::FileExt;
    while !bytes.is_empty() {
        match file.seek_write(bytes, offset)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
        }
    }
    Ok(())
}

fn header(tensors: &[Outgoing], metadata: &BTreeMap<String, String>) -> Vec<u8> {
    let mut header = Map::new();
    if !metadata.is_empty() {
        header.insert("__metadata__".to_owned(), json!(metadata));
    }
    let mut start = 0;
    for tensor in tensors {
        let end = start + tensor.bytes();
        let entry: Value = json!({
            "dtype": FileDType::Burn(tensor.dtype).name(),
            "shape": tensor.shape,
            "data_offsets": [start, end],
        });
        header.insert(tensor.name.clone(), entry);
        start = end;
    }
    let mut json = serde_json::to_vec(&header).expect("texts and numbers");
    // Spaces after the JSON are part of the format.
    let padded = (8 + json.len()).next_multiple_of(ALIGNMENT) - 8;
    json.resize(padded, b' ');
    let mut bytes = (json.len() as u64).to_le_bytes().to_vec();
    bytes.extend(json);
    bytes
}
