//! Gradients of parameters: taking them apart, accumulating and clipping them.

mod accumulate;
mod clip;

pub(crate) use accumulate::Waiting;
pub use accumulate::{Accumulation, MicroBatch, MicroBatches};
pub use clip::{Clip, Clipped, NonFinite};
pub(crate) use clip::{clip, non_finite};

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::module::ParamId;
use burn::optim::GradientsParams;
use burn::tensor::kind::BridgeTensor;
use burn::tensor::{DType, FloatDType, Shape, Tensor};

use crate::error::{FabricError, ShapeMismatch};
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

/// Check that gradients are shaped as their parameters; the paths of the parameters without one.
///
/// # Errors
/// [`FabricError::GradientShape`] with all that are not.
pub(crate) fn check_shapes<'p, F: Fn() -> String>(
    gradients: &GradientsParams,
    parameters: impl Iterator<Item = (ParamId, &'p Shape, F)>,
) -> Result<Vec<String>, FabricError> {
    let (mut without, mut unfit) = (Vec::new(), Vec::new());
    for (id, shape, path) in parameters {
        match found_shape(gradients, id, shape.rank()) {
            Ok(Some(found)) if found == *shape => {}
            Ok(None) => without.push(path()),
            other => unfit.push(ShapeMismatch {
                path: path(),
                expected: shape.clone(),
                found: other.ok().flatten(),
            }),
        }
    }
    if unfit.is_empty() {
        Ok(without)
    } else {
        Err(FabricError::GradientShape { gradients: unfit })
    }
}

/// The shape of a gradient of that rank; an error where it has another rank, which Burn tells by
/// panicking.
fn found_shape(
    gradients: &GradientsParams,
    id: ParamId,
    rank: usize,
) -> Result<Option<Shape>, OtherRank> {
    let shape = || with_rank!(rank, D => gradients.get::<D>(id).map(|gradient| gradient.shape()));
    catch_unwind(AssertUnwindSafe(shape)).map_err(|_| OtherRank)
}

struct OtherRank;

/// A tensor in half precision in f32, any other as it is.
pub(crate) fn widened<const D: usize>(tensor: Tensor<D>) -> Tensor<D> {
    match tensor.dtype() {
        DType::F16 | DType::BF16 => tensor.cast(FloatDType::F32),
        _ => tensor,
    }
}

pub(crate) fn take(
    gradients: &mut GradientsParams,
    id: ParamId,
    rank: usize,
) -> Option<BridgeTensor> {
    with_rank!(rank, D => gradients.remove::<D>(id).map(Tensor::into_bridge))
}

/// None of them has a gradient.
pub(crate) fn no_gradients(parameters: &[Selected]) -> FabricError {
    let trainable = parameters.iter().filter(|parameter| parameter.trainable);
    FabricError::NoGradients {
        parameters: trainable.map(Selected::full_path).collect(),
    }
}
