//! What can be wrong with a file of tensors.

use std::io;
use std::path::{Path, PathBuf};

/// Why a checkpoint was not opened, read or written. Names the file and, where there is one, the
/// tensor and the offset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// The system refused something.
    #[error("{}: {message}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What kind of refusal.
        kind: io::ErrorKind,
        /// The system's own text.
        message: String,
    },
    /// Neither a file nor a folder.
    #[error("{}: neither a file nor a folder: pass the path of a checkpoint", path.display())]
    NotAFile {
        /// What was passed.
        path: PathBuf,
    },
    /// A file without a byte.
    #[error("{}: the file is empty: was its download or its saving interrupted?", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Nothing that is read here begins so.
    #[error(
        "{}: neither safetensors, burnpack, a PyTorch file nor an index of shards: it begins with \
         {begins:?}", path.display()
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// Its first bytes, escaped.
        begins: String,
    },
    /// A folder with no checkpoint in it.
    #[error(
        "{}: the folder holds no checkpoint: no *.safetensors, *.bpk, *.pt, *.pth or *.bin, and no \
         *.index.json", path.display()
    )]
    NothingInFolder {
        /// The folder.
        path: PathBuf,
    },
    /// A folder with several checkpoints.
    #[error(
        "{}: the folder holds several checkpoints, {files:?}: pass the path of one of them",
        path.display()
    )]
    SeveralInFolder {
        /// The folder.
        path: PathBuf,
        /// Their names.
        files: Vec<String>,
    },
    /// A folder with some parts of a checkpoint, without an index.
    #[error(
        "{}: the folder holds parts of a checkpoint and lacks {part:?}: fetch or save it again",
        path.display()
    )]
    PartMissing {
        /// The folder.
        path: PathBuf,
        /// The first file that is not there.
        part: String,
    },
    /// The file ends before what it announces.
    #[error(
        "{}: the file has {found} bytes and announces {expected}: it was cut off; fetch or save it \
         again", path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The bytes that it should have.
        expected: u64,
        /// The bytes that it has.
        found: u64,
    },
    /// A header too large to be one.
    #[error(
        "{}: the header would take {bytes} bytes, and {limit} are the limit: this is no sound \
         checkpoint", path.display()
    )]
    HeaderTooLarge {
        /// The file.
        path: PathBuf,
        /// The bytes that it announces.
        bytes: u64,
        /// The bytes that are accepted.
        limit: u64,
    },
    /// A header that cannot be understood.
    #[error("{}: the header, at byte {offset} of the file: {message}", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// Where reading failed, from the file's beginning.
        offset: u64,
        /// Why.
        message: String,
    },
    /// Two tensors of one name.
    #[error(
        "{}: `{tensor}` is there twice: which one is meant cannot be told", path.display()
    )]
    DuplicateName {
        /// The file.
        path: PathBuf,
        /// The name.
        tensor: String,
    },
    /// A tensor that ends before it begins, or beyond the file.
    #[error(
        "{}: `{tensor}` would lie from byte {start} to byte {end} of the {data} bytes of data",
        path.display()
    )]
    OutOfRange {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Its first byte, within the data.
        start: u64,
        /// The byte after its last one.
        end: u64,
        /// The bytes of data.
        data: u64,
    },
    /// Two tensors that share bytes, or bytes that belong to none.
    #[error(
        "{}: `{tensor}` begins at byte {start} of the data, where byte {expected} is the first \
         that is free: tensors overlap or leave a gap", path.display()
    )]
    NotAdjacent {
        /// The file.
        path: PathBuf,
        /// The tensor; `end of file` for bytes after the last one.
        tensor: String,
        /// Where it begins.
        start: u64,
        /// Where the tensor before it ends.
        expected: u64,
    },
    /// A tensor whose bytes are not those of its shape and dtype.
    #[error(
        "{}: `{tensor}` at byte {offset} has {found} bytes, and its shape {shape:?} in {dtype} \
         takes {expected}", path.display()
    )]
    WrongSize {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Where it begins in the file.
        offset: u64,
        /// Its shape.
        shape: Vec<usize>,
        /// Its dtype.
        dtype: String,
        /// The bytes of its shape.
        expected: u64,
        /// The bytes that it has.
        found: u64,
    },
    /// A burnpack file that Burn's reader refuses.
    #[error("{}: Burn cannot read this burnpack file: {message}", path.display())]
    Burnpack {
        /// The file.
        path: PathBuf,
        /// Its own text.
        message: String,
    },
    /// A PyTorch file that Burn's reader refuses: damaged, or with more in it than tensors.
    #[error(
        "{}: Burn cannot read this PyTorch file: {message}; nothing in it was executed",
        path.display()
    )]
    PyTorch {
        /// The file.
        path: PathBuf,
        /// Its own text.
        message: String,
    },
    /// Something that would unpack to more than the file is.
    #[error(
        "{}: `{entry}` would unpack to {bytes} bytes, and the whole file has {file}: refused; \
         save its tensors again, by themselves, uncompressed and contiguous", path.display()
    )]
    Inflates {
        /// The file.
        path: PathBuf,
        /// The tensor, or the archive's entry.
        entry: String,
        /// The bytes it would take.
        bytes: u64,
        /// The bytes of the file.
        file: u64,
    },
    /// An index of shards that cannot be understood.
    #[error("{}: this index of shards: {message}", path.display())]
    Index {
        /// The index.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// An index that names a file elsewhere.
    #[error(
        "{}: the index puts `{tensor}` into {shard:?}, which is outside its own folder: refused",
        path.display()
    )]
    ShardOutside {
        /// The index.
        path: PathBuf,
        /// A tensor that is said to be there.
        tensor: String,
        /// The file.
        shard: String,
    },
    /// A shard that is not there.
    #[error(
        "{}: the index puts `{tensor}` into {shard:?}, which is not in its folder: fetch that \
         shard too", path.display()
    )]
    ShardMissing {
        /// The index.
        path: PathBuf,
        /// A tensor that is said to be there.
        tensor: String,
        /// The file.
        shard: String,
    },
    /// A shard without what the index says.
    #[error(
        "{}: `{tensor}` should be in this shard by its index, and is not: index and shards are not \
         of one checkpoint", path.display()
    )]
    NotInShard {
        /// The shard.
        path: PathBuf,
        /// The tensor.
        tensor: String,
    },
    /// No tensor of that name.
    #[error("{}: there is no tensor `{tensor}`{hint}", path.display())]
    NoTensor {
        /// The file.
        path: PathBuf,
        /// The name.
        tensor: String,
        /// The nearest name, in words.
        hint: String,
    },
    /// A dtype that Burn lacks.
    #[error(
        "{}: `{tensor}` at byte {offset} has dtype {dtype}, which Burn lacks: convert it first",
        path.display()
    )]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Where it begins in the file.
        offset: u64,
        /// The dtype's name in the file.
        dtype: String,
    },
    /// A bool that is neither false nor true.
    #[error(
        "{}: `{tensor}` at byte {offset} has the value {value}, where only 0 and 1 are bools",
        path.display()
    )]
    NotABool {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Where the value is in the file.
        offset: u64,
        /// The value.
        value: u8,
    },
    /// The file is not the one any more that was opened.
    #[error(
        "{}: `{tensor}` at byte {offset} cannot be read any more: the file became shorter while it \
         was open", path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Where it begins in the file.
        offset: u64,
    },
    /// There is a file already.
    #[error("{}: there is a file already: pass `overwrite` to replace it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A tensor could not be had to be written.
    #[error("{}: `{tensor}` could not be written: {message}", path.display())]
    Produce {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Why.
        message: String,
    },
}

impl CheckpointError {
    pub(crate) fn io(path: &Path, error: &io::Error) -> Self {
        let message = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            io::ErrorKind::PermissionDenied => "this may not be read or written: check the file's \
                 and the folder's permissions"
                .to_owned(),
            _ => error.to_string(),
        };
        Self::Io {
            path: path.to_owned(),
            kind: error.kind(),
            message,
        }
    }

    /// What Burn's writer of files says, in this crate's words where it has some.
    pub(crate) fn pack(path: &Path, error: burn_pack::Error) -> Self {
        use burn_pack::Error;
        let path = path.to_owned();
        match error {
            Error::AlreadyExists(_) => Self::Exists { path },
            Error::IoError(message) => Self::Io {
                path,
                kind: io::ErrorKind::Other,
                message,
            },
            other => Self::Burnpack {
                path,
                message: other.to_string(),
            },
        }
    }
}
