//! Gradients of parameters: taking them apart, accumulating and clipping them.

mod accumulate;
mod clip;

pub use accumulate::{Accumulation, MicroBatch, MicroBatches};
pub(crate) use clip::clip;
pub use clip::{Clip, Clipped, NonFinite};

use burn::module::ParamId;
use burn::optim::GradientsParams;
use burn::tensor::kind::BridgeTensor;
use burn::tensor::{Shape, Tensor};

use crate::error::FabricError;
use crate::parameters::Selected;

/// The highest rank Burn's optimizers know.
pub(crate) const MAX_RANK: usize = 8;

/// Evaluate an expression with the rank as a constant. Burn hands gradients out by id and rank.
macro_rules! with_rank {
    ($rank:expr, $d:ident => $body:expr) => {
        $crate::gradients::with_rank!(@ $rank, $d => $body; 0 1 2 3 4 5 6 7 8)
    };
    (@ $rank:expr, $d:ident => $body:expr; $($known:literal)*) => {
        match $rank {
            $($known => { const $d: usize = $known; $body })*
            rank => unreachable!("a parameter of rank {rank} is refused by `setup_optimizer`"),
        }
    };
}
pub(crate) use with_rank;

pub(crate) fn shape(gradients: &GradientsParams, id: ParamId, rank: usize) -> Option<Shape> {
    with_rank!(rank, D => gradients.get::<D>(id).map(|gradient| gradient.shape()))
}

pub(crate) fn take(
    gradients: &mut GradientsParams,
    id: ParamId,
    rank: usize,
) -> Option<BridgeTensor> {
    with_rank!(rank, D => gradients.remove::<D>(id).map(Tensor::into_bridge))
}

pub(crate) fn put(
    gradients: &mut GradientsParams,
    id: ParamId,
    rank: usize,
    gradient: BridgeTensor,
) {
    with_rank!(rank, D => gradients.register(id, Tensor::<D>::from_bridge(gradient)));
}

/// None of them has a gradient.
pub(crate) fn no_gradients(parameters: &[Selected<'_>]) -> FabricError {
    let trainable = parameters.iter().filter(|parameter| parameter.trainable);
    FabricError::NoGradients {
        parameters: trainable.map(Selected::full_path).collect(),
    }
}
