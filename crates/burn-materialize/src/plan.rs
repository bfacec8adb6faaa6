//! Where each tensor's values come from, with everything checked before anything is allocated.

use std::collections::{BTreeMap, HashMap, HashSet};

use burn::module::ParamId;
use burn::tensor::{DType, Device, Shape};
use burn_meta::TensorId;
use burn_weights::hint;

use crate::Materialize;
use crate::error::{MaterializeError, Problem, Problems};
use crate::inventory::{Entry, Inventory, State};
use crate::limits::{Demand, exceeded};
use crate::recipes::{Origin, Recipes, Root};
use crate::site::Role;
use crate::traversal::traverse;
use crate::weights::{FileTensor, LoadReport, Matching, Weights};

/// Which tensors a plan fills.
#[derive(Clone, Copy)]
pub(crate) enum Target<'t> {
    /// Meta tensors whose path is selected, on a device; what is real is left alone.
    Meta {
        device: &'t Device,
        select: &'t dyn Fn(&str) -> bool,
    },
    /// Every tensor whose path is selected, where it is and as it is.
    All { select: &'t dyn Fn(&str) -> bool },
}

impl<'t> Target<'t> {
    fn select(&self) -> &'t dyn Fn(&str) -> bool {
        match self {
            Self::Meta { select, .. } | Self::All { select } => *select,
        }
    }
}

/// Where the values of a tensor come from.
pub(crate) enum Source<'r> {
    Recipe(&'r Root),
    File(FileTensor),
}

/// One tensor to produce.
pub(crate) struct Item<'r> {
    pub(crate) source: Source<'r>,
    pub(crate) shape: Shape,
    pub(crate) dtype: DType,
    pub(crate) device: Device,
}

impl Item<'_> {
    pub(crate) fn bytes(&self) -> u64 {
        let elements = self.shape.iter().map(|dim| *dim as u64);
        elements.fold(self.dtype.size() as u64, u64::saturating_mul)
    }
}

/// A checked plan: nothing in it can be refused any more.
pub(crate) struct Plan<'r> {
    pub(crate) recipes: &'r Recipes,
    pub(crate) items: HashMap<String, Item<'r>>,
    /// Roots that several tensors share, under ids of their own.
    pub(crate) shared: HashSet<TensorId>,
    /// The file that some of them come from.
    pub(crate) weights: Option<&'r Weights>,
    /// Who holds the tensor of a path: several paths of a tie do together.
    holders: HashMap<String, ParamId>,
}

impl<'r> Plan<'r> {
    /// Decide where each tensor's values come from, and find every problem.
    pub(crate) fn new<M: Materialize>(
        module: &M,
        recipes: &'r Recipes,
        target: Target<'_>,
    ) -> Result<Self, MaterializeError> {
        Ok(Self::with_weights(module, recipes, target, None)?.0)
    }

    /// The same with a file: what it has is loaded, the rest is made by its recipe.
    pub(crate) fn with_weights<M: Materialize>(
        module: &M,
        recipes: &'r Recipes,
        target: Target<'_>,
        matching: Option<Matching<'r>>,
    ) -> Result<(Self, LoadReport), MaterializeError> {
        let (weights, mut files, report) = match matching {
            Some(matching) => (Some(matching.weights), matching.sources, matching.report),
            None => (None, HashMap::new(), LoadReport::default()),
        };
        let mut inventory = Inventory::default();
        traverse(module.clone(), &mut inventory);
        let Inventory {
            entries, hidden, ..
        } = inventory;
        let hidden = hidden.into_iter();
        let mut problems: Vec<Problem> = hidden
            .map(|(path, module)| Problem::Hidden { path, module })
            .collect();
        problems.extend(report.refusals());
        problems.extend(recipes.problems().iter().cloned());
        problems.extend(conflicting_ids(&entries));
        problems.extend(unknown_paths(recipes, &entries));

        let mut plan = Self {
            recipes,
            items: HashMap::new(),
            shared: HashSet::new(),
            weights,
            holders: HashMap::new(),
        };
        let mut used: HashMap<TensorId, Option<ParamId>> = HashMap::new();
        let select = target.select();
        // What a file does not match is told by the match.
        let is_filtered = weights.is_none() && !entries.is_empty();
        if is_filtered && !entries.iter().any(|entry| select(&entry.path)) {
            let examples = entries
                .iter()
                .take(5)
                .map(|entry| entry.path.clone())
                .collect();
            problems.push(Problem::NothingSelected { examples });
        }
        for entry in selection(&entries, target, &files) {
            let item = match files.remove(&entry.path) {
                Some(file) => file_item(entry, file, target).map(Some),
                None => plan.item(entry, &entries, target),
            };
            match item {
                Ok(Some(item)) => {
                    if let Source::Recipe(root) = item.source
                        && used
                            .insert(root.tensor, entry.id)
                            .is_some_and(|id| id.is_none() || id != entry.id)
                    {
                        plan.shared.insert(root.tensor);
                    }
                    plan.holders
                        .extend(entry.id.map(|id| (entry.path.clone(), id)));
                    plan.items.insert(entry.path.clone(), item);
                }
                Ok(None) => {}
                Err(problem) => problems.push(problem),
            }
        }
        if let Target::Meta { device, .. } = target {
            problems.extend(plan.exceeded(device));
        }
        if problems.is_empty() {
            Ok((plan, report))
        } else {
            Err(MaterializeError::Refused(Problems(problems)))
        }
    }

    fn item(
        &self,
        entry: &Entry,
        entries: &[Entry],
        target: Target<'_>,
    ) -> Result<Option<Item<'r>>, Problem> {
        let path = || entry.path.clone();
        let Some(root) = self.root(entry, entries) else {
            // What a real buffer holds was computed once and stays.
            return match (entry.role, entry.state) {
                (Role::Buffer, State::Real) => Ok(None),
                _ => Err(Problem::NoSource {
                    path: path(),
                    module: entry.module.clone(),
                }),
            };
        };
        let recipe = self
            .recipes
            .recipe(root)
            .and_then(|recipe| recipe.check().map(|()| recipe))
            .map_err(|source| Problem::Recipe {
                path: path(),
                source: Box::new(source),
            })?;
        debug_assert_eq!(recipe.shape(), &root.shape);
        if !entry.has_shape(&root.shape) {
            let (expected, found) = (entry.shape.clone(), root.shape.clone());
            return Err(Problem::Shape {
                path: path(),
                expected,
                found,
            });
        }
        let recorded = entry.dtype.unwrap_or(root.dtype);
        let (dtype, device) = match target {
            Target::Meta { device, .. } => {
                if recorded != root.dtype {
                    let (expected, found) = (recorded, root.dtype);
                    return Err(Problem::DType {
                        path: path(),
                        expected,
                        found,
                    });
                }
                (self.recipes.dtype_on(recorded, device), device.clone())
            }
            Target::All { .. } => (recorded, entry.device.clone()),
        };
        let device = on(entry, dtype, device)?;
        Ok(Some(Item {
            source: Source::Recipe(root),
            shape: root.shape.clone(),
            dtype,
            device,
        }))
    }

    /// What the device cannot hold. A tensor at several paths is held once.
    fn exceeded(&self, device: &Device) -> Vec<Problem> {
        let mut once: BTreeMap<&str, &Item<'_>> = BTreeMap::new();
        let mut paths: Vec<&String> = self.items.keys().collect();
        paths.sort_unstable();
        let (mut roots, mut ids) = (HashSet::new(), HashSet::new());
        for path in paths {
            let item = &self.items[path];
            let is_new = match item.source {
                Source::Recipe(root) => roots.insert(root.tensor),
                Source::File(_) => self.holders.get(path).is_none_or(|id| ids.insert(*id)),
            };
            if is_new {
                once.insert(path, item);
            }
        }
        let demands = once.into_iter().map(|(path, item)| Demand {
            path,
            bytes: item.bytes(),
        });
        exceeded(device, &demands.collect::<Vec<_>>())
    }

    /// A tie has one value: the one declared at any of its paths, else the recorded one.
    fn root(&self, entry: &Entry, entries: &[Entry]) -> Option<&'r Root> {
        let own = self.recipes.root(&entry.path);
        let Some(id) = entry.id else { return own };
        if own.is_some_and(|root| root.origin == Origin::Declared) {
            return own;
        }
        let tied = entries
            .iter()
            .filter(|other| other.id == Some(id) && other.path != entry.path);
        let mut roots = tied.filter_map(|other| self.recipes.root(&other.path));
        roots.find(|root| root.origin == Origin::Declared).or(own)
    }
}

/// What a file gives: in the dtype that the match found, where the tensor is or will be.
fn file_item<'r>(
    entry: &Entry,
    (file, dtype): (FileTensor, DType),
    target: Target<'_>,
) -> Result<Item<'r>, Problem> {
    let device = match target {
        Target::Meta { device, .. } if entry.state == State::Meta => device.clone(),
        _ => entry.device.clone(),
    };
    let device = on(entry, dtype, device)?;
    Ok(Item {
        source: Source::File(file),
        shape: entry.shape.clone(),
        dtype,
        device,
    })
}

/// The device without autodiff, if it has the dtype.
fn on(entry: &Entry, dtype: DType, device: Device) -> Result<Device, Problem> {
    let device = device.without_autodiff();
    match device.supports_dtype(dtype) {
        true => Ok(device),
        false => Err(Problem::Unsupported {
            path: entry.path.clone(),
            dtype,
            device,
        }),
    }
}

/// The entries a plan fills. A tie is selected whole; what is real already is left alone, unless the
/// file has it.
fn selection<'e>(
    entries: &'e [Entry],
    target: Target<'_>,
    files: &HashMap<String, (FileTensor, DType)>,
) -> Vec<&'e Entry> {
    let select = target.select();
    let eligible = |entry: &&Entry| match target {
        Target::Meta { .. } => entry.state == State::Meta || files.contains_key(&entry.path),
        Target::All { .. } => true,
    };
    let chosen: HashSet<Option<ParamId>> = entries
        .iter()
        .filter(|entry| select(&entry.path))
        .map(|entry| entry.id)
        .collect();
    entries
        .iter()
        .filter(|entry| select(&entry.path) || (entry.id.is_some() && chosen.contains(&entry.id)))
        .filter(eligible)
        .collect()
}

fn conflicting_ids(entries: &[Entry]) -> Vec<Problem> {
    let mut by_id: BTreeMap<u64, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        if let Some(id) = entry.id {
            by_id.entry(id.val()).or_default().push(entry);
        }
    }
    let differ = |group: &Vec<&Entry>| {
        group
            .iter()
            .any(|entry| entry.tensor != group[0].tensor || entry.shape != group[0].shape)
    };
    let conflicts = by_id.into_values().filter(differ);
    conflicts
        .map(|group| Problem::OneIdTwoTensors {
            paths: group.into_iter().map(|entry| entry.path.clone()).collect(),
        })
        .collect()
}

fn unknown_paths(recipes: &Recipes, entries: &[Entry]) -> Vec<Problem> {
    let known: HashSet<&str> = entries.iter().map(|entry| entry.path.as_str()).collect();
    let mut unknown: Vec<&String> = recipes
        .paths()
        .filter(|path| !known.contains(path.as_str()))
        .collect();
    unknown.sort();
    unknown
        .into_iter()
        .map(|path| Problem::UnknownPath {
            path: path.clone(),
            hint: hint(path, known.iter().copied()),
        })
        .collect()
}
