//! The tensors of a traced module.

use burn::tensor::DType;
use serde::{Deserialize, Serialize};

use super::placeholders::Leaf;
use crate::site::Role;

/// A parameter, running state or buffer of the module that was traced; a tie at its first path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedLeaf {
    /// Where it stands.
    pub path: String,
    /// What it is.
    pub role: Role,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its dtype in the pass.
    pub dtype: DType,
    /// Whether the backward pass leaves a gradient of it, of the same shape and dtype.
    pub has_gradient: bool,
}

impl TracedLeaf {
    pub(super) fn new(leaf: Leaf, has_gradient: bool) -> Self {
        Self {
            path: leaf.path,
            role: leaf.role,
            shape: leaf.shape.to_vec(),
            dtype: leaf.dtype,
            has_gradient,
        }
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> u64 {
        let lengths = self.shape.iter().map(|&length| length as u64);
        lengths.fold(self.dtype.size() as u64, u64::saturating_mul)
    }
}
