//! A module as a table.

use std::collections::HashMap;
use std::fmt;

use burn::module::ParamId;
use burn_meta::{ByteCount, TensorId};

use crate::Materialize;
use crate::inventory::{Entry, State, inventory};
use crate::site::Role;
use crate::table::{Align, grouped, write_table};

/// The tensors of a module, one a row, with totals. Its `Display` aligns.
///
/// A tensor that stands at two paths (a tie) is counted at the first.
#[derive(Clone, Debug)]
pub struct Summary {
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    entry: Entry,
    /// The first path of the tie, where this is a later one.
    tied_to: Option<String>,
}

/// What makes two rows one tensor.
#[derive(PartialEq, Eq, Hash)]
enum Identity {
    Id(ParamId),
    Recorded(TensorId),
}

impl Summary {
    /// Summarise a module, meta, lazy or real. Reads shapes only.
    pub fn of<M: Materialize>(module: &M) -> Self {
        let mut rows: Vec<Row> = Vec::new();
        let mut seen = HashMap::new();
        for entry in inventory(module) {
            let recorded = entry.tensor.map(Identity::Recorded);
            let identity = entry.id.map(Identity::Id).or(recorded);
            let first = identity.map(|identity| seen.entry(identity).or_insert(rows.len()));
            let tied_to = first
                .filter(|first| **first != rows.len())
                .map(|first| rows[*first].entry.path.clone());
            rows.push(Row { entry, tied_to });
        }
        Self { rows }
    }

    fn counted(&self) -> impl Iterator<Item = &Entry> {
        self.rows
            .iter()
            .filter(|row| row.tied_to.is_none())
            .map(|row| &row.entry)
    }

    /// How many tensors, ties counted once.
    pub fn tensors(&self) -> usize {
        self.counted().count()
    }

    /// How many elements its parameters have, ties counted once. Burn's own `num_params` also counts
    /// running states, and a tie at each path.
    pub fn parameters(&self) -> usize {
        let parameters = self.counted().filter(|entry| entry.role == Role::Parameter);
        parameters.map(Entry::elements).sum()
    }

    /// How many elements its running states and buffers have.
    pub fn buffers(&self) -> usize {
        let buffers = self.counted().filter(|entry| entry.role != Role::Parameter);
        buffers.map(Entry::elements).sum()
    }

    /// How many bytes all its tensors take, ties counted once. A lazy parameter, whose dtype is not
    /// known yet, counts with the default float dtype of its device.
    pub fn bytes(&self) -> usize {
        self.counted().map(bytes).sum()
    }

    /// How many of those bytes are allocated.
    pub fn allocated_bytes(&self) -> usize {
        self.counted()
            .filter(|entry| entry.state == State::Real)
            .map(bytes)
            .sum()
    }
}

fn bytes(entry: &Entry) -> usize {
    entry.bytes().unwrap_or_else(|| {
        let default = burn::tensor::DType::from(entry.device.settings().float_dtype);
        entry.elements() * default.size()
    })
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = [
            "path",
            "module",
            "shape",
            "dtype",
            "parameters",
            "bytes",
            "state",
        ];
        let mut table: Vec<[String; 7]> = vec![header.map(str::to_owned)];
        for Row { entry, tied_to } in &self.rows {
            let dtype = entry
                .dtype
                .map_or("-".to_owned(), |dtype| dtype.name().to_owned());
            let state = entry.state.to_string();
            let size = ByteCount(bytes(entry) as u64).to_string();
            let (parameters, size, state) = match (tied_to, entry.role) {
                (Some(first), _) => ("-".to_owned(), "-".to_owned(), format!("= {first}")),
                (None, Role::Parameter) => (grouped(entry.elements()), size, state),
                (None, role) => ("-".to_owned(), size, format!("{state} ({role})")),
            };
            let shape = format!("{:?}", entry.shape.as_slice());
            let (path, module) = (entry.path.clone(), entry.module.clone());
            table.push([path, module, shape, dtype, parameters, size, state]);
        }
        let [left, right] = [Align::Left, Align::Right];
        write_table(f, [left, left, left, left, right, right, left], &table)?;
        let ties = self.rows.len() - self.tensors();
        let ties = if ties == 0 {
            String::new()
        } else {
            format!(" ({ties} more by ties)")
        };
        write!(
            f,
            "total: {} tensors{ties}, {} parameters, {} buffer elements, {}; allocated: {}",
            self.tensors(),
            grouped(self.parameters()),
            grouped(self.buffers()),
            ByteCount(self.bytes() as u64),
            ByteCount(self.allocated_bytes() as u64),
        )
    }
}
