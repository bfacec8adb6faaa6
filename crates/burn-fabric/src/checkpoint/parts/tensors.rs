//! Single tensors that a part keeps.

use burn::tensor::kind::BridgeTensor;
use burn::tensor::{DType, Device};
use burn_materialize::Checkpoint;
use burn_meta::{place_data, read as read_tensor};
use burn_weights::Outgoing;

use crate::checkpoint::StateProblem;
use crate::checkpoint::loading::read;

/// A tensor to write, read from its device when it is its turn.
pub(super) fn outgoing(name: String, tensor: BridgeTensor) -> Outgoing {
    let shape = tensor.shape().as_slice().to_vec();
    Outgoing::new(name, tensor.dtype(), shape, move || {
        let data = read_tensor(tensor.clone()).map_err(|error| error.reason().to_owned())?;
        Ok(data.into_parts().0)
    })
}

/// A tensor of a checkpoint on a device.
pub(super) fn placed(
    part: &str,
    tensors: &Checkpoint,
    name: &str,
    dtype: DType,
    device: &Device,
) -> Result<BridgeTensor, StateProblem> {
    let placed = place_data(read(tensors, name)?, dtype, false, device);
    placed.map_err(|error| StateProblem::Value {
        part: part.to_owned(),
        message: error.to_string(),
    })
}
