//! What a traced pass gives.

use std::collections::BTreeMap;

use burn_meta::{Cost, Operation, OperationKind, TracedTensor};
use serde::{Deserialize, Serialize};

use super::leaf::TracedLeaf;
use super::memory::TraceMemory;
use super::output::TracedOutput;

/// A pass that was traced: what comes out of it, what it does, what that costs, and in which module.
///
/// Its `Display` is a table with a line a module; serde writes all of it down.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// The tensors that the pass returned.
    pub outputs: Vec<TracedOutput>,
    /// The module's own tensors.
    pub leaves: Vec<TracedLeaf>,
    /// Every tensor that an operation reads or makes.
    pub tensors: Vec<TracedTensor>,
    /// What it takes.
    pub memory: TraceMemory,
    /// Forward, then backward.
    pub(super) operations: Vec<Operation>,
    /// How many of them are the forward pass.
    pub(super) forward: usize,
    /// Paths of modules; the first is the root's, which is empty.
    pub(super) paths: Vec<String>,
    /// The module of each operation, as a place in `paths`.
    pub(super) owners: Vec<u32>,
    /// The operation that makes the last output of each module, by place in `paths`.
    pub(super) used_last: Vec<Option<u32>>,
}

/// Whether an operation computes the result, or gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The result.
    Forward,
    /// Gradients, and activations that are computed again for them.
    Backward,
}

/// One operation of a trace.
#[derive(Clone, Copy, Debug)]
pub struct TracedOperation<'t> {
    /// The operation.
    pub operation: &'t Operation,
    /// The path of the module it belongs to.
    pub path: &'t str,
    /// Where it stands.
    pub phase: Phase,
    trace: &'t Trace,
}

impl<'t> TracedOperation<'t> {
    /// The tensors it reads.
    pub fn inputs(&self) -> impl Iterator<Item = &'t TracedTensor> + use<'t> {
        let trace = self.trace;
        let inputs = self.operation.inputs.iter();
        inputs.map(move |&input| &trace.tensors[input as usize])
    }

    /// The tensors it makes.
    pub fn outputs(&self) -> impl Iterator<Item = &'t TracedTensor> + use<'t> {
        let trace = self.trace;
        let outputs = self.operation.outputs.iter();
        outputs.map(move |&output| &trace.tensors[output as usize])
    }

    /// How many bytes it makes; a view makes none.
    pub fn made(&self) -> u64 {
        match self.operation.kind {
            OperationKind::View => 0,
            _ => self.outputs().map(TracedTensor::bytes).sum(),
        }
    }
}

/// The operations of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleCost {
    /// The module's path; the root's is empty.
    pub path: String,
    /// How many operations.
    pub operations: usize,
    /// What the forward pass costs.
    pub forward: Cost,
    /// What the backward pass costs.
    pub backward: Cost,
    /// How many bytes its forward operations make.
    pub activations: u64,
}

impl Trace {
    /// The operations in order, forward and then backward, each with its module: that of the
    /// parameter or buffer that it reads, or whose gradient it makes; else that of the operation
    /// before.
    pub fn operations(&self) -> impl ExactSizeIterator<Item = TracedOperation<'_>> {
        self.operations.iter().enumerate().map(|(i, operation)| {
            let phase = if i < self.forward {
                Phase::Forward
            } else {
                Phase::Backward
            };
            TracedOperation {
                operation,
                path: &self.paths[self.owners[i] as usize],
                phase,
                trace: self,
            }
        })
    }

    /// Paths of modules; the first is the root's.
    pub(crate) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// The module of each operation, as a place among the paths.
    pub(crate) fn owners(&self) -> &[u32] {
        &self.owners
    }

    /// By place among the paths, the last forward operation that reads a tensor of the module, or
    /// what was made of such tensors alone, together with anything else.
    pub(crate) fn used_last(&self) -> &[Option<u32>] {
        &self.used_last
    }

    /// The shapes that an operation makes.
    pub(crate) fn outputs_of(&self, operation: usize) -> Vec<Vec<usize>> {
        let outputs = self.operations[operation].outputs.iter();
        let shapes = outputs.map(|&output| self.tensors[output as usize].shape.clone());
        shapes.collect()
    }

    /// Whether there is a backward pass.
    pub fn is_training(&self) -> bool {
        self.forward < self.operations.len()
    }

    /// What the whole pass costs.
    pub fn cost(&self) -> Cost {
        self.operations.iter().map(|operation| operation.cost).sum()
    }

    /// What one phase costs.
    pub fn cost_of(&self, phase: Phase) -> Cost {
        let (forward, backward) = self.operations.split_at(self.forward);
        let operations = match phase {
            Phase::Forward => forward,
            Phase::Backward => backward,
        };
        operations.iter().map(|operation| operation.cost).sum()
    }

    /// What each module costs by itself, without the modules in it, in the order they first come up.
    pub fn modules(&self) -> Vec<ModuleCost> {
        let mut places = vec![None; self.paths.len()];
        let mut costs: Vec<ModuleCost> = Vec::new();
        for (traced, &owner) in self.operations().zip(&self.owners) {
            let place = *places[owner as usize].get_or_insert_with(|| {
                costs.push(ModuleCost {
                    path: traced.path.to_owned(),
                    ..ModuleCost::default()
                });
                costs.len() - 1
            });
            let module = &mut costs[place];
            module.operations += 1;
            match traced.phase {
                Phase::Forward => {
                    module.forward += traced.operation.cost;
                    module.activations += traced.made();
                }
                Phase::Backward => module.backward += traced.operation.cost,
            }
        }
        costs
    }

    /// The names of operations whose cost nobody knows here, with how often each comes up. They are
    /// in no sum.
    pub fn uncounted(&self) -> BTreeMap<&str, usize> {
        let mut uncounted = BTreeMap::new();
        for operation in &self.operations {
            if operation.kind == OperationKind::Uncounted {
                *uncounted.entry(operation.name.as_ref()).or_default() += 1;
            }
        }
        uncounted
    }
}
