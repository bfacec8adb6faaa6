//! A summary as text.

use std::fmt;

use burn_meta::ByteCount;

use super::Summary;
use super::fit::{Cell, columns, write_fitted, write_wrapped};
use super::lines::{Line, label, short_label};
use super::tree::Sums;
use crate::site::Role;
use crate::table::{Flops, grouped};

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.width.unwrap_or_else(columns);
        let lines = self.places(self.folded, self.depth);
        let rows = match &self.costs {
            None => self.rows_of_tensors(&lines),
            Some(_) => self.rows_of_costs(&lines),
        };
        write_fitted(f, &rows, columns)?;
        self.write_totals(f, columns)
    }
}

impl Summary {
    fn rows_of_tensors(&self, lines: &[Line]) -> Vec<Vec<Cell>> {
        let header = ["module", "shape", "dtype", "parameters", "bytes", "state"];
        let mut rows = vec![header.map(Cell::text).into()];
        rows.extend(lines.iter().map(|&line| {
            let sums = self.tree.sums(line.first);
            let tensor = self.tree.tensor(line.first);
            let (shape, dtype) = match tensor {
                Some(tensor) => {
                    let dtype = tensor.kind.dtype.map_or("-", |dtype| dtype.name());
                    (shape_of(tensor.kind.shape.as_slice()), dtype)
                }
                None => (String::new(), ""),
            };
            vec![
                self.name(line),
                Cell::text(shape),
                Cell::text(dtype),
                self.parameters_of(line, &sums),
                self.bytes_of(line, &sums),
                Cell::text(self.state_of(line, &sums)),
            ]
        }));
        rows
    }

    fn rows_of_costs(&self, lines: &[Line]) -> Vec<Vec<Cell>> {
        let Some(costs) = &self.costs else {
            return Vec::new();
        };
        let mut header = vec!["module", "output or shape", "parameters", "FLOPs"];
        if costs.is_training {
            header.push("backward");
        }
        header.push("activations");
        let mut rows = vec![header.into_iter().map(Cell::text).collect()];
        for &line in lines {
            let sums = self.tree.sums(line.first);
            let tensor = self.tree.tensor(line.first);
            let cost = costs.get(line.first);
            let number = |number: &dyn fmt::Display| match tensor {
                None => Cell::Number(number.to_string()),
                Some(_) => Cell::Number(String::new()),
            };
            let shape = match tensor {
                Some(tensor) if tensor.tied_to.is_some() => self.state_of(line, &sums),
                Some(tensor) => shape_of(tensor.kind.shape.as_slice()),
                None => {
                    let shapes: Vec<String> =
                        cost.outputs.iter().map(|shape| shape_of(shape)).collect();
                    shapes.join(", ")
                }
            };
            let mut row = vec![
                self.name(line),
                Cell::text(shape),
                self.parameters_of(line, &sums),
            ];
            row.push(number(&Flops(cost.forward.flops)));
            if costs.is_training {
                row.push(number(&Flops(cost.backward.flops)));
            }
            row.push(number(&ByteCount(cost.activations)));
            rows.push(row);
        }
        rows
    }

    /// `query: Linear`, two columns further in than what holds it; where that is too long, without
    /// the type.
    fn name(&self, line: Line) -> Cell {
        let indent = "  ".repeat(line.level);
        let label = label(&self.tree, line);
        let module = self.tree.module(line.first);
        if line.level == 0 {
            return Cell::text(module.unwrap_or("(root)"));
        }
        let short = short_label(&self.tree, line);
        let mut wordings = vec![format!("{indent}{label}"), format!("{indent}{short}")];
        if let Some(module) = module {
            wordings.insert(0, format!("{indent}{label}: {module}"));
        }
        Cell::Text(wordings)
    }

    fn parameters_of(&self, line: Line, sums: &Sums) -> Cell {
        Cell::Number(match self.tree.tensor(line.first) {
            Some(tensor) if tensor.tied_to.is_some() => "-".to_owned(),
            Some(tensor) if tensor.kind.role != Role::Parameter => "-".to_owned(),
            _ => grouped(sums.parameters),
        })
    }

    fn bytes_of(&self, line: Line, sums: &Sums) -> Cell {
        Cell::Number(match self.tree.tensor(line.first) {
            Some(tensor) if tensor.tied_to.is_some() => "-".to_owned(),
            _ => ByteCount(sums.bytes).to_string(),
        })
    }

    fn state_of(&self, line: Line, sums: &Sums) -> String {
        let Some(tensor) = self.tree.tensor(line.first) else {
            return sums.states.to_string();
        };
        match (tensor.tied_to, tensor.kind.role) {
            (Some(first), _) => format!("= {}", self.tree.path(first)),
            (None, Role::Parameter) => tensor.kind.state.to_string(),
            (None, role) => format!("{} ({role})", tensor.kind.state),
        }
    }

    fn write_totals(&self, f: &mut fmt::Formatter<'_>, columns: usize) -> fmt::Result {
        let ties = self.tree.paths() - self.tensors();
        let ties = if ties == 0 {
            String::new()
        } else {
            format!(" ({ties} more by ties)")
        };
        let totals = [
            "total:".to_owned(),
            format!("{} tensors{ties},", self.tensors()),
            format!("{} parameters,", grouped(self.parameters() as u64)),
            format!("{} buffer elements,", grouped(self.buffers() as u64)),
            format!("{};", ByteCount(self.bytes() as u64)),
            format!("allocated: {}", ByteCount(self.allocated_bytes() as u64)),
        ];
        write_wrapped(f, &totals, columns)?;
        let Some(costs) = &self.costs else {
            return Ok(());
        };
        let whole = costs.get(0);
        let mut totals = vec![format!("forward: {} FLOPs;", Flops(whole.forward.flops))];
        if costs.is_training {
            totals.push(format!("backward: {} FLOPs;", Flops(whole.backward.flops)));
        }
        totals.push(format!("activations: {};", ByteCount(whole.activations)));
        totals.push(format!("at most {} at once", ByteCount(costs.peak)));
        if costs.uncounted > 0 {
            totals.push(format!("({} operations of unknown cost)", costs.uncounted));
        }
        f.write_str("\n")?;
        write_wrapped(f, &totals, columns)
    }
}

fn shape_of(shape: &[usize]) -> String {
    format!("{shape:?}")
}
