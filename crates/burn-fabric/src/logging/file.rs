//! A file that grows by whole records: what was written in part is taken back.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::LoggerError;

/// What records are appended to.
pub(super) trait Target: Write {
    /// Forget what lies behind the first `length` bytes.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

/// Opened for appending, so that a write goes to the end wherever that is.
impl Target for File {
    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// A target, and how much of it is whole records.
#[derive(Debug)]
pub(super) struct Records<T> {
    target: T,
    length: u64,
    /// A part of a record lies behind them that could not be taken back yet.
    torn: bool,
}

impl<T: Target> Records<T> {
    pub(super) fn new(target: T, length: u64) -> Self {
        Self {
            target,
            length,
            torn: false,
        }
    }

    #[cfg(feature = "tensorboard")]
    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All of `record` or nothing of it.
    pub(super) fn append(&mut self, record: &[u8]) -> io::Result<()> {
        if self.torn {
            self.target.cut(self.length)?;
            self.torn = false;
        }
        if let Err(error) = self.target.write_all(record) {
            self.torn = self.target.cut(self.length).is_err();
            return Err(error);
        }
        self.length += record.len() as u64;
        Ok(())
    }
}

/// A file of lines, opened when the first is written.
#[derive(Debug)]
pub(super) struct Lines {
    path: PathBuf,
    records: Option<Records<File>>,
}

impl Lines {
    pub(super) fn at(path: PathBuf) -> Self {
        Self {
            path,
            records: None,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What is there, and a last line without its end: whose it is decides the caller, before anything is
    /// appended. Nothing where there is no file.
    pub(super) fn read_split(&self) -> Result<(Vec<u8>, Vec<u8>), LoggerError> {
        match fs::read(&self.path) {
            Ok(mut bytes) => {
                let rest = bytes.split_off(whole_lines(&bytes));
                Ok((bytes, rest))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Default::default()),
            Err(error) => Err(LoggerError::file(&self.path)(error)),
        }
    }

    pub(super) fn append(&mut self, lines: &[u8]) -> Result<(), LoggerError> {
        let records = match self.records.take() {
            Some(records) => records,
            None => self.open().map_err(LoggerError::file(&self.path))?,
        };
        let records = self.records.insert(records);
        records.append(lines).map_err(LoggerError::file(&self.path))
    }

    fn open(&self) -> io::Result<Records<File>> {
        make_folder_of(&self.path)?;
        let file = File::options().append(true).create(true).open(&self.path)?;
        let bytes = fs::read(&self.path)?;
        let length = whole_lines(&bytes);
        if length < bytes.len() {
            file.set_len(length as u64)?;
        }
        Ok(Records::new(file, length as u64))
    }

    /// Put `contents` in the place of what is there; a failure leaves that.
    pub(super) fn replace(&mut self, contents: &[u8]) -> Result<(), LoggerError> {
        replace(&self.path, contents).map_err(LoggerError::file(&self.path))?;
        self.records = None; // it is of the old file
        Ok(())
    }
}

fn whole_lines(bytes: &[u8]) -> usize {
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    end.map_or(0, |end| end + 1)
}

pub(super) fn make_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Put a file of `contents` in the place of what is there; a failure leaves that.
pub(super) fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    make_folder_of(path)?;
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let write = || {
        let mut file = File::create(&new)?;
        file.write_all(contents)?;
        // Before it has the other's name, so that a power cut leaves one of both whole.
        file.sync_all()?;
        fs::rename(&new, path)
    };
    let written = write();
    if written.is_err() {
        // What is there may be in part; that it cannot be removed either is no other problem.
        let _ = fs::remove_file(&new);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many bytes in all.
    struct Disk {
        bytes: Vec<u8>,
        room: usize,
        cuts: bool,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room - self.bytes.len());
            if count == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.bytes.extend(&bytes[..count]);
            Ok(count)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Target for Disk {
        fn cut(&mut self, length: u64) -> io::Result<()> {
            if !self.cuts {
                return Err(io::ErrorKind::Other.into());
            }
            self.bytes.truncate(usize::try_from(length).expect("short"));
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_keeps_whole_records_and_goes_on_when_it_has_room() {
        for cuts in [true, false] {
            let bytes = Vec::new();
            let disk = Disk {
                bytes,
                room: 7,
                cuts,
            };
            let mut records = Records::new(disk, 0);
            records.append(b"one\n").expect("there is room");
            let error = records.append(b"two\n").expect_err("there is no room");
            assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            assert_eq!(records.torn, !cuts);
            assert_eq!(records.target.bytes.len(), if cuts { 4 } else { 7 });
            records.target.room = 100;
            records.target.cuts = true;
            records.append(b"three\n").expect("there is room again");
            assert_eq!(records.target.bytes, b"one\nthree\n");
        }
    }
}
