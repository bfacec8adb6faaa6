//! Name, kind and arithmetic of every operation that Burn records.
//!
//! Every match here names each operation, so that a new one upstream does not compile instead of
//! costing nothing.

mod module;
mod tensor;

use std::borrow::Cow;

use burn::backend::ir::{DistributedOperationIr, OperationIr, TensorIr};
use hashbrown::HashSet;

use super::operation::{Cost, OperationKind, product};

/// What an operation is called and does, before its bytes are counted.
pub(super) struct Described {
    pub(super) name: Cow<'static, str>,
    pub(super) kind: OperationKind,
    pub(super) flops: u64,
    pub(super) products: u64,
    /// How many bytes of its inputs it reads, where that is not all of them.
    pub(super) reads: Option<u64>,
}

impl Described {
    fn new(name: &'static str, kind: OperationKind, flops: u64) -> Self {
        Self {
            name: Cow::Borrowed(name),
            kind,
            flops,
            products: 0,
            reads: None,
        }
    }

    /// One whose multiply-adds, and `more` besides them, are its cost.
    fn products(name: &'static str, kind: OperationKind, products: u64, more: u64) -> Self {
        Self {
            products,
            ..Self::new(name, kind, products.saturating_add(more))
        }
    }

    fn view(name: &'static str) -> Self {
        Self::new(name, OperationKind::View, 0)
    }

    fn copy(name: &'static str) -> Self {
        Self::new(name, OperationKind::Copy, 0)
    }

    fn creation(name: &'static str) -> Self {
        Self::new(name, OperationKind::Creation, 0)
    }

    /// `each` operations for every element of `out`.
    fn elementwise(name: &'static str, out: &TensorIr, each: u64) -> Self {
        Self::new(
            name,
            OperationKind::Elementwise,
            elements(out).saturating_mul(each),
        )
    }

    fn reduction(name: &'static str, input: &TensorIr) -> Self {
        Self::new(name, OperationKind::Reduction, elements(input))
    }

    /// Elements of a table at `indices`: read where they are chosen.
    fn chosen(name: &'static str, indices: &TensorIr, out: &TensorIr) -> Self {
        Self {
            reads: Some(bytes(indices).saturating_add(bytes(out))),
            ..Self::new(name, OperationKind::Indexing, 0)
        }
    }

    fn uncounted(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            kind: OperationKind::Uncounted,
            flops: 0,
            products: 0,
            reads: None,
        }
    }

    /// With its bytes.
    pub(super) fn cost(&self, operation: &OperationIr) -> Cost {
        let moved = match self.kind {
            OperationKind::View => 0,
            _ => {
                let written = operation.outputs().map(bytes);
                let read = self.reads.unwrap_or_else(|| read_once(operation));
                written.fold(read, u64::saturating_add)
            }
        };
        Cost {
            flops: self.flops,
            products: self.products,
            moved,
        }
    }
}

fn read_once(operation: &OperationIr) -> u64 {
    let mut seen = HashSet::new();
    let once = operation.inputs().filter(|input| seen.insert(input.id));
    once.map(bytes).fold(0, u64::saturating_add)
}

/// `None` for what only manages handles and streams and does nothing to a tensor.
pub(super) fn describe(operation: &OperationIr) -> Option<Described> {
    Some(match operation {
        OperationIr::BaseFloat(base) | OperationIr::BaseInt(base) | OperationIr::BaseBool(base) => {
            tensor::base(base)
        }
        OperationIr::NumericFloat(_, numeric) | OperationIr::NumericInt(_, numeric) => {
            tensor::numeric(numeric)
        }
        OperationIr::Bool(bool) => tensor::bool(bool),
        OperationIr::Int(int) => tensor::int(int),
        OperationIr::Float(_, float) => tensor::float(float),
        OperationIr::Activation(activation) => tensor::activation(activation),
        OperationIr::Module(module) => module::module(module),
        OperationIr::Init(_) => Described::creation("data"),
        OperationIr::Custom(custom) => Described::uncounted(custom.id.clone()),
        OperationIr::Distributed(DistributedOperationIr::AllReduce(reduce)) => Described::new(
            "all_reduce",
            OperationKind::Collective,
            elements(&reduce.tensor),
        ),
        OperationIr::Drop(_) | OperationIr::Distributed(DistributedOperationIr::SyncCollective) => {
            return None;
        }
    })
}

pub(super) fn elements(tensor: &TensorIr) -> u64 {
    product(tensor.shape.iter().map(|&size| size as u64))
}

pub(super) fn bytes(tensor: &TensorIr) -> u64 {
    elements(tensor).saturating_mul(tensor.dtype.size() as u64)
}

/// The size of a dimension counted from the last, 1 where there is none.
fn from_last(tensor: &TensorIr, dim: usize) -> u64 {
    let rank = tensor.shape.num_dims();
    rank.checked_sub(dim + 1)
        .map_or(1, |dim| tensor.shape[dim] as u64)
}

/// The product of the dimensions from `first` on.
fn inner(tensor: &TensorIr, first: usize) -> u64 {
    let sizes = tensor.shape.iter().skip(first);
    product(sizes.map(|&size| size as u64))
}
