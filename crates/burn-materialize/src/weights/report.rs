//! What a load did, or would do.

use std::collections::BTreeMap;
use std::fmt;

use burn::tensor::DType;
use burn_meta::ByteCount;
use burn_weights::Copied;

use super::Layout;
use crate::error::Problem;

/// What a load did with each tensor of the module and each of the file, sorted by path or name.
///
/// Its `Display` is short: a line for each kind of outcome that there is, with the first few names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadReport {
    /// The layout that the file was read in; [`Layout::Auto`] where none could be told.
    pub layout: Layout,
    /// Tensors that the file gave.
    pub loaded: Vec<LoadedTensor>,
    /// Tensors that got their recorded initial value.
    pub initialised: Vec<String>,
    /// Tensors that were real before, and kept their value.
    pub kept: Vec<String>,
    /// Parameters and running states that the file has not.
    pub missing: Vec<Absent>,
    /// Tensors of the file that the module has not.
    pub unexpected: Vec<Absent>,
    /// Tensors of the file that are known to be of no use: `torch.nn`'s counts of batches.
    pub ignored: Vec<String>,
    /// What does not fit by shape or dtype, and whatever else is refused but missing and unexpected
    /// names.
    pub problems: Vec<Problem>,
    /// Tensors that changed their dtype on the way.
    pub casts: Vec<Cast>,
    /// Paths of a tie that the file has not, filled from the one that it has.
    pub ties: Vec<TieFilled>,
    /// Tensors that are copies, though they were to be views of the file.
    pub copies: Vec<CopyMade>,
}

/// A tensor that the file gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedTensor {
    /// Its path in the module.
    pub path: String,
    /// Its name in the file.
    pub name: String,
    /// Its bytes in the file.
    pub bytes: u64,
}

/// A name that is on one side only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// The path or, renamed, the name.
    pub name: String,
    /// What comes nearest to it on the other side.
    pub nearest: Option<String>,
    /// Whether a pattern allows it.
    pub allowed: bool,
}

/// A tensor that changed its dtype on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cast {
    /// Its path in the module.
    pub path: String,
    /// The file's dtype.
    pub from: DType,
    /// The module's.
    pub to: DType,
}

impl Cast {
    /// Whether the new dtype cannot hold every value of the old one.
    pub fn narrows(&self) -> bool {
        narrows(self.from, self.to)
    }
}

pub(crate) fn narrows(from: DType, to: DType) -> bool {
    // Bits of exponent and of mantissa; of value, for ints.
    let float = |dtype| match dtype {
        DType::F64 => Some((11, 52)),
        DType::F32 | DType::Flex32 => Some((8, 23)),
        DType::BF16 => Some((8, 7)),
        DType::F16 => Some((5, 10)),
        _ => None,
    };
    if let (Some(from), Some(to)) = (float(from), float(to)) {
        return to.0 < from.0 || to.1 < from.1;
    }
    let int = |dtype: DType| {
        let bits = dtype.size() as u32 * 8;
        if dtype.is_uint() {
            (0, bits)
        } else {
            (1, bits - 1)
        }
    };
    !to.is_bool() && (int(to).0 < int(from).0 || int(to).1 < int(from).1)
}

/// A path of a tie, filled from another one's tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TieFilled {
    /// The path that the file has not.
    pub path: String,
    /// The path whose tensor it shares.
    pub from: String,
}

/// A tensor that was copied on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyMade {
    /// Its path in the module.
    pub path: String,
    /// Why.
    pub reason: Copied,
    /// Its bytes.
    pub bytes: u64,
}

impl LoadReport {
    /// Bytes of tensors that the file gave.
    pub fn bytes(&self) -> u64 {
        self.loaded.iter().map(|loaded| loaded.bytes).sum()
    }

    /// Whether the load is done, or would be.
    pub fn is_accepted(&self) -> bool {
        let refused = |absent: &Absent| !absent.allowed;
        self.problems.is_empty()
            && !self.missing.iter().any(refused)
            && !self.unexpected.iter().any(refused)
    }

    /// Everything that stands against the load.
    pub(crate) fn refusals(&self) -> Vec<Problem> {
        let missing = self.missing.iter().filter(|absent| !absent.allowed);
        let missing = missing.map(|absent| Problem::Missing {
            path: absent.name.clone(),
            hint: hint(absent),
        });
        let unexpected = self.unexpected.iter().filter(|absent| !absent.allowed);
        let unexpected = unexpected.map(|absent| Problem::Unexpected {
            name: absent.name.clone(),
            hint: hint(absent),
        });
        let problems = self.problems.iter().cloned();
        problems.chain(missing).chain(unexpected).collect()
    }

    pub(crate) fn sort(&mut self) {
        self.loaded.sort_by(|a, b| a.path.cmp(&b.path));
        self.initialised.sort();
        self.kept.sort();
        self.missing.sort_by(|a, b| a.name.cmp(&b.name));
        self.unexpected.sort_by(|a, b| a.name.cmp(&b.name));
        self.ignored.sort();
        self.casts.sort_by(|a, b| a.path.cmp(&b.path));
        self.ties.sort_by(|a, b| a.path.cmp(&b.path));
        self.copies.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

fn hint(absent: &Absent) -> String {
    let nearest = absent.nearest.as_ref();
    nearest.map_or_else(String::new, |nearest| {
        format!(" (the nearest is `{nearest}`)")
    })
}

/// How many names a line shows.
const SHOWN: usize = 6;

/// `3: a, b, c`, or the first few of them.
fn list(f: &mut fmt::Formatter<'_>, what: &str, names: &[String]) -> fmt::Result {
    if names.is_empty() {
        return Ok(());
    }
    write!(
        f,
        "\n{what} {}: {}",
        names.len(),
        names[..names.len().min(SHOWN)].join(", ")
    )?;
    match names.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => write!(f, " and {more} more"),
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, bytes) = (self.loaded.len(), ByteCount(self.bytes()));
        write!(
            f,
            "loaded {count} tensors, {bytes}, in the layout of {}",
            self.layout
        )?;
        list(f, "initialised", &self.initialised)?;
        list(f, "kept", &self.kept)?;
        let absent = |absent: &Absent| match absent.allowed {
            true => format!("{} (allowed)", absent.name),
            false => format!("{}{}", absent.name, hint(absent)),
        };
        let missing: Vec<String> = self.missing.iter().map(absent).collect();
        list(f, "missing from the file", &missing)?;
        let unexpected: Vec<String> = self.unexpected.iter().map(absent).collect();
        list(f, "in the file only", &unexpected)?;
        list(f, "ignored", &self.ignored)?;
        let problems: Vec<String> = self.problems.iter().map(Problem::to_string).collect();
        list(f, "refused", &problems)?;
        let narrowed = |narrows: bool| -> Vec<String> {
            let casts = self.casts.iter().filter(|cast| cast.narrows() == narrows);
            let told = casts.map(|cast| format!("{} {:?} to {:?}", cast.path, cast.from, cast.to));
            told.collect()
        };
        list(f, "narrowed", &narrowed(true))?;
        list(f, "widened", &narrowed(false))?;
        let ties = self
            .ties
            .iter()
            .map(|tie| format!("{} from {}", tie.path, tie.from));
        list(f, "ties filled", &ties.collect::<Vec<_>>())?;
        let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for copy in &self.copies {
            reasons
                .entry(copy.reason.to_string())
                .or_default()
                .push(copy.path.clone());
        }
        for (reason, paths) in reasons {
            list(f, &format!("copied ({reason})"), &paths)?;
        }
        Ok(())
    }
}
