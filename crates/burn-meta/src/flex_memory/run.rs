//! Running a recording and counting.

use burn::backend::ir::{
    BaseOperationIr, FloatOperationIr, HandleKind, OperationIr, TensorIr, TensorStatus,
};
use burn::backend::ops::IntTensorOps;
use burn_capture::TensorId;
use burn_router::TensorInterpreter;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use super::backend::GhostFlex;
use super::ghost::{self, Ghost, GhostDevice, HalfPrecision};

/// What a pass takes on flex beside the tensors that were there, in bytes.
///
/// Workspace that kernels share out among threads is counted for as many as this machine has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveBytes {
    /// The most that is allocated at once during each operation.
    pub during: Vec<u64>,
    /// What is allocated once each operation is done.
    pub after: Vec<u64>,
}

impl LiveBytes {
    /// The most that is allocated at once, and the operation during which it is.
    pub fn peak(&self) -> Option<(usize, u64)> {
        let during = self.during.iter().copied().enumerate();
        // The first of several.
        during.rev().max_by_key(|&(_, bytes)| bytes)
    }
}

/// Run `operations`; those before `begin` make what is there and is not counted. What is in `held`
/// outlives them all.
///
/// A recording does not say when a tensor is dropped. One that an operation takes over goes with it;
/// any other goes after the last operation that reads it.
pub(crate) fn run(
    operations: Vec<OperationIr>,
    begin: usize,
    held: impl IntoIterator<Item = TensorId>,
    half: HalfPrecision,
) -> LiveBytes {
    let mut last_use: HashMap<TensorId, usize> = HashMap::new();
    for (index, operation) in operations.iter().enumerate() {
        for tensor in operation.inputs().chain(operation.outputs()) {
            last_use.insert(tensor.id, index);
        }
    }
    for held in held {
        last_use.remove(&held);
    }
    let mut interpreter = TensorInterpreter::<GhostFlex>::new(GhostDevice);
    let mut live = LiveBytes::default();
    ghost::count(false);
    ghost::compute(half);
    ghost::take_peak();
    for (index, operation) in operations.into_iter().enumerate() {
        if index == begin {
            ghost::count(true);
        }
        let is_over = |tensor: &TensorIr| last_use.get(&tensor.id) == Some(&index);
        let drops = left_over(&operation, is_over);
        execute(&mut interpreter, operation);
        for tensor in drops {
            interpreter.register_op(OperationIr::Drop(tensor));
        }
        if index >= begin {
            live.during.push(ghost::take_peak());
            live.after.push(ghost::live());
        }
    }
    drop(interpreter);
    ghost::count(false);
    live
}

/// The tensors that are over after an operation and that it does not take over itself, each once.
fn left_over(operation: &OperationIr, is_over: impl Fn(&TensorIr) -> bool) -> Vec<TensorIr> {
    let is_taken = |tensor: &TensorIr| {
        operation
            .inputs()
            .any(|input| input.id == tensor.id && input.status == TensorStatus::ReadWrite)
    };
    let mut drops: Vec<TensorIr> = Vec::new();
    for tensor in operation.inputs().chain(operation.outputs()) {
        let is_listed = drops.iter().any(|listed| listed.id == tensor.id);
        if is_over(tensor) && !is_taken(tensor) && !is_listed {
            drops.push(TensorIr {
                status: TensorStatus::ReadWrite,
                ..tensor.clone()
            });
        }
    }
    drops
}

fn execute(interpreter: &mut TensorInterpreter<GhostFlex>, operation: OperationIr) {
    match operation {
        // Burn's interpreter cannot.
        OperationIr::BaseInt(BaseOperationIr::Cast(cast)) => {
            if let HandleKind::Int(tensor) = interpreter.get_tensor(&cast.input) {
                let tensor = GhostFlex::int_cast(tensor, cast.out.dtype.into());
                interpreter.register_tensor_to_device(cast.out.id, HandleKind::Int(tensor));
            }
        }
        OperationIr::Init(_)
        | OperationIr::Custom(_)
        | OperationIr::Distributed(_)
        | OperationIr::Float(_, FloatOperationIr::Quantize(_) | FloatOperationIr::Dequantize(_)) => {
            make_outputs(interpreter, &operation);
        }
        operation => interpreter.register_op(operation),
    }
}

/// An operation that flex does not have: its inputs are read, its outputs are new.
fn make_outputs(interpreter: &mut TensorInterpreter<GhostFlex>, operation: &OperationIr) {
    let _inputs: Vec<_> = operation
        .inputs()
        .map(|input| interpreter.get_tensor_handle(input))
        .collect();
    for out in operation.outputs() {
        let tensor = Ghost::alloc(out.shape.clone(), out.dtype);
        let handle = if out.dtype.is_float() {
            HandleKind::Float(tensor)
        } else if out.dtype.is_bool() {
            HandleKind::Bool(tensor)
        } else if out.dtype.is_int() || out.dtype.is_uint() {
            HandleKind::Int(tensor)
        } else {
            continue;
        };
        interpreter.register_tensor_to_device(out.id, handle);
    }
}
