//! The memory of a traced pass.

use burn_meta::LiveBytes;
use serde::{Deserialize, Serialize};

use super::leaf::TracedLeaf;
use crate::site::Role;

/// What a traced pass takes, in bytes, counted as flex (Burn's CPU device) allocates it.
///
/// The module's tensors and the gradients take the same anywhere. What lives in between depends on
/// what a device copies, writes in place and fuses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceMemory {
    /// Parameters, ties counted once.
    pub parameters: u64,
    /// Running states and buffers.
    pub buffers: u64,
    /// What the backward pass leaves.
    pub gradients: u64,
    /// What the forward pass leaves: in inference its result, in training all that the backward
    /// pass needs.
    pub kept: u64,
    /// The most that is allocated at once, parameters and buffers included.
    pub peak: u64,
    /// The operation during which it is; none where there is no operation.
    pub peak_at: Option<usize>,
    /// The most that is allocated during each operation, without parameters and buffers.
    pub during: Vec<u64>,
}

impl TraceMemory {
    pub(super) fn new(leaves: &[TracedLeaf], live: LiveBytes, forward: usize) -> Self {
        let sum = |is_counted: fn(&TracedLeaf) -> bool| {
            let counted = leaves.iter().filter(|leaf| is_counted(leaf));
            counted.map(TracedLeaf::bytes).sum()
        };
        let parameters: u64 = sum(|leaf| leaf.role == Role::Parameter);
        let buffers: u64 = sum(|leaf| leaf.role != Role::Parameter);
        let peak = live.peak();
        Self {
            parameters,
            buffers,
            gradients: sum(|leaf| leaf.has_gradient),
            kept: forward.checked_sub(1).map_or(0, |last| live.after[last]),
            peak: (parameters + buffers).saturating_add(peak.map_or(0, |(_, bytes)| bytes)),
            peak_at: peak.map(|(at, _)| at),
            during: live.during,
        }
    }
}
