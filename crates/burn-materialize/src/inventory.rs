//! Every tensor of a module, seen without allocating anything.

use burn::module::ParamId;
use burn::tensor::kind::Kind;
use burn::tensor::{DType, Device, Shape};
use burn_meta::{TensorId, tensor_id};
use serde::Serialize;

use crate::Materialize;
use crate::site::{Role, Site};
use crate::slot::Slot;
use crate::traversal::{Pass, traverse};

/// Whether a tensor exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Burn initialises it at first use.
    Lazy,
    /// On the meta device: recorded, not allocated.
    Meta,
    /// Allocated.
    Real,
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Lazy => "lazy",
            Self::Meta => "meta",
            Self::Real => "real",
        })
    }
}

/// One tensor of a module.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Names from the root, joined by dots.
    pub path: String,
    /// The type that declares it.
    pub module: String,
    /// Parameter, running state or buffer.
    pub role: Role,
    /// Float, int or bool.
    pub kind: Kind,
    /// Its shape.
    pub shape: Shape,
    /// Its dtype; unknown while lazy.
    pub dtype: Option<DType>,
    /// The parameter's id; equal ids are a tie.
    pub id: Option<ParamId>,
    /// Whether it exists.
    pub state: State,
    /// The device it is on, or will be initialised on.
    pub device: Device,
    /// Its name in the recording.
    pub(crate) tensor: Option<TensorId>,
}

impl Entry {
    pub(crate) fn new(site: &Site<'_>, slot: &dyn Slot) -> Self {
        let lazy = slot.is_lazy();
        let tensor = if lazy {
            None
        } else {
            tensor_id(&slot.tensor())
        };
        let state = match (lazy, tensor) {
            (true, _) => State::Lazy,
            (_, Some(_)) => State::Meta,
            (_, None) => State::Real,
        };
        Self {
            path: site.path().to_owned(),
            module: site.module().to_owned(),
            role: slot.role(),
            kind: slot.kind(),
            shape: slot.shape(),
            dtype: slot.dtype(),
            id: slot.id(),
            state,
            device: slot.device(),
            tensor,
        }
    }

    /// Whether it has this shape. A lazy parameter shows the shape its initialiser was given, which
    /// for a column-layout `Linear` is the transposed one.
    pub(crate) fn has_shape(&self, shape: &Shape) -> bool {
        let reversed = || self.shape.iter().rev().eq(shape.iter());
        self.shape == *shape || (self.state == State::Lazy && reversed())
    }

    /// How many elements it has.
    pub fn elements(&self) -> usize {
        self.shape.num_elements()
    }

    /// How many bytes its elements take; unknown while lazy.
    pub fn bytes(&self) -> Option<usize> {
        Some(self.elements() * self.dtype?.size())
    }
}

/// The tensors of `module` in traversal order. Initialises no lazy parameter and allocates no
/// tensor.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::Device;
/// use burn_materialize::{State, inventory};
///
/// let linear = LinearConfig::new(1_000_000, 1_000_000).init(&Device::flex());
/// let entries = inventory(&linear);
/// assert_eq!(entries[0].path, "weight");
/// assert_eq!(entries[0].state, State::Lazy);
/// ```
pub fn inventory<M: Materialize>(module: &M) -> Vec<Entry> {
    let mut pass = Inventory::default();
    traverse(module.clone(), &mut pass);
    pass.entries
}

/// Collects entries; with `touch` it first runs the initialiser of each lazy parameter, which
/// inside a recording records it.
#[derive(Default)]
pub(crate) struct Inventory {
    pub(crate) entries: Vec<Entry>,
    pub(crate) touch: bool,
    /// Modules in which a meta tensor is out of reach.
    pub(crate) hidden: Vec<(String, String)>,
}

impl Pass for Inventory {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        if self.touch && slot.is_lazy() {
            slot.tensor();
        }
        self.entries.push(Entry::new(site, slot));
    }

    fn opaque(&mut self, site: &Site<'_>, hides_meta: &dyn Fn() -> bool) {
        if hides_meta() {
            self.hidden
                .push((site.path().to_owned(), site.module().to_owned()));
        }
    }
}
