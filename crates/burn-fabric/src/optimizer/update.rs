//! One parameter's part of a step.

use burn::optim::DynState;
use burn::tensor::kind::BridgeTensor;
use burn::tensor::{DType, FloatDType, Tensor};

use super::config::BuiltOptimizer;
use crate::gradients::{widened, with_rank};
use crate::precision::is_half;

/// What an optimizer keeps of a parameter.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) state: Option<DynState>,
    /// Of a weight in half precision, the same in f32: what is updated, and rounded to the weight.
    pub(crate) master: Option<BridgeTensor>,
    /// Whether the weight may have been replaced since the master was made.
    pub(crate) is_master_doubtful: bool,
}

/// The weight after the step, and what is kept of it; `masters` says whether a weight in half
/// precision has a master.
pub(crate) fn update(
    optimizer: &BuiltOptimizer,
    rate: f64,
    weight: BridgeTensor,
    gradient: BridgeTensor,
    kept: Kept,
    masters: bool,
) -> (BridgeTensor, Kept) {
    let (rank, dtype) = (weight.rank(), weight.dtype());
    let has_master = masters && is_half(dtype);
    let weight = match has_master {
        true => master_of(weight, kept.master, kept.is_master_doubtful),
        false => weight,
    };
    let gradient = as_dtype(gradient, weight.dtype());
    let gradient = match &optimizer.clipping {
        Some(clipping) => with_rank!(rank, D => {
            clipping.clip_gradient(Tensor::<D>::from_bridge(gradient)).into_bridge()
        }),
        None => gradient,
    };
    let step = optimizer
        .optimizer
        .step_dyn(rank, rate, weight, gradient, kept.state);
    let (weight, state) = step;
    let kept = |master| Kept {
        state,
        master,
        is_master_doubtful: false,
    };
    match has_master {
        true => (as_dtype(weight.clone(), dtype), kept(Some(weight))),
        false => (weight, kept(None)),
    }
}

/// The f32 weight to update for `weight`: that of the master, where it rounds to the weight still,
/// element by element.
fn master_of(
    weight: BridgeTensor,
    master: Option<BridgeTensor>,
    is_doubtful: bool,
) -> BridgeTensor {
    match master {
        Some(master) if !is_doubtful => master,
        Some(master) if master.shape() == weight.shape() => {
            let rounded = as_dtype(master.clone(), weight.dtype());
            with_rank!(weight.rank(), D => {
                let weight = Tensor::<D>::from_bridge(weight);
                let is_kept = Tensor::<D>::from_bridge(rounded).equal(weight.clone());
                let master = Tensor::<D>::from_bridge(master);
                widened(weight).mask_where(is_kept, master).into_bridge()
            })
        }
        _ => as_dtype(weight, DType::F32),
    }
}

fn as_dtype(tensor: BridgeTensor, dtype: DType) -> BridgeTensor {
    if tensor.dtype() == dtype {
        return tensor;
    }
    with_rank!(tensor.rank(), D => {
        let tensor = Tensor::<D>::from_bridge(tensor);
        tensor.cast(FloatDType::from(dtype)).into_bridge()
    })
}
