//! Which module an operation belongs to.
//!
//! A recording does not say in which module's code an operation stood, but it says what it reads. An
//! operation belongs to the module of the first parameter, running state or buffer that it reads,
//! also through views and conversions of it. One that makes the gradient of a parameter belongs to that
//! parameter's module. What does neither belongs to the module whose operation came before; what
//! comes before all of them, to the root.

use std::collections::HashMap;

use burn_meta::{OperationKind, OperationList};

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
fn shows(operation: &burn_meta::Operation) -> bool {
    operation.kind == OperationKind::View || operation.name == "cast"
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
