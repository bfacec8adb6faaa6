//! Which tensor of a file goes where: found in the headers, before anything is read.

use std::collections::{BTreeMap, HashMap, HashSet};

use burn::module::ParamId;
use burn::tensor::kind::Kind;
use burn::tensor::{DType, Shape};
use burn_meta::DefaultDTypes;
use burn_weights::{CheckpointError, FileDType, nearest};

use super::layout::tell;
use super::names::{Candidate, Lineage};
use super::report::{Absent, Cast, LoadReport, LoadedTensor, TieFilled};
use super::values::{FileTensor, Reader};
use super::{DTypePolicy, Layout, Progress, Weights};
use crate::Materialize;
use crate::error::{MaterializeError, Problem};
use crate::inventory::{Entry, State};
use crate::site::{Role, Site};
use crate::slot::Slot;
use crate::traversal::{Pass, traverse};

/// A tensor of the module, with what its names follow from.
pub(crate) struct Leaf {
    pub(crate) entry: Entry,
    pub(crate) lineage: Lineage,
    /// The shape that Burn's records hold of it, where the parameter has a mapper for them.
    pub(crate) stored: Option<Shape>,
}

#[derive(Default)]
struct Leaves(Vec<Leaf>);

impl Pass for Leaves {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        self.0.push(Leaf {
            entry: Entry::new(site, slot),
            lineage: Lineage::of(site),
            stored: slot.stored_shape(),
        });
    }
}

/// The names of a file as the rules make them, with the file's own.
pub(crate) struct Names {
    originals: BTreeMap<String, String>,
    /// Other names of ties, by the metadata.
    ties: BTreeMap<String, String>,
}

impl Names {
    fn new(weights: &Weights, problems: &mut Vec<Problem>) -> Self {
        let mut originals: BTreeMap<String, String> = BTreeMap::new();
        for name in weights.checkpoint.names() {
            let renamed = weights.renamed(name);
            if !weights.considers(&renamed) {
                continue;
            }
            if let Some(first) = originals.insert(renamed.clone(), name.to_owned()) {
                problems.push(Problem::RenamedTogether {
                    names: vec![first, name.to_owned()],
                    to: renamed,
                });
            }
        }
        let ties = weights.checkpoint.ties();
        let ties = ties.map(|(other, name)| (weights.renamed(other), name.to_owned()));
        Self {
            originals,
            ties: ties.collect(),
        }
    }

    /// The name in the file.
    pub(crate) fn original(&self, name: &str) -> Option<&str> {
        let original = self.originals.get(name).or_else(|| self.ties.get(name));
        original.map(String::as_str)
    }
}

/// Where each tensor comes from.
pub(crate) struct Matching<'w> {
    pub(crate) weights: &'w Weights,
    pub(crate) sources: HashMap<String, (FileTensor, DType)>,
    pub(crate) report: LoadReport,
}

/// Match the tensors of `module` with those of the file. `declared` is the dtype that a tensor has
/// or will have by itself.
pub(crate) fn match_weights<'w, M: Materialize>(
    module: &M,
    weights: &'w Weights,
    declared: &dyn Fn(&Entry) -> DType,
) -> Result<Matching<'w>, MaterializeError> {
    let mut leaves = Leaves::default();
    traverse(module.clone(), &mut leaves);
    let mut leaves = leaves.0;
    let paths: Vec<String> = leaves.iter().map(|leaf| leaf.entry.path.clone()).collect();
    leaves.retain(|leaf| weights.considers(&leaf.entry.path));
    let mut problems = Vec::new();
    let names = Names::new(weights, &mut problems);
    let layout = match weights.layout {
        Layout::Auto => tell(&weights.checkpoint, &names, &leaves)?,
        layout => Some(layout),
    };
    if layout.is_none() {
        problems.push(Problem::LayoutUnknown);
    }
    let mut matcher = Matcher {
        weights,
        names,
        layout: layout.unwrap_or(Layout::PyTorch),
        declared,
        found: HashMap::new(),
        used: HashSet::new(),
        unfit: HashSet::new(),
        problems,
    };
    for leaf in &leaves {
        matcher.find(leaf)?;
    }
    let ties = matcher.fill_ties(&leaves)?;
    Ok(matcher.report(&leaves, &paths, ties, layout))
}

struct Matcher<'w, 'd> {
    weights: &'w Weights,
    names: Names,
    layout: Layout,
    declared: &'d dyn Fn(&Entry) -> DType,
    found: HashMap<String, (FileTensor, DType)>,
    /// Names, as renamed, that some tensor took.
    used: HashSet<String>,
    /// Paths whose tensor in the file does not fit.
    unfit: HashSet<String>,
    problems: Vec<Problem>,
}

impl<'w> Matcher<'w, '_> {
    /// Take the first name that the file has and whose tensor fits.
    fn find(&mut self, leaf: &Leaf) -> Result<(), CheckpointError> {
        let rank = leaf.entry.shape.num_dims();
        let mut first_problem = None;
        for candidate in leaf.lineage.candidates(self.layout, rank) {
            let Some(original) = self.names.original(&candidate.name).map(str::to_owned) else {
                continue;
            };
            match self.fit(leaf, &candidate, &original)? {
                Ok(found) => {
                    self.used.insert(candidate.name);
                    self.found.insert(leaf.entry.path.clone(), found);
                    return Ok(());
                }
                Err(problem) => {
                    first_problem.get_or_insert((candidate.name, problem));
                }
            }
        }
        if let Some((name, problem)) = first_problem {
            self.used.insert(name);
            self.unfit.insert(leaf.entry.path.clone());
            self.problems.push(*problem);
        }
        Ok(())
    }

    /// Check what the header says of a tensor against the module's.
    fn fit(
        &self,
        leaf: &Leaf,
        candidate: &Candidate,
        original: &str,
    ) -> Result<Result<(FileTensor, DType), Box<Problem>>, CheckpointError> {
        let info = self.weights.checkpoint.tensor(original)?;
        let path = || leaf.entry.path.clone();
        let FileDType::Burn(dtype) = info.dtype else {
            return Ok(Err(Box::new(Problem::ForeignDType {
                path: path(),
                name: original.to_owned(),
                dtype: info.dtype.name(),
            })));
        };
        let as_record = candidate.as_record && leaf.stored.is_some();
        let mut part = match (&leaf.stored, as_record) {
            (Some(stored), true) => stored.as_slice().to_vec(),
            _ => value_shape(leaf),
        };
        if candidate.transposed {
            part.reverse();
        }
        let (place, of) = candidate.part.unwrap_or((0, 1));
        let mut whole = part.clone();
        if let Some(rows) = whole.first_mut() {
            *rows = rows.saturating_mul(of);
        }
        if info.shape != whole {
            return Ok(Err(Box::new(Problem::FileShape {
                path: path(),
                name: original.to_owned(),
                expected: whole.clone(),
                found: info.shape.clone(),
                hint: match info.shape.iter().rev().eq(&whole) && whole.len() == 2 {
                    true => "; it is the transposed one: is it of the other layout?",
                    false => "",
                },
            })));
        }
        if kind_of(dtype) != leaf.entry.kind {
            return Ok(Err(Box::new(Problem::FileKind {
                path: path(),
                name: original.to_owned(),
                expected: leaf.entry.kind.as_str(),
                found: dtype,
            })));
        }
        let share = info.bytes / of as u64;
        let tensor = FileTensor {
            name: original.to_owned(),
            dtype,
            shape: part,
            bytes: share * place as u64..share * (place as u64 + 1),
            transposed: candidate.transposed,
            as_record,
        };
        Ok(Ok((tensor, self.dtype(&leaf.entry, dtype))))
    }

    fn dtype(&self, entry: &Entry, file: DType) -> DType {
        match self.weights.dtypes {
            DTypePolicy::Module => (self.declared)(entry),
            DTypePolicy::File => file,
            DTypePolicy::Float(float) if entry.kind == Kind::Float => float.into(),
            DTypePolicy::Float(_) => (self.declared)(entry),
        }
    }

    /// Give each path of a tie what the file has for one of them.
    fn fill_ties(&mut self, leaves: &[Leaf]) -> Result<Vec<TieFilled>, MaterializeError> {
        let mut groups: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for leaf in leaves {
            if let Some(id) = leaf.entry.id.map(|id: ParamId| id.val()) {
                groups.entry(id).or_default().push(&leaf.entry.path);
            }
        }
        let mut filled = Vec::new();
        for paths in groups.into_values().filter(|paths| paths.len() > 1) {
            let there: Vec<&str> = paths
                .iter()
                .copied()
                .filter(|path| self.found.contains_key(*path))
                .collect();
            let Some(first) = there.first() else { continue };
            let tensor = self.found[*first].clone();
            for other in &there[1..] {
                if !self.same_values(&tensor.0, &self.found[*other].0)? {
                    self.problems.push(Problem::TieDiffers {
                        paths: vec![(*first).to_owned(), (*other).to_owned()],
                        names: vec![tensor.0.name.clone(), self.found[*other].0.name.clone()],
                    });
                }
            }
            for path in paths {
                let absent = self.found.insert(path.to_owned(), tensor.clone()).is_none();
                if absent && !self.unfit.contains(path) {
                    filled.push(TieFilled {
                        path: path.to_owned(),
                        from: (*first).to_owned(),
                    });
                }
            }
        }
        Ok(filled)
    }

    /// Whether two tensors of the file are one, or hold the same bits.
    fn same_values(&self, a: &FileTensor, b: &FileTensor) -> Result<bool, MaterializeError> {
        if a == b {
            return Ok(true);
        }
        if a.dtype != b.dtype {
            return Ok(false);
        }
        let progress = Progress { done: 0, total: 0 };
        let weights = self.weights;
        let reader = Reader { weights, progress };
        let (left, right) = (reader.data(a)?.0, reader.data(b)?.0);
        if a.transposed == b.transposed && a.as_record == b.as_record {
            return Ok(left == right);
        }
        // One is held transposed: compare it element by element.
        let (&[rows, columns], width) = (&a.shape[..], a.dtype.size()) else {
            return Ok(false);
        };
        let (left, right) = (left.bytes(), right.bytes());
        let at = |bytes: &[u8], index: usize| bytes[index * width..][..width].to_vec();
        Ok((0..rows * columns).all(|index| {
            let (row, column) = (index / columns, index % columns);
            at(left, index) == at(right, column * rows + row)
        }))
    }

    fn report(
        self,
        leaves: &[Leaf],
        paths: &[String],
        ties: Vec<TieFilled>,
        layout: Option<Layout>,
    ) -> Matching<'w> {
        let Self {
            weights,
            names,
            found,
            used,
            unfit,
            problems,
            ..
        } = self;
        let mut report = LoadReport {
            layout: layout.unwrap_or(Layout::Auto),
            problems,
            ties,
            ..LoadReport::default()
        };
        let mut ids = HashSet::new();
        for leaf in leaves {
            let Entry { path, id, .. } = &leaf.entry;
            match found.get(path) {
                Some((tensor, dtype)) => {
                    if id.is_some_and(|id| !ids.insert(id)) {
                        continue;
                    }
                    report.loaded.push(LoadedTensor {
                        path: path.clone(),
                        name: tensor.name.clone(),
                        bytes: tensor.len(),
                    });
                    if tensor.dtype != *dtype {
                        report.casts.push(Cast {
                            path: path.clone(),
                            from: tensor.dtype,
                            to: *dtype,
                        });
                    }
                }
                None if unfit.contains(path) => {}
                None => {
                    match leaf.entry.state {
                        State::Meta => report.initialised.push(path.clone()),
                        State::Lazy | State::Real => report.kept.push(path.clone()),
                    }
                    // What a constructor computed is in no checkpoint unless somebody put it there.
                    if leaf.entry.role != Role::Buffer {
                        report.missing.push(Absent {
                            name: path.clone(),
                            nearest: None,
                            allowed: weights.may_be_missing(path),
                        });
                    }
                }
            }
        }
        let norms = leaves.iter().map(|leaf| &leaf.lineage);
        let norms: Vec<&Lineage> = norms.filter(|lineage| lineage.is_batch_norm()).collect();
        for name in names.originals.keys().filter(|name| !used.contains(*name)) {
            if norms.iter().any(|norm| norm.counts_batches(name)) {
                report.ignored.push(name.clone());
            } else {
                report.unexpected.push(Absent {
                    name: name.clone(),
                    nearest: None,
                    allowed: weights.may_be_unexpected(name),
                });
            }
        }
        if found.is_empty() && unfit.is_empty() && !paths.is_empty() {
            let first = |names: &mut dyn Iterator<Item = &str>| -> Vec<String> {
                names.take(5).map(str::to_owned).collect()
            };
            report.problems.push(Problem::NothingMatched {
                module: first(&mut paths.iter().map(String::as_str)),
                file: first(&mut names.originals.keys().map(String::as_str)),
            });
        }
        suggest(&mut report);
        report.sort();
        Matching {
            weights,
            sources: found,
            report,
        }
    }
}

/// Say what comes nearest to the first of the names that are on one side only.
fn suggest(report: &mut LoadReport) {
    const TOLD: usize = 50;
    let missing: Vec<String> = report
        .missing
        .iter()
        .map(|absent| absent.name.clone())
        .collect();
    let unexpected = report.unexpected.iter().map(|absent| absent.name.clone());
    let unexpected: Vec<String> = unexpected.collect();
    for (absents, others) in [
        (&mut report.missing, &unexpected),
        (&mut report.unexpected, &missing),
    ] {
        for absent in absents.iter_mut().take(TOLD) {
            let near = nearest(&absent.name, others.iter().map(String::as_str));
            absent.nearest = near.map(str::to_owned);
        }
    }
}

/// The dtype that a tensor has, or will have when Burn initialises it.
pub(crate) fn own_dtype(entry: &Entry) -> DType {
    entry
        .dtype
        .unwrap_or_else(|| DefaultDTypes::of(&entry.device).float.into())
}

/// The shape of the parameter's value. What is lazy shows the one of its record.
fn value_shape(leaf: &Leaf) -> Vec<usize> {
    let mut shape = leaf.entry.shape.as_slice().to_vec();
    if leaf.entry.state == State::Lazy && leaf.stored.is_some() {
        shape.reverse();
    }
    shape
}

fn kind_of(dtype: DType) -> Kind {
    match dtype {
        dtype if dtype.is_float() => Kind::Float,
        dtype if dtype.is_bool() => Kind::Bool,
        _ => Kind::Int,
    }
}
