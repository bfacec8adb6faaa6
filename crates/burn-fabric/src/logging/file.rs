//! A file that grows by whole records: what was written in part is taken back.

use std::fs::{self, File, FileType, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
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
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    records: Records<File>,
    identity: Identity,
}

/// What became of a file since this process wrote to it last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    Nothing,
    /// More lies behind what was there.
    Grown,
    /// It is another or none, was cut, or was not written to yet.
    Other,
}

impl Lines {
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path, open: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The whole lines of the file, and what a killed process left behind them. Nothing where there
    /// is no file.
    pub(super) fn read_split(&self) -> Result<(Vec<u8>, Vec<u8>), LoggerError> {
        if regular(&self.path)?.is_none() {
            return Ok(Default::default());
        }
        let mut bytes = fs::read(&self.path).map_err(LoggerError::file(&self.path))?;
        let rest = bytes.split_off(whole_lines(&bytes));
        Ok((bytes, rest))
    }

    /// Ask before each append: an editor puts another file in the place of this one, and what is
    /// written to the old one is lost.
    pub(super) fn since(&self) -> Since {
        let (Some(open), Ok(now)) = (&self.open, fs::metadata(&self.path)) else {
            return Since::Other;
        };
        let length = open.records.length;
        match now.len() {
            _ if open.identity != Identity::of(&now) => Since::Other,
            now if now == length => Since::Nothing,
            now if now > length && !open.records.torn => Since::Grown,
            _ => Since::Other,
        }
    }

    /// Have the next append open the file that is there then.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    /// Give a last line that is whole the end that it lacks.
    pub(super) fn end_last(&self) -> Result<(), LoggerError> {
        let file = File::options().append(true).open(&self.path);
        let ended = file.and_then(|mut file| file.write_all(b"\n"));
        ended.map_err(LoggerError::file(&self.path))
    }

    /// What another process wrote behind the lines of this one.
    pub(super) fn added(&self) -> Result<Vec<u8>, LoggerError> {
        let length = self.open.as_ref().map_or(0, |open| open.records.length);
        let read = || {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(length))?;
            let mut added = Vec::new();
            file.read_to_end(&mut added)?;
            Ok(added)
        };
        read().map_err(LoggerError::file(&self.path))
    }

    /// Take so many more bytes for whole lines.
    pub(super) fn keep(&mut self, added: usize) {
        if let Some(open) = &mut self.open {
            open.records.length += added as u64;
        }
    }

    pub(super) fn append(&mut self, lines: &[u8]) -> Result<(), LoggerError> {
        let open = match self.open.take() {
            Some(open) => open,
            None => self.open()?,
        };
        let open = self.open.insert(open);
        let appended = open.records.append(lines);
        appended.map_err(LoggerError::file(&self.path))
    }

    fn open(&self) -> Result<Open, LoggerError> {
        regular(&self.path)?;
        let open = || {
            make_folder_of(&behind_links(&self.path))?;
            let file = File::options().append(true).create(true).open(&self.path)?;
            let bytes = fs::read(&self.path)?;
            let length = whole_lines(&bytes);
            if length < bytes.len() {
                file.set_len(length as u64)?;
            }
            let identity = Identity::of(&file.metadata()?);
            let records = Records::new(file, length as u64);
            Ok(Open { records, identity })
        };
        open().map_err(LoggerError::file(&self.path))
    }

    /// Put `contents` in the place of what is there; a failure leaves that.
    pub(super) fn replace(&mut self, contents: &[u8]) -> Result<(), LoggerError> {
        replace(&self.path, contents)?;
        self.close(); // it is of the old file
        Ok(())
    }
}

fn whole_lines(bytes: &[u8]) -> usize {
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    end.map_or(0, |end| end + 1)
}

/// Which file it is, whatever it is called.
#[derive(Debug, PartialEq, Eq)]
struct Identity(#[cfg(unix)] (u64, u64));

impl Identity {
    #[cfg(unix)]
    fn of(file: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self((file.dev(), file.ino()))
    }

    /// The standard library does not tell it.
    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Self {
        Self()
    }
}

/// What is known of the file there, or that there is none. Anything else is refused before it is
/// opened: a pipe would have the training wait for a reader, and a device cannot be read back.
pub(super) fn regular(path: &Path) -> Result<Option<Metadata>, LoggerError> {
    match fs::metadata(path) {
        Ok(file) if file.is_file() => Ok(Some(file)),
        Ok(other) => Err(LoggerError::NotAFile {
            path: path.to_owned(),
            found: kind(other.file_type()),
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(LoggerError::file(path)(error)),
    }
}

fn kind(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    if kind.is_dir() {
        "a folder"
    } else {
        "something else"
    }
}

/// Where links lead to, whether a file is there or not.
fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // As many as Linux follows; opening says what is wrong with more.
    for _ in 0..40 {
        let Ok(next) = fs::read_link(&path) else {
            break;
        };
        path = match path.parent() {
            Some(folder) => folder.join(next),
            None => next,
        };
    }
    path
}

pub(super) fn make_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Put a file of `contents` in the place of what is there, with its permissions; a failure leaves
/// that. Behind a link, what it leads to is replaced.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> Result<(), LoggerError> {
    let old = regular(path)?;
    let write = || {
        let path = behind_links(path);
        make_folder_of(&path)?;
        let (new, file) = create_beside(&path)?;
        let written = fill(file, contents, old.as_ref()).and_then(|()| fs::rename(&new, &path));
        if written.is_err() {
            // What is there may be in part; that it cannot be removed either is no other problem.
            let _ = fs::remove_file(&new);
        }
        written
    };
    write().map_err(LoggerError::file(path))
}

/// A new file whose name begins as the other's.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut taken = 0;
    loop {
        let mut new = path.as_os_str().to_owned();
        match taken {
            0 => new.push(".new"),
            taken => new.push(format!(".new-{taken}")),
        }
        match File::create_new(&new) {
            // Somebody's own, or of a process that was killed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && taken < 1000 => {
                taken += 1
            }
            created => return created.map(|file| (new.into(), file)),
        }
    }
}

fn fill(mut file: File, contents: &[u8], old: Option<&Metadata>) -> io::Result<()> {
    if let Some(old) = old {
        // First: nobody who could not read the old one reads this.
        file.set_permissions(old.permissions())?;
    }
    file.write_all(contents)?;
    // Before it has the other's name, so that a power cut leaves one of both whole.
    file.sync_all()
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
