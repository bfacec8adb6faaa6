//! A checkpoint, and all that its headers say.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::path::Path;
use std::str::Chars;

use burn_weights::{Checkpoint, CheckpointError, FileInfo, TensorInfo};
use glob::Pattern;

/// An open checkpoint with all its headers read.
pub struct Source {
    pub checkpoint: Checkpoint,
    pub files: Vec<FileInfo>,
    /// In the order of names.
    pub tensors: Vec<TensorInfo>,
    /// Of the index and of the files, without ties.
    pub metadata: BTreeMap<String, String>,
    /// Other names, and the name of the tensor that each is one of.
    pub ties: BTreeMap<String, String>,
}

impl Source {
    pub fn open(path: &Path) -> Result<Self, CheckpointError> {
        let checkpoint = Checkpoint::open(path)?;
        let files: Vec<FileInfo> = checkpoint.file_infos().collect::<Result<_, _>>()?;
        let tensors = checkpoint.tensors()?;
        let all = all_metadata(&checkpoint, &files);
        let (ties, metadata) = all
            .into_iter()
            .partition(|(other, name)| checkpoint.contains(name) && !checkpoint.contains(other));
        Ok(Self {
            checkpoint,
            files,
            tensors,
            metadata,
            ties,
        })
    }

    /// Every name with what it names: the tensors' own and the others by ties.
    pub fn by_name(&self) -> BTreeMap<&str, &TensorInfo> {
        let tensors = self.tensors.iter();
        let mut all: BTreeMap<&str, &TensorInfo> =
            tensors.map(|info| (info.name.as_str(), info)).collect();
        for (other, name) in &self.ties {
            if let Some(info) = all.get(name.as_str()).copied() {
                all.insert(other, info);
            }
        }
        all
    }
}

/// What the files say, and what the index says over it.
pub fn all_metadata(checkpoint: &Checkpoint, files: &[FileInfo]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for metadata in files.iter().map(|file| &file.metadata) {
        all.extend(metadata.clone());
    }
    all.extend(checkpoint.metadata().clone());
    all
}

/// Whether a name matches one of the patterns, or there is none.
pub fn is_chosen(name: &str, patterns: &[Pattern]) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(name))
}

/// The elements of a shape. A dtype that nobody knows may claim any shape.
pub fn elements(shape: &[usize]) -> u64 {
    let dims = shape.iter().map(|dim| *dim as u64);
    if dims.clone().any(|dim| dim == 0) {
        return 0;
    }
    dims.fold(1, u64::saturating_mul)
}

/// Where the element at `position` is in `shape`.
pub fn place(mut position: u64, shape: &[usize]) -> Vec<u64> {
    let mut place: Vec<u64> = shape
        .iter()
        .rev()
        .map(|dim| {
            let dim = (*dim as u64).max(1);
            let here = position % dim;
            position /= dim;
            here
        })
        .collect();
    place.reverse();
    place
}

/// The order of names in which `layer.10` comes after `layer.9`.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.chars().peekable(), b.chars().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            // Names that differ in leading zeros only are still two.
            (None, None) => return a.cmp(b),
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                number(&mut left).cmp(&number(&mut right))
            }
            (x, y) => x.cmp(&y),
        };
        if order != Ordering::Equal {
            return order;
        }
        left.next();
        right.next();
    }
}

/// Digits without leading zeros, by their number and then by themselves. Leaves the last one to
/// be passed over.
fn number(letters: &mut Peekable<Chars<'_>>) -> (usize, String) {
    let mut digits = String::new();
    loop {
        let digit = *letters.peek().expect("there is a digit");
        if !digits.is_empty() || digit != '0' {
            digits.push(digit);
        }
        let mut ahead = letters.clone();
        ahead.next();
        if !ahead.peek().is_some_and(char::is_ascii_digit) {
            return (digits.len(), digits);
        }
        letters.next();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ordered_by_their_numbers() {
        let mut names = [
            "b",
            "a.10.w",
            "a.9.w",
            "a",
            "a.9",
            "a.09.w",
            "a.100000000000000000000",
        ];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(
            names,
            [
                "a",
                "a.9",
                "a.09.w",
                "a.9.w",
                "a.10.w",
                "a.100000000000000000000",
                "b"
            ]
        );
    }

    #[test]
    fn positions_are_places() {
        assert_eq!(place(7, &[2, 3, 2]), [1, 0, 1]);
        assert_eq!(place(0, &[]), [0_u64; 0]);
        assert_eq!(elements(&[usize::MAX, 3]), u64::MAX);
        assert_eq!(elements(&[usize::MAX, 3, 0]), 0);
        assert_eq!(elements(&[]), 1);
    }
}
