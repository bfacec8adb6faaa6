//! A summary for tools.

use serde::{Serialize, Serializer};

use super::{Summary, SummaryLine};

/// Totals and every line: nothing is folded or cut off here.
#[derive(Serialize)]
struct Whole {
    tensors: usize,
    parameters: usize,
    buffers: usize,
    bytes: usize,
    allocated_bytes: usize,
    lines: Vec<SummaryLine>,
}

impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = Whole {
            tensors: self.tensors(),
            parameters: self.parameters(),
            buffers: self.buffers(),
            bytes: self.bytes(),
            allocated_bytes: self.allocated_bytes(),
            lines: self.all_lines().collect(),
        };
        whole.serialize(serializer)
    }
}
