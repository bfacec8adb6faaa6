//! The checkpoint that a folder holds.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::CheckpointError;

/// What to open of a folder.
pub(crate) enum Found {
    /// An index, or a file.
    File(PathBuf),
    /// All parts of a checkpoint without an index.
    Parts(Vec<PathBuf>),
}

/// Which endings an index has, and which the files that it would name. The same weights are often
/// there in several; safetensors is the one to prefer.
const KINDS: [(&str, &[&str]); 3] = [
    (".safetensors.index.json", &[".safetensors"]),
    (".bpk.index.json", &[".bpk"]),
    (".index.json", &[".pt", ".pth", ".bin"]),
];

/// The index in it; else the one whole file of tensors in it, whatever parts are beside it: those
/// are what an interrupted save left; else the parts of one name.
pub(crate) fn find(folder: &Path) -> Result<Found, CheckpointError> {
    let names = names(folder).map_err(|error| CheckpointError::io(folder, &error))?;
    let several = |files: Vec<&String>| CheckpointError::SeveralInFolder {
        path: folder.to_owned(),
        files: files.into_iter().cloned().collect(),
    };
    for (index, files) in KINDS {
        let ending = |endings: &[&str]| -> Vec<&String> {
            let ends = |name: &&String| endings.iter().any(|ending| name.ends_with(ending));
            names.iter().filter(ends).collect()
        };
        match ending(&[index]).as_slice() {
            [index] => return Ok(Found::File(folder.join(index))),
            [] => {}
            indices => return Err(several(indices.to_vec())),
        }
        let files = ending(files);
        let (parts, whole): (Vec<&String>, Vec<&String>) =
            files.iter().partition(|name| part_of(name).is_some());
        match (whole.as_slice(), parts.as_slice()) {
            ([file], _) => return Ok(Found::File(folder.join(file))),
            ([], []) => {}
            ([], [first, rest @ ..]) => {
                let shape = shape(first);
                if rest.iter().any(|name| self::shape(name) != shape) {
                    return Err(several(files));
                }
                check_complete(folder, &parts)?;
                let parts = parts.iter().map(|name| folder.join(name));
                return Ok(Found::Parts(parts.collect()));
            }
            _ => return Err(several(files)),
        }
    }
    Err(CheckpointError::NothingInFolder {
        path: folder.to_owned(),
    })
}

/// The names of its files, sorted. A link is a file, even where nothing is behind it any more: that
/// is then said of it.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if !folder.join(&name).is_dir() {
            names.extend(name.into_string());
        }
    }
    names.sort();
    Ok(names)
}

/// What is before, between and after the numbers of a part, and these: `model-00001-of-00002.bpk`.
fn part_of(name: &str) -> Option<(&str, &str, &str, &str)> {
    let (before, after) = name.rsplit_once("-of-")?;
    let (stem, number) = before.rsplit_once('-')?;
    let (count, _) = after.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_part = is_number(number) && is_number(count);
    is_part.then(|| (stem, number, count, &after[count.len()..]))
}

/// A name without the number that tells parts apart.
fn shape(name: &str) -> Option<(&str, &str, &str)> {
    part_of(name).map(|(stem, _, count, ending)| (stem, count, ending))
}

/// As many parts as each of them says there are.
fn check_complete(folder: &Path, parts: &[&String]) -> Result<(), CheckpointError> {
    let Some((stem, number, count, ending)) = parts.first().and_then(|first| part_of(first)) else {
        return Ok(());
    };
    if count.parse() == Ok(parts.len()) {
        return Ok(());
    }
    let width = number.len();
    let mut names = (1..).map(|part: usize| format!("{stem}-{part:0width$}-of-{count}{ending}"));
    let missing = names.find(|name| !parts.contains(&name));
    Err(CheckpointError::PartMissing {
        path: folder.to_owned(),
        part: missing.expect("parts are finite"),
    })
}
