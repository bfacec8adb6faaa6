//! What the modules of a summary cost in a traced pass.

use std::collections::HashMap;

use super::lines::SummaryCost;
use super::tree::Tree;
use crate::trace::{Phase, Trace};

/// By node of the tree.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    under: Vec<SummaryCost>,
    /// Of the whole pass.
    pub(super) is_training: bool,
    pub(super) peak: u64,
    pub(super) uncounted: usize,
}

/// What a module's output is made by.
#[derive(Clone, Copy, Debug, Default)]
struct Places {
    /// The last forward operation that reads something of it together with other values.
    used: Option<u32>,
    /// The last forward operation that writes into a slice, and the first after it that joins.
    written: Option<u32>,
    joined: Option<u32>,
}

impl Costs {
    pub(super) fn new(tree: &Tree, trace: &Trace) -> Self {
        let mut under = vec![SummaryCost::default(); tree.nodes.len()];
        let mut places = vec![Places::default(); tree.nodes.len()];
        let nodes = nodes_of(tree, trace);
        for (number, used) in trace.used_last().iter().enumerate() {
            let place = &mut places[nodes[number]];
            place.used = place.used.max(*used);
        }
        for (i, (traced, &owner)) in trace.operations().zip(trace.owners()).enumerate() {
            let node = nodes[owner as usize];
            let cost = &mut under[node];
            cost.operations += 1;
            match traced.phase {
                Phase::Forward => {
                    cost.forward += traced.operation.cost;
                    cost.activations += traced.made();
                    let place = &mut places[node];
                    match traced.operation.name.as_ref() {
                        "slice_assign" => {
                            (place.written, place.joined) = (Some(i as u32), None);
                        }
                        "cat" => place.joined = place.joined.or(Some(i as u32)),
                        _ => {}
                    }
                }
                Phase::Backward => cost.backward += traced.operation.cost,
            }
        }
        for i in (1..tree.nodes.len()).rev() {
            let parent = tree.nodes[i].parent as usize;
            let (before, rest) = under.split_at_mut(i);
            let (sum, own) = (&mut before[parent], &rest[0]);
            sum.operations += own.operations;
            sum.forward += own.forward;
            sum.backward += own.backward;
            sum.activations += own.activations;
            let own = places[i];
            let sum = &mut places[parent];
            sum.used = sum.used.max(own.used);
            if own.written > sum.written {
                (sum.written, sum.joined) = (own.written, own.joined);
            }
        }
        for (i, place) in places.iter().enumerate().skip(1) {
            let recurrent = match tree.module(i) {
                Some("Lstm" | "Gru" | "Rnn") => place.written,
                Some("BiLstm" | "BiGru" | "BiRnn") => place.joined,
                _ => None,
            };
            let output = recurrent.or(place.used);
            let outputs = output.map(|at| trace.outputs_of(at as usize));
            under[i].outputs = outputs.into_iter().flatten().collect();
        }
        let returned = trace.outputs.iter().map(|output| output.shape.clone());
        under[0].outputs = returned.collect();
        Self {
            under,
            is_training: trace.is_training(),
            peak: trace.memory.peak,
            uncounted: trace.uncounted().values().sum(),
        }
    }

    /// What a module and all in it cost.
    pub(super) fn under(&self, node: usize) -> SummaryCost {
        self.under[node].clone()
    }

    pub(super) fn get(&self, node: usize) -> &SummaryCost {
        &self.under[node]
    }

    /// Whether two modules cost and give the same. How many operations that takes is not asked: the
    /// views at either end of a block are its neighbour's as well as its own.
    pub(super) fn is_same(&self, node: usize, other: usize) -> bool {
        let seen = |node: usize| {
            let cost = &self.under[node];
            (cost.forward, cost.backward, cost.activations, &cost.outputs)
        };
        seen(node) == seen(other)
    }
}

/// The node of each module of a trace.
fn nodes_of(tree: &Tree, trace: &Trace) -> Vec<usize> {
    let mut children = HashMap::new();
    for (i, node) in tree.nodes.iter().enumerate().skip(1) {
        if tree.tensor(i).is_none() {
            children.insert((node.parent as usize, tree.name(i)), i);
        }
    }
    let node_of = |path: &String| {
        let mut node = 0;
        for name in path.split('.').filter(|name| !name.is_empty()) {
            match children.get(&(node, name)) {
                Some(&child) => node = child,
                None => break,
            }
        }
        // A list declares nothing, and is no module.
        while tree.is_container(node) {
            node = tree.nodes[node].parent as usize;
        }
        node
    };
    trace.paths().iter().map(node_of).collect()
}
