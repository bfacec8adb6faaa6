//! The products of a forward pass, as they were recorded and by hand.

use std::fmt;

use burn_fabric::burn_materialize::{Trace, TracedOperation};
use serde::Serialize;

use crate::Shape;
use crate::text::{grouped, write_lines};

/// Floating-point operations of the products of a forward pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Products {
    /// All that were recorded.
    pub recorded: u64,
    /// Those of them by which Burn's rotary encoding turns pairs of elements, which the formula leaves
    /// out.
    pub of_rotary_encoding: u64,
    /// By the closed formula, [`Shape::flops`].
    pub by_hand: u64,
}

impl Products {
    /// Of a forward pass that was traced, over `batch` sequences of `length` tokens.
    pub fn of(trace: &Trace, shape: &Shape, batch: usize, length: usize) -> Self {
        let of_rotary = trace.operations().filter(turns_pairs);
        Self {
            recorded: trace.cost().products,
            of_rotary_encoding: of_rotary.map(|traced| traced.operation.cost.products).sum(),
            by_hand: shape.flops(batch as u64, length as u64),
        }
    }

    /// How much more was recorded than the formula says, as a share.
    pub fn more(&self) -> f64 {
        share(self.recorded, self.by_hand)
    }

    /// The same without the rotary encoding.
    pub fn more_without_rotary_encoding(&self) -> f64 {
        share(self.recorded - self.of_rotary_encoding, self.by_hand)
    }
}

fn share(found: u64, expected: u64) -> f64 {
    (found as f64 - expected as f64) / expected as f64
}

/// A product with Burn's `[2, 4]` of signs.
fn turns_pairs(traced: &TracedOperation<'_>) -> bool {
    traced.operation.name == "matmul" && traced.inputs().any(|input| input.shape.ends_with(&[2, 4]))
}

impl fmt::Display for Products {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let without = self.recorded - self.of_rotary_encoding;
        let percent = |share: f64| format!("{:+.4} %", 100.0 * share);
        write_lines(
            f,
            &[
                ("recorded", grouped(self.recorded)),
                ("closed formula", grouped(self.by_hand)),
                ("difference", percent(self.more())),
                ("of the rotary encoding", grouped(self.of_rotary_encoding)),
                ("recorded without it", grouped(without)),
                ("difference", percent(self.more_without_rotary_encoding())),
            ],
        )
    }
}
