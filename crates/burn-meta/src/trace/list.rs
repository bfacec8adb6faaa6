//! From Burn's own representation to a list that can be kept.

use burn::backend::ir::{OperationIr, TensorIr};
use burn_capture::TensorId;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use super::Mark;
use super::describe::describe;
use super::operation::{Cost, Operation, TracedTensor};
use crate::flex_memory::{HalfPrecision, LiveBytes, run};

/// The operations of a traced pass as Burn recorded them.
pub struct Tape {
    operations: Vec<OperationIr>,
}

impl Tape {
    pub(super) fn new(mut operations: Vec<OperationIr>) -> Self {
        // What makes nothing only waits for other devices.
        operations.retain(|operation| operation.outputs().next().is_some());
        Self { operations }
    }

    /// What was recorded after `begin`, as a list. What was recorded before it are tensors that
    /// were there.
    pub fn list(&self, begin: Mark) -> OperationList {
        let mut list = OperationList::default();
        for operation in &self.operations[self.first_after(begin)..] {
            list.push(operation);
        }
        // It stays as long as the trace.
        list.tensors.shrink_to_fit();
        list.operations.shrink_to_fit();
        list
    }

    /// What the pass takes on flex after `begin`, or on a device that is like it but for how it
    /// computes in `half` precision. `held` are the tensors that outlive it: the module's, the
    /// result, the gradients.
    ///
    /// Every kernel of burn-flex decides by layout and sharing whether it writes in place, copies
    /// or only looks; the same decisions are taken here, on tensors without bytes.
    pub fn live_bytes(
        self,
        begin: Mark,
        held: impl IntoIterator<Item = TensorId>,
        half: HalfPrecision,
    ) -> LiveBytes {
        let first = self.first_after(begin);
        run(self.operations, first, held, half)
    }

    fn first_after(&self, begin: Mark) -> usize {
        let is_before = |operation: &OperationIr| {
            let mut made = operation.outputs();
            !made.any(|tensor| begin.is_before(tensor.id))
        };
        self.operations.partition_point(is_before)
    }
}

/// The operations of a pass, in order, and the tensors they read and make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationList {
    /// Every tensor that an operation reads or makes, in the order they come up.
    pub tensors: Vec<TracedTensor>,
    /// The operations, in the order they run.
    pub operations: Vec<Operation>,
    #[serde(skip)]
    places: HashMap<TensorId, u32>,
}

impl OperationList {
    /// The place of a recorded tensor in the list; unknown once the list was written and read.
    pub fn place(&self, tensor: TensorId) -> Option<u32> {
        self.places.get(&tensor).copied()
    }

    /// The first operation that was recorded after `mark`.
    pub fn first_after(&self, mark: Mark) -> usize {
        let mut ids = vec![None; self.tensors.len()];
        for (&id, &place) in &self.places {
            ids[place as usize] = Some(id);
        }
        let is_before = |operation: &Operation| {
            let mut made = operation.outputs.iter();
            !made.any(|&output| ids[output as usize].is_some_and(|id| mark.is_before(id)))
        };
        self.operations.partition_point(is_before)
    }

    /// What all of it costs.
    pub fn cost(&self) -> Cost {
        self.operations.iter().map(|operation| operation.cost).sum()
    }

    fn push(&mut self, operation: &OperationIr) {
        let Some(described) = describe(operation) else {
            return;
        };
        let cost = described.cost(operation);
        let operation = Operation {
            kind: described.kind,
            inputs: operation
                .inputs()
                .map(|tensor| self.enter(tensor))
                .collect(),
            outputs: operation
                .outputs()
                .map(|tensor| self.enter(tensor))
                .collect(),
            name: described.name,
            cost,
        };
        self.operations.push(operation);
    }

    fn enter(&mut self, tensor: &TensorIr) -> u32 {
        *self.places.entry(tensor.id).or_insert_with(|| {
            self.tensors.push(TracedTensor {
                shape: tensor.shape.to_vec(),
                dtype: tensor.dtype,
            });
            u32::try_from(self.tensors.len() - 1).expect("fewer than four billion tensors")
        })
    }
}
