//! The module tree that a summary is of, in one list.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use burn::module::ParamId;
use burn::tensor::kind::Kind;
use burn::tensor::{DType, Shape};
use burn_meta::{TensorId, tensor_id};

use crate::Materialize;
use crate::inventory::State;
use crate::site::{Role, Site};
use crate::slot::Slot;
use crate::traversal::{Pass, traverse};

/// Modules and tensors in the order of the traversal, each before what it holds; the first is the
/// root. A module is one stretch of the list, so that two are compared from end to end.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// All names, one behind the other.
    text: String,
    pub(super) nodes: Vec<Node>,
    pub(super) tensors: Vec<Tensor>,
}

/// A name, as a place in the text.
#[derive(Clone, Copy, Debug, Default)]
struct Name {
    start: u32,
    length: u32,
}

/// A module, a container or a tensor.
#[derive(Clone, Debug)]
pub(super) struct Node {
    name: Name,
    /// The type of a module; empty for containers (lists, arrays, tuples) and tensors.
    module: Name,
    pub(super) parent: u32,
    /// The first place behind what it holds.
    pub(super) end: u32,
    /// Its place among the tensors, where it is one.
    pub(super) tensor: Option<u32>,
    /// Of all that it holds, ties counted at their first path.
    pub(super) parameters: u64,
    pub(super) bytes: u64,
    /// The states of all that it holds.
    pub(super) states: States,
}

/// One tensor.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) role: Role,
    kind: Kind,
    pub(super) shape: Shape,
    pub(super) dtype: Option<DType>,
    pub(super) state: State,
    /// The node of the first path of the tie, where this is a later one.
    pub(super) tied_to: Option<u32>,
    pub(super) elements: u64,
    /// Of the tensor itself, tied or not. A lazy one counts with the default dtype of its device.
    pub(super) bytes: u64,
}

/// A set of states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct States(u8);

impl States {
    const ALL: [State; 3] = [State::Lazy, State::Meta, State::Real];

    fn of(state: State) -> Self {
        Self(1 << Self::ALL.iter().position(|of| *of == state).unwrap_or(0))
    }
}

impl std::fmt::Display for States {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let held = Self::ALL
            .into_iter()
            .filter(|state| self.0 & Self::of(*state).0 != 0);
        for (i, state) in held.enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{state}")?;
        }
        Ok(())
    }
}

impl Tree {
    pub(super) fn of<M: Materialize>(module: &M) -> Self {
        let mut builder = Builder::default();
        traverse(module.clone(), &mut builder);
        builder.finish()
    }

    pub(super) fn name(&self, node: usize) -> &str {
        self.text(self.nodes[node].name)
    }

    /// The type of a module; none for a container and a tensor.
    pub(super) fn module(&self, node: usize) -> Option<&str> {
        let module = self.text(self.nodes[node].module);
        (!module.is_empty()).then_some(module)
    }

    pub(super) fn tensor(&self, node: usize) -> Option<&Tensor> {
        Some(&self.tensors[self.nodes[node].tensor? as usize])
    }

    /// Whether it is a list, an array or a tuple of modules.
    pub(super) fn is_container(&self, node: usize) -> bool {
        node > 0 && self.nodes[node].tensor.is_none() && self.nodes[node].module.length == 0
    }

    fn text(&self, name: Name) -> &str {
        let start = name.start as usize;
        &self.text[start..start + name.length as usize]
    }

    /// The node and all that it holds.
    pub(super) fn stretch(&self, node: usize) -> Range<usize> {
        node..self.nodes[node].end as usize
    }

    /// What a node holds directly.
    pub(super) fn children(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.nodes[node].end as usize;
        let first = (node + 1 < end).then_some(node + 1);
        std::iter::successors(first, move |&child| {
            let next = self.nodes[child].end as usize;
            (next < end).then_some(next)
        })
    }

    /// Names from below `from` to `node`, joined by dots.
    pub(super) fn path_from(&self, from: usize, node: usize) -> String {
        let parent = |&at: &usize| Some(self.nodes[at].parent as usize);
        let up = std::iter::successors(Some(node), parent);
        let names = up.take_while(|&at| at != from).map(|at| self.name(at));
        let mut names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        names.reverse();
        names.join(".")
    }

    pub(super) fn path(&self, node: usize) -> String {
        self.path_from(0, node)
    }

    /// Whether two nodes hold the same under whatever names they have themselves.
    pub(super) fn holds_same(&self, first: usize, other: usize) -> bool {
        let (of_first, of_other) = (self.stretch(first), self.stretch(other));
        of_first.len() == of_other.len()
            && of_first.zip(of_other).all(|(a, b)| {
                let (left, right) = (&self.nodes[a], &self.nodes[b]);
                left.end as usize - a == right.end as usize - b
                    && (a == first || self.text(left.name) == self.text(right.name))
                    && self.text(left.module) == self.text(right.module)
                    && self.is_same_tensor((a, first), (b, other))
            })
    }

    /// Whether two nodes are no tensors, or tensors that differ in nothing. Of tied ones, both
    /// are tied to the same, or to what stands in the same place as seen from their blocks.
    fn is_same_tensor(&self, (a, first): (usize, usize), (b, other): (usize, usize)) -> bool {
        let (left, right) = match (self.tensor(a), self.tensor(b)) {
            (None, None) => return true,
            (Some(left), Some(right)) => (left, right),
            _ => return false,
        };
        let ties = match (left.tied_to, right.tied_to) {
            (None, None) => true,
            (Some(left), Some(right)) => {
                left == right || i64::from(left) - first as i64 == i64::from(right) - other as i64
            }
            _ => false,
        };
        ties && left.shape == right.shape
            && left.dtype == right.dtype
            && left.state == right.state
            && (left.role, left.kind) == (right.role, right.kind)
    }
}

/// What makes two places one tensor.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    Id(ParamId),
    Recorded(TensorId),
}

/// Both kinds of ids are numbers already.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

struct Builder {
    tree: Tree,
    /// The modules around the last tensor: which entry of the traversal each is, and its node.
    open: Vec<(u64, u32)>,
    seen: HashMap<Identity, u32, BuildHasherDefault<IdHasher>>,
}

impl Default for Builder {
    fn default() -> Self {
        let mut tree = Tree {
            text: String::new(),
            nodes: Vec::new(),
            tensors: Vec::new(),
        };
        tree.nodes.push(Node::new(Name::default(), 0));
        Self {
            tree,
            open: Vec::new(),
            seen: HashMap::default(),
        }
    }
}

impl Node {
    fn new(name: Name, parent: u32) -> Self {
        Self {
            name,
            module: Name::default(),
            parent,
            end: 0,
            tensor: None,
            parameters: 0,
            bytes: 0,
            states: States::default(),
        }
    }
}

/// Places are 32 bits wide: a summary of four billion nodes would be no summary.
fn place(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than four billion tensors and modules")
}

impl Builder {
    fn write(&mut self, text: &str) -> Name {
        let start = place(self.tree.text.len());
        self.tree.text.push_str(text);
        Name {
            start,
            length: place(text.len()),
        }
    }

    fn push(&mut self, name: &str) -> u32 {
        let name = self.write(name);
        let parent = self.open.last().map_or(0, |(_, node)| *node);
        self.tree.nodes.push(Node::new(name, parent));
        place(self.tree.nodes.len() - 1)
    }

    /// Leave the modules that are not around the next tensor.
    fn close(&mut self, keep: usize) {
        let end = place(self.tree.nodes.len());
        for (_, node) in self.open.drain(keep..) {
            self.tree.nodes[node as usize].end = end;
        }
    }

    /// Enter the modules around a tensor, and return its own name.
    fn enter<'s>(&mut self, site: &Site<'s>) -> &'s str {
        let around = site.steps().zip(&self.open);
        let same = around
            .take_while(|(step, (entry, _))| step.entry == *entry)
            .count();
        self.close(same);
        let mut steps = site.steps().skip(same).peekable();
        if self.tree.nodes.len() == 1
            && let Some(declaring) = steps.peek().and_then(|step| step.declaring)
        {
            self.tree.nodes[0].module = self.write(declaring);
        }
        while let Some(step) = steps.next() {
            let Some(inside) = steps.peek() else {
                return step.name;
            };
            let node = self.push(step.name);
            if let Some(declaring) = inside.declaring {
                self.tree.nodes[node as usize].module = self.write(declaring);
            }
            self.open.push((step.entry, node));
        }
        // The root itself.
        ""
    }

    fn finish(mut self) -> Tree {
        self.close(0);
        let nodes = &mut self.tree.nodes;
        nodes[0].end = place(nodes.len());
        for i in (1..nodes.len()).rev() {
            let Node {
                parent,
                parameters,
                bytes,
                states,
                ..
            } = nodes[i];
            let parent = &mut nodes[parent as usize];
            parent.parameters += parameters;
            parent.bytes += bytes;
            parent.states.0 |= states.0;
        }
        self.tree
    }
}

impl Pass for Builder {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        let name = self.enter(site);
        let node = self.push(name);
        let lazy = slot.is_lazy();
        let (shape, dtype, recorded) = match lazy {
            true => (slot.shape(), None, None),
            false => {
                let tensor = slot.tensor();
                (tensor.shape(), Some(tensor.dtype()), tensor_id(&tensor))
            }
        };
        let state = match (lazy, recorded) {
            (true, _) => State::Lazy,
            (_, Some(_)) => State::Meta,
            (_, None) => State::Real,
        };
        let identity = slot
            .id()
            .map(Identity::Id)
            .or(recorded.map(Identity::Recorded));
        let first = identity.map(|identity| *self.seen.entry(identity).or_insert(node));
        let size = match dtype {
            Some(dtype) => dtype.size(),
            None => DType::from(slot.device().settings().float_dtype).size(),
        };
        let elements = shape.num_elements() as u64;
        let tensor = Tensor {
            role: slot.role(),
            kind: slot.kind(),
            shape,
            dtype,
            state,
            tied_to: first.filter(|first| *first != node),
            elements,
            bytes: elements * size as u64,
        };
        let place_of = place(self.tree.tensors.len());
        let end = place(self.tree.nodes.len());
        let node = &mut self.tree.nodes[node as usize];
        node.end = end;
        node.tensor = Some(place_of);
        node.states = States::of(state);
        if tensor.tied_to.is_none() {
            node.bytes = tensor.bytes;
            if tensor.role == Role::Parameter {
                node.parameters = elements;
            }
        }
        self.tree.tensors.push(tensor);
    }
}
