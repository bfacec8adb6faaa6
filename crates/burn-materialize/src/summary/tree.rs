//! The module tree that a summary is of, in one list.

use std::hash::{Hash, Hasher};
use std::ops::Range;

use burn::module::ParamId;
use burn::tensor::kind::Kind;
use burn::tensor::{DType, Shape};
use burn_meta::{TensorId, is_meta_device, tensor_id};
use hashbrown::HashMap;

use crate::Materialize;
use crate::inventory::State;
use crate::site::{Role, Site};
use crate::slot::Slot;
use crate::traversal::{Pass, traverse};

/// Modules and tensors in the order of the traversal, each before what it holds; the first is the
/// root. A module is one stretch of the list, so that two are compared from end to end.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    /// All names, one behind the other.
    text: String,
    pub(super) nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    kinds: Vec<TensorKind>,
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
    end: u32,
    /// How many tensors come before it; its own place among them, where it is one.
    tensor: u32,
    is_tensor: bool,
}

/// One tensor of the tree: what it is, and what it is tied to.
#[derive(Clone, Copy, Debug)]
struct Leaf {
    /// A place among the kinds.
    kind: u32,
    /// The node of the first path of the tie, where this is a later one; else its own.
    first: u32,
    node: u32,
}

/// What a tensor is. Thousands of tensors are of a few kinds, and are compared by their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TensorKind {
    // What differs most often is compared first.
    pub(super) elements: u64,
    /// A lazy one counts with the default dtype of its device.
    pub(super) bytes: u64,
    pub(super) role: Role,
    kind: Kind,
    pub(super) state: State,
    pub(super) dtype: Option<DType>,
    pub(super) shape: Shape,
}

/// Burn's `Kind` has none, and follows from the dtype.
impl Hash for TensorKind {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.role, self.dtype, self.state).hash(hasher);
        self.shape.hash(hasher);
    }
}

/// A tensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tensor<'t> {
    pub(super) kind: &'t TensorKind,
    /// The node of the first path of the tie, where this is a later one.
    pub(super) tied_to: Option<usize>,
}

/// What tensors add up to, ties counted at their first path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) tensors: usize,
    pub(super) parameters: u64,
    /// Elements of running states and buffers.
    pub(super) buffers: u64,
    pub(super) bytes: u64,
    pub(super) allocated_bytes: u64,
    /// Of tied ones as well.
    pub(super) states: States,
}

/// A set of states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct States(u8);

impl States {
    const ALL: [State; 3] = [State::Lazy, State::Meta, State::Real];

    fn of(state: State) -> Self {
        Self(1 << state as u8)
    }

    fn add(&mut self, state: State) {
        self.0 |= Self::of(state).0;
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
    pub(crate) fn of<M: Materialize>(module: &M) -> Self {
        let mut builder = TreeBuilder::default();
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

    pub(super) fn tensor(&self, node: usize) -> Option<Tensor<'_>> {
        let place = self.nodes[node].tensor as usize;
        let leaf = self
            .leaves
            .get(place)
            .filter(|_| self.nodes[node].is_tensor)?;
        Some(Tensor {
            kind: &self.kinds[leaf.kind as usize],
            tied_to: (leaf.first != leaf.node).then_some(leaf.first as usize),
        })
    }

    /// How many tensors it has, tied ones at each path.
    pub(super) fn paths(&self) -> usize {
        self.leaves.len()
    }

    /// What all tensors in a node add up to.
    pub(super) fn sums(&self, node: usize) -> Sums {
        let end = self.nodes.get(self.nodes[node].end as usize);
        let end = end.map_or(self.leaves.len(), |behind| behind.tensor as usize);
        let mut sums = Sums::default();
        for leaf in &self.leaves[self.nodes[node].tensor as usize..end] {
            let kind = &self.kinds[leaf.kind as usize];
            sums.states.add(kind.state);
            if leaf.first != leaf.node {
                continue;
            }
            sums.tensors += 1;
            sums.bytes += kind.bytes;
            match kind.role {
                Role::Parameter => sums.parameters += kind.elements,
                _ => sums.buffers += kind.elements,
            }
            if kind.state == State::Real {
                sums.allocated_bytes += kind.bytes;
            }
        }
        sums
    }

    /// Whether it is a list, an array or a tuple of modules.
    pub(super) fn is_container(&self, node: usize) -> bool {
        node > 0 && !self.nodes[node].is_tensor && self.nodes[node].module.length == 0
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
                    && left.is_tensor == right.is_tensor
                    && (a == first || self.text(left.name) == self.text(right.name))
                    && self.text(left.module) == self.text(right.module)
                    && (!left.is_tensor || self.is_same_tensor((a, first), (b, other)))
            })
    }

    /// Whether two tensors differ in nothing. Of tied ones, both are tied to the same, or to what
    /// stands in the same place as seen from their blocks.
    fn is_same_tensor(&self, (a, first): (usize, usize), (b, other): (usize, usize)) -> bool {
        let leaf = |node: usize| self.leaves[self.nodes[node].tensor as usize];
        let (left, right) = (leaf(a), leaf(b));
        let seen_from = |leaf: Leaf, block: usize| i64::from(leaf.first) - block as i64;
        let is_tied = |leaf: Leaf| leaf.first != leaf.node;
        left.kind == right.kind
            && is_tied(left) == is_tied(right)
            && (seen_from(left, first) == seen_from(right, other) || left.first == right.first)
    }
}

/// The pass that makes a tree.
pub(crate) struct TreeBuilder {
    tree: Tree,
    /// The modules around the last tensor: which entry of the traversal each is, and its node.
    open: Vec<(u64, u32)>,
    /// The first node of each parameter, and of each recorded tensor that is none.
    parameters: HashMap<ParamId, u32>,
    recorded: HashMap<TensorId, u32>,
    kinds: HashMap<TensorKind, u32>,
    /// The kinds that came up last.
    recent: [u32; 4],
}

impl Default for TreeBuilder {
    fn default() -> Self {
        let root = Node::new(Name::default(), 0, 0);
        Self {
            tree: Tree {
                text: String::new(),
                nodes: vec![root],
                leaves: Vec::new(),
                kinds: Vec::new(),
            },
            open: Vec::new(),
            parameters: HashMap::default(),
            recorded: HashMap::default(),
            kinds: HashMap::default(),
            recent: [0; 4],
        }
    }
}

impl Node {
    fn new(name: Name, parent: u32, tensor: u32) -> Self {
        Self {
            name,
            module: Name::default(),
            parent,
            end: 0,
            tensor,
            is_tensor: false,
        }
    }
}

/// Places are 32 bits wide: a summary of four billion nodes would be no summary.
fn place(index: usize) -> u32 {
    u32::try_from(index).expect("fewer than four billion tensors and modules")
}

impl TreeBuilder {
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
        let before = place(self.tree.leaves.len());
        self.tree.nodes.push(Node::new(name, parent, before));
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
        // Modules are left from the innermost on: an entry that is still the same has the same
        // around it.
        let depth = site.depth();
        let mut same = self.open.len().min(depth.saturating_sub(1));
        while same > 0 && site.entry(same - 1) != self.open[same - 1].0 {
            same -= 1;
        }
        self.close(same);
        if self.tree.nodes.len() == 1
            && depth > 0
            && let Some(declaring) = site.step(0).declaring
        {
            self.tree.nodes[0].module = self.write(declaring);
        }
        for i in same..depth.saturating_sub(1) {
            let node = self.push(site.step(i).name);
            if let Some(declaring) = site.step(i + 1).declaring {
                self.tree.nodes[node as usize].module = self.write(declaring);
            }
            self.open.push((site.entry(i), node));
        }
        // Of none, the root itself is the tensor.
        depth.checked_sub(1).map_or("", |last| site.step(last).name)
    }

    /// The number of a kind.
    fn kind(&mut self, kind: TensorKind) -> u32 {
        // Weights and biases take turns.
        let last = self.recent.iter().copied();
        let mut same = last.filter(|&number| self.tree.kinds.get(number as usize) == Some(&kind));
        if let Some(number) = same.next() {
            return number;
        }
        self.recent.rotate_right(1);
        if let Some(&number) = self.kinds.get(&kind) {
            self.recent[0] = number;
            return number;
        }
        let number = place(self.tree.kinds.len());
        self.tree.kinds.push(kind.clone());
        self.kinds.insert(kind, number);
        self.recent[0] = number;
        number
    }

    pub(crate) fn finish(mut self) -> Tree {
        self.close(0);
        self.tree.nodes[0].end = place(self.tree.nodes.len());
        self.tree
    }
}

impl Pass for TreeBuilder {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        let name = self.enter(site);
        let node = self.push(name);
        let is_lazy = slot.is_lazy();
        let dtype = slot.dtype().filter(|_| !is_lazy);
        let shape = slot.shape();
        // A parameter has an id: to look at the tensor itself takes a copy of its handle.
        let recorded = match slot.id() {
            Some(_) => None,
            None => tensor_id(&slot.tensor()),
        };
        let state = match is_lazy {
            true => State::Lazy,
            false if is_meta_device(&slot.device()) => State::Meta,
            false => State::Real,
        };
        let first = match (slot.id(), recorded) {
            (Some(id), _) => *self.parameters.entry(id).or_insert(node),
            (None, Some(recorded)) => *self.recorded.entry(recorded).or_insert(node),
            (None, None) => node,
        };
        let size = match dtype {
            Some(dtype) => dtype.size(),
            None => DType::from(slot.device().settings().float_dtype).size(),
        };
        let elements = shape.num_elements() as u64;
        let kind = self.kind(TensorKind {
            role: slot.role(),
            kind: slot.kind(),
            shape,
            dtype,
            state,
            elements,
            bytes: elements * size as u64,
        });
        let leaf = &mut self.tree.nodes[node as usize];
        leaf.end = node + 1;
        leaf.is_tensor = true;
        self.tree.leaves.push(Leaf { kind, first, node });
    }
}
