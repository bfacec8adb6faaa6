//! The sources of a recorded module's values, by path.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use burn::tensor::kind::BridgeTensor;
use burn::tensor::{DType, Device, Shape};
use burn_meta::{DefaultDTypes, DrawKey, Recipe, RecipeError, RecipeKind, Recording, TensorId};

use crate::Materialize;
use crate::error::Problem;
use crate::init_plan::{Declarations, Declared};
use crate::init_rng::InitRng;
use crate::inventory::{Entry, State, inventory};

/// How each tensor of a module is made: what its constructor recorded, and over that what its
/// hooks declared.
#[derive(Clone, Debug, Default)]
pub struct Recipes {
    recording: Recording,
    roots: HashMap<String, Root>,
    draws: HashMap<TensorId, Draw>,
    /// The defaults it was recorded with, where they stand for those of whatever device it goes
    /// to.
    open_defaults: Option<DefaultDTypes>,
    /// What hooks got wrong.
    problems: Vec<Problem>,
    rng: InitRng,
}

/// The tensor whose recipe gives a path its value.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) tensor: TensorId,
    pub(crate) shape: Shape,
    pub(crate) dtype: DType,
    pub(crate) origin: Origin,
}

/// Who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Recorded,
    Declared,
    Default,
}

/// What the key of a random draw is made of, beside the seed: the first path, in the traversal of
/// the whole module, whose recipe contains the draw, and its place among the draws of that recipe.
#[derive(Clone, Debug)]
struct Draw {
    path: Arc<str>,
    place: u32,
    /// A tensor whose recipe contains the draw.
    tensor: TensorId,
    /// Whether another tensor's does as well.
    is_shared: bool,
}

impl Recipes {
    pub(crate) fn new(
        recording: Recording,
        entries: &[Entry],
        declarations: Declarations,
        open_defaults: Option<DefaultDTypes>,
    ) -> Self {
        let mut recipes = Self {
            open_defaults,
            ..Self::default()
        };
        recipes.record(recording, entries, declarations);
        recipes
    }

    /// Add what another scope recorded, and the roots of the module as it now is. Draws that have
    /// their key keep it.
    pub(crate) fn record(
        &mut self,
        recording: Recording,
        entries: &[Entry],
        declarations: Declarations,
    ) {
        self.recording.extend(recording);
        self.problems = declarations.problems;
        let recorded = entries.iter().filter_map(|entry| {
            let (tensor, dtype) = (entry.tensor?, entry.dtype?);
            let shape = entry.shape.clone();
            Some((
                entry.path.clone(),
                Root {
                    tensor,
                    shape,
                    dtype,
                    origin: Origin::Recorded,
                },
            ))
        });
        self.roots.extend(recorded);
        self.roots
            .extend(declarations.values.into_iter().map(|(path, declared)| {
                let Declared {
                    tensor,
                    shape,
                    dtype,
                    default,
                } = declared;
                let origin = if default {
                    Origin::Default
                } else {
                    Origin::Declared
                };
                (
                    path,
                    Root {
                        tensor,
                        shape,
                        dtype,
                        origin,
                    },
                )
            }));
        for entry in entries {
            let Some(root) = self.roots.get(&entry.path) else {
                continue;
            };
            // A recipe that cannot be made has no draws; the check of the plan says why.
            let Ok(recipe) = self.recording.recipe(root.tensor) else {
                continue;
            };
            let mut path = None;
            for (place, draw) in (0..).zip(recipe.draws()) {
                let path = path.get_or_insert_with(|| Arc::<str>::from(entry.path.as_str()));
                let draw = self.draws.entry(draw).or_insert_with(|| Draw {
                    path: path.clone(),
                    place,
                    tensor: root.tensor,
                    is_shared: false,
                });
                draw.is_shared |= draw.tensor != root.tensor;
            }
        }
    }

    /// Forget the roots of what is not real by now; those are recorded anew.
    pub(crate) fn keep_roots_of_real(&mut self, entries: &[Entry]) {
        let real = entries.iter().filter(|entry| entry.state == State::Real);
        let real: HashSet<&str> = real.map(|entry| entry.path.as_str()).collect();
        self.roots.retain(|path, _| real.contains(path.as_str()));
    }

    /// Forget how tensors are made that `module` does not have any more, or has in another shape.
    pub fn forget_missing<M: Materialize>(&mut self, module: &M) {
        let entries = inventory(module);
        let shapes: HashMap<&str, &Entry> = entries
            .iter()
            .map(|entry| (entry.path.as_str(), entry))
            .collect();
        self.roots.retain(|path, root| {
            let entry = shapes.get(path.as_str());
            entry.is_some_and(|entry| entry.has_shape(&root.shape))
        });
    }

    pub(crate) fn root(&self, path: &str) -> Option<&Root> {
        self.roots.get(path)
    }

    pub(crate) fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &String> {
        self.roots.keys()
    }

    /// The generator of their random draws.
    pub fn rng(&self) -> InitRng {
        self.rng
    }

    pub(crate) fn with_rng(mut self, rng: InitRng) -> Self {
        self.rng = rng;
        self
    }

    /// How many tensors have a source.
    pub fn len(&self) -> usize {
        self.roots.len()
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    /// What the recipe of the tensor at `path` amounts to.
    ///
    /// # Errors
    /// Where its recipe cannot be evaluated; `None` where it has none.
    pub fn kind(&self, path: &str) -> Option<Result<RecipeKind, RecipeError>> {
        let root = self.roots.get(path)?;
        Some(
            self.recording
                .recipe(root.tensor)
                .map(|recipe| recipe.kind()),
        )
    }

    pub(crate) fn recipe(&self, root: &Root) -> Result<Recipe<'_>, RecipeError> {
        self.recording.recipe(root.tensor)
    }

    /// The dtype a tensor recorded with `dtype` gets on `device`.
    pub(crate) fn dtype_on(&self, dtype: DType, device: &Device) -> DType {
        let Some(recorded) = self.open_defaults else {
            return dtype;
        };
        let target = DefaultDTypes::of(device);
        match dtype {
            dtype if dtype == recorded.float.into() => target.float.into(),
            dtype if dtype == recorded.int.into() => target.int.into(),
            DType::Bool(store) if store == recorded.bool => DType::Bool(target.bool),
            dtype => dtype,
        }
    }

    pub(crate) fn produce(
        &self,
        root: &Root,
        seed: u64,
        dtype: DType,
        device: &Device,
    ) -> Result<BridgeTensor, RecipeError> {
        let key = |tensor| {
            let draw = self
                .draws
                .get(&tensor)
                .expect("every draw of a planned recipe has a key");
            DrawKey::new(seed, &draw.path, draw.place)
        };
        let recipe = self.recipe(root)?;
        // What several tensors are made of has to be the same for each.
        let is_shared = |draw| self.draws.get(&draw).is_some_and(|draw| draw.is_shared);
        if self.rng == InitRng::Device
            && !recipe.draws().any(is_shared)
            && let Some(tensor) = recipe.draw_on_device(dtype, device)
        {
            return tensor;
        }
        recipe.evaluate(key, dtype, device)
    }
}
