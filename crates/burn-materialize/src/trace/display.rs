//! A trace as a table.

use std::fmt;

use burn_meta::{ByteCount, Cost};

use super::report::{Phase, Trace};
use crate::table::{Align, Flops, grouped, write_table};

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![
            [
                "module",
                "operations",
                "FLOPs",
                "of products",
                "backward FLOPs",
                "moved",
                "activations",
            ]
            .map(str::to_owned),
        ];
        for module in self.modules() {
            let moved = module.forward.moved + module.backward.moved;
            rows.push([
                if module.path.is_empty() {
                    "(root)".to_owned()
                } else {
                    module.path
                },
                module.operations.to_string(),
                Flops(module.forward.flops).to_string(),
                Flops(module.forward.products).to_string(),
                Flops(module.backward.flops).to_string(),
                ByteCount(moved).to_string(),
                ByteCount(module.activations).to_string(),
            ]);
        }
        let [left, right] = [Align::Left, Align::Right];
        write_table(f, [left, right, right, right, right, right, right], &rows)?;
        for output in &self.outputs {
            let name = if output.name.is_empty() {
                "output"
            } else {
                &output.name
            };
            writeln!(f, "{name}: {:?} {}", output.shape, output.dtype.name())?;
        }
        let line = |f: &mut fmt::Formatter<'_>, name, cost: Cost| {
            writeln!(
                f,
                "{name}: {} FLOPs, {} of them in products, {} moved",
                Flops(cost.flops),
                Flops(cost.products),
                ByteCount(cost.moved)
            )
        };
        line(f, "forward", self.cost_of(Phase::Forward))?;
        if self.is_training() {
            line(f, "backward", self.cost_of(Phase::Backward))?;
        }
        let memory = &self.memory;
        write!(
            f,
            "{} operations; parameters {}, buffers {}",
            grouped(self.operations.len() as u64),
            ByteCount(memory.parameters),
            ByteCount(memory.buffers)
        )?;
        if memory.gradients > 0 {
            let (gradients, kept) = (ByteCount(memory.gradients), ByteCount(memory.kept));
            write!(
                f,
                ", gradients {gradients}, kept for the backward pass {kept}"
            )?;
        }
        write!(f, "; at most {} at once", ByteCount(memory.peak))?;
        for (name, times) in self.uncounted() {
            write!(f, "\nnot counted: `{name}` ({times} x)")?;
        }
        Ok(())
    }
}
