//! A plan as a table.

use std::fmt;

use burn_materialize::ByteCount;

use super::{Plan, Stage};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title())?;
        let mut rows: Vec<Row> = Vec::new();
        let memory = &self.memory;
        let mut part = |name, bytes, remark: String| {
            if bytes > 0 {
                rows.push([String::from(name), ByteCount(bytes).to_string(), remark]);
            }
        };
        part("parameters", memory.parameters, String::new());
        part("buffers", memory.buffers, String::new());
        part(
            "optimizer state",
            memory.optimizer_state,
            self.optimizers.join(", "),
        );
        part("master weights", memory.master_weights, "in f32".to_owned());
        let at = match memory.pass_at.as_str() {
            "" => String::new(),
            path => format!(", at `{path}`"),
        };
        let pass = match (self.optimizers.is_empty(), self.accumulate) {
            (true, _) => format!("activations{at}"),
            (false, 1) => format!("activations, and gradients as they come{at}"),
            (false, _) => format!("activations, and gradients of all batches{at}"),
        };
        if memory.peak_in == Stage::Step {
            let step = "gradients, and what is computed of them".to_owned();
            part("optimizer's step", memory.step, step);
        } else {
            part("pass", memory.pass, pass);
        }
        let peak = ByteCount(memory.peak).to_string();
        let peak_in = format!("in the {}", memory.peak_in);
        let parts = rows.len();
        rows.push(["at once".to_owned(), peak, peak_in]);
        if let Some(budget) = self.budget {
            rows.push([
                "budget".to_owned(),
                ByteCount(budget).to_string(),
                self.verdict(),
            ]);
        }
        write_rows(f, &rows, parts)?;
        if self.helps.is_empty() {
            return Ok(());
        }
        writeln!(f, "\n\nwhat would help")?;
        let helps = self.helps.iter().map(|help| {
            let fits = if help.fits { ", which fits" } else { "" };
            let what = match help.changes.as_slice() {
                [change] => change.to_string(),
                _ => "the best of each together".to_owned(),
            };
            [
                what,
                ByteCount(help.saves).to_string(),
                format!("less: {}{fits}", ByteCount(help.peak)),
            ]
        });
        let helps: Vec<Row> = helps.collect();
        write_rows(f, &helps, helps.len())
    }
}

type Row = [String; 3];

/// What, how many bytes, and a remark; with a line before the row `ruled`.
fn write_rows(f: &mut fmt::Formatter<'_>, rows: &[Row], ruled: usize) -> fmt::Result {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let (names, bytes) = (width(0), width(1));
    for (i, [name, size, remark]) in rows.iter().enumerate() {
        if i > 0 {
            writeln!(f)?;
        }
        if i == ruled {
            writeln!(f, "{}", "-".repeat(names + 2 + bytes))?;
        }
        let line = format!("{name:<names$}  {size:>bytes$}  {remark}");
        write!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

impl Plan {
    fn title(&self) -> String {
        let mut title = match self.optimizers.is_empty() {
            true => "inference".to_owned(),
            false => "training".to_owned(),
        };
        title += &format!(" at a batch of {}", self.batch);
        if self.accumulate > 1 {
            title += &format!(", {} a step", self.accumulate);
        }
        if let Some(precision) = self.precision {
            title += &format!(", in {precision}");
        }
        if self.gradient_checkpointing {
            title += ", with gradient checkpointing";
        }
        title
    }

    /// Whether it fits, by how much, and which batch would.
    fn verdict(&self) -> String {
        let fits = match self.fits() {
            true => format!("fits, with {} left", ByteCount(self.room())),
            false => format!("does not fit: {} too much", ByteCount(self.excess())),
        };
        match self.largest_batch {
            Some(0) => format!("{fits}; no batch fits"),
            Some(batch) => format!("{fits}; the largest batch that fits is {batch}"),
            None => fits,
        }
    }
}
