//! The format of the files: a header of big-endian numbers, then one byte a value, all of it through
//! gzip.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use crate::{CLASSES, PIXELS, SIDE};

/// Bytes in three dimensions: images, rows, columns.
const IMAGES: u32 = 0x0803;
/// Bytes in one dimension: labels.
const LABELS: u32 = 0x0801;

/// Why there are no samples.
#[derive(Debug, thiserror::Error)]
pub enum IdxError {
    /// A file cannot be opened or read, or is not what gzip wrote.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file begins as one of another kind.
    #[error(
        "{}: begins with {found:#010x}, and a file of {what} with {expected:#010x}",
        path.display()
    )]
    Kind {
        /// The file.
        path: PathBuf,
        /// What it was to have.
        what: &'static str,
        /// Its first four bytes.
        found: u32,
        /// What they would have to be.
        expected: u32,
    },
    /// The images are of another size.
    #[error("{}: images of {rows} x {columns} pixels, and not of {SIDE} x {SIDE}", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// Their rows.
        rows: u32,
        /// Their columns.
        columns: u32,
    },
    /// A file has another length than its header says.
    #[error(
        "{}: {expected} bytes after the header by what the header says, and {found}{}",
        path.display(),
        if found > expected { " or more" } else { "" }
    )]
    Length {
        /// The file.
        path: PathBuf,
        /// Bytes that there should be.
        expected: u64,
        /// Bytes that there are; not counted further than one too many.
        found: u64,
    },
    /// A label is none of the classes.
    #[error("{}: label {index} is {found}, and there are {CLASSES} classes, from 0", path.display())]
    Label {
        /// The file.
        path: PathBuf,
        /// Which label, from 0.
        index: usize,
        /// Its value.
        found: u8,
    },
    /// Images and labels do not belong together.
    #[error("{}: {images} images, and {labels} labels for them", path.display())]
    Counts {
        /// The folder.
        path: PathBuf,
        /// How many images there are.
        images: usize,
        /// How many labels there are.
        labels: usize,
    },
    /// There is no sample.
    #[error("{}: no samples", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// An open file, read up to where it is.
struct Idx<'p> {
    path: &'p Path,
    content: MultiGzDecoder<File>,
}

impl<'p> Idx<'p> {
    /// Open one, and see that it is of the kind.
    fn open(path: &'p Path, what: &'static str, expected: u32) -> Result<Self, IdxError> {
        let file = File::open(path).map_err(|source| IdxError::File {
            path: path.to_owned(),
            source,
        })?;
        let mut idx = Self {
            path,
            content: MultiGzDecoder::new(file),
        };
        match idx.number()? {
            found if found == expected => Ok(idx),
            found => Err(IdxError::Kind {
                path: path.to_owned(),
                what,
                found,
                expected,
            }),
        }
    }

    fn failed(&self, source: std::io::Error) -> IdxError {
        IdxError::File {
            path: self.path.to_owned(),
            source,
        }
    }

    /// The next number of the header.
    fn number(&mut self) -> Result<u32, IdxError> {
        let mut bytes = [0; 4];
        let read = self.content.read_exact(&mut bytes);
        read.map_err(|source| self.failed(source))?;
        Ok(u32::from_be_bytes(bytes))
    }

    /// What follows the header, to the end of the file: so many bytes for each of `count`.
    fn rest(&mut self, count: u32, bytes: usize) -> Result<Vec<u8>, IdxError> {
        let expected = u64::from(count) * bytes as u64;
        if expected == 0 {
            let path = self.path.to_owned();
            return Err(IdxError::Empty { path });
        }
        let mut rest = Vec::new();
        // One byte more than there should be shows that there are more.
        let read = (&mut self.content)
            .take(expected + 1)
            .read_to_end(&mut rest);
        let found = read.map_err(|source| self.failed(source))? as u64;
        match found == expected {
            true => Ok(rest),
            false => Err(IdxError::Length {
                path: self.path.to_owned(),
                expected,
                found,
            }),
        }
    }
}

/// The pixels of all images, one image after the other.
pub(crate) fn images(path: &Path) -> Result<Vec<u8>, IdxError> {
    let mut idx = Idx::open(path, "images", IMAGES)?;
    let (count, rows, columns) = (idx.number()?, idx.number()?, idx.number()?);
    if [rows, columns] != [SIDE as u32; 2] {
        let path = path.to_owned();
        return Err(IdxError::Size {
            path,
            rows,
            columns,
        });
    }
    idx.rest(count, PIXELS)
}

/// All labels, each of a class.
pub(crate) fn labels(path: &Path) -> Result<Vec<u8>, IdxError> {
    let mut idx = Idx::open(path, "labels", LABELS)?;
    let count = idx.number()?;
    let labels = idx.rest(count, 1)?;
    match labels
        .iter()
        .position(|label| usize::from(*label) >= CLASSES)
    {
        None => Ok(labels),
        Some(index) => Err(IdxError::Label {
            path: path.to_owned(),
            index,
            found: labels[index],
        }),
    }
}
