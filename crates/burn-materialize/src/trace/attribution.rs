//! Which module an operation belongs to.
//!
//! A recording does not say in which module's code an operation stood, but it says what it reads. An
//! operation belongs to the module of the first parameter, running state or buffer that it reads,
//! also through views and conversions of it. One that makes the gradient of a parameter belongs to that
//! parameter's module. What does neither belongs to the module whose operation came before; what
//! comes before all of them, to the root.

use burn_meta::{Operation, OperationKind, OperationList};
use hashbrown::HashMap;

/// Owners by number; 0 is the root.
#[derive(Debug)]
pub(super) struct Owners {
    pub(super) paths: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Owners {
    pub(super) fn new() -> Self {
        Self {
            paths: vec![String::new()],
            numbers: HashMap::from([(String::new(), 0)]),
        }
    }

    pub(super) fn number(&mut self, path: &str) -> u32 {
        if let Some(&number) = self.numbers.get(path) {
            return number;
        }
        let number = u32::try_from(self.paths.len()).expect("fewer than four billion modules");
        self.paths.push(path.to_owned());
        self.numbers.insert(path.to_owned(), number);
        number
    }
}

/// The owner of each operation, given those of the tensors that were there and of the gradients.
pub(super) fn attribute(
    list: &OperationList,
    leaves: &HashMap<u32, u32>,
    gradients: &HashMap<u32, u32>,
) -> Vec<u32> {
    let makers = makers_of_gradients(list, gradients);
    let mut known = leaves.clone();
    let mut last = 0;
    let mut owners = Vec::with_capacity(list.operations.len());
    for (index, operation) in list.operations.iter().enumerate() {
        let read = operation.inputs.iter().find_map(|input| known.get(input));
        let owner = read.or(makers.get(&index)).copied();
        if let Some(owner) = owner
            && shows(operation)
        {
            known.extend(operation.outputs.iter().map(|&output| (output, owner)));
        }
        last = owner.unwrap_or(last);
        owners.push(last);
    }
    owners
}

/// Whether what it makes is what it reads, in another view or dtype.
fn shows(operation: &Operation) -> bool {
    operation.kind == OperationKind::View || operation.name == "cast"
}

/// By owner, the last operation that reads a tensor of it, or what was made of such tensors alone
/// (a transposed weight, a weight with what LoRA adds), together with anything else.
///
/// Burn multiplies a tensor of more dimensions than two as rows: where what an operation reads was
/// flattened right before, the reshape that gives it its dimensions back belongs to it.
pub(super) fn used_last(
    list: &OperationList,
    forward: usize,
    leaves: &HashMap<u32, u32>,
    count: usize,
) -> Vec<Option<u32>> {
    let shape = |tensor: u32| list.tensors[tensor as usize].shape.as_slice();
    let mut known = leaves.clone();
    let mut used = vec![None; count];
    // What rows were before, and what was computed from them with the owner.
    let mut rows: HashMap<u32, u32> = HashMap::new();
    let mut made: HashMap<u32, u32> = HashMap::new();
    for (index, operation) in list.operations[..forward].iter().enumerate() {
        let place = u32::try_from(index).ok();
        if operation.name == "reshape"
            && let (&[input], &[output]) =
                (operation.inputs.as_slice(), operation.outputs.as_slice())
        {
            if let (Some(&whole), Some(&owner)) = (rows.get(&input), made.get(&input))
                && all_but_last(shape(whole)) == all_but_last(shape(output))
            {
                used[owner as usize] = place;
            }
            if shape(output).len() < shape(input).len()
                && shape(output).last() == shape(input).last()
            {
                rows.insert(output, input);
            }
        }
        let owners = operation.inputs.iter().map(|input| known.get(input));
        let Some(owner) = owners.clone().flatten().next().copied() else {
            continue;
        };
        if owners.into_iter().all(|owner| owner.is_some()) {
            known.extend(operation.outputs.iter().map(|&output| (output, owner)));
            continue;
        }
        used[owner as usize] = place;
        let whole = operation.inputs.iter().find_map(|input| rows.get(input));
        if let Some(&whole) = whole {
            for &output in &operation.outputs {
                rows.insert(output, whole);
                made.insert(output, owner);
            }
        }
    }
    used
}

fn all_but_last(shape: &[usize]) -> &[usize] {
    shape.split_last().map_or(shape, |(_, rest)| rest)
}

/// The operations that make a gradient, found from its last one backwards: what only views,
/// converts or sums one tensor leads on to the operation that made it.
fn makers_of_gradients(list: &OperationList, gradients: &HashMap<u32, u32>) -> HashMap<usize, u32> {
    if gradients.is_empty() {
        return HashMap::new();
    }
    let mut wanted = gradients.clone();
    let mut makers = HashMap::new();
    for (index, operation) in list.operations.iter().enumerate().rev() {
        let made = operation
            .outputs
            .iter()
            .find_map(|output| wanted.get(output));
        let Some(&owner) = made else { continue };
        makers.insert(index, owner);
        let leads_on = shows(operation) || operation.kind == OperationKind::Reduction;
        if let (true, &[input]) = (leads_on, operation.inputs.as_slice()) {
            wanted.entry(input).or_insert(owner);
        }
    }
    makers
}
