//! Backward passes on a meta device.
//!
//! Burn's own dispatch refuses them there, though its autodiff works on any backend: what it would
//! have called is called here.

use burn::backend::{AutodiffBackend, BackendTensor, Capture, Dispatch, DispatchTensorKind};
use burn::tensor::kind::BridgeTensor;
use burn_capture::TensorId;

use super::TraceScope;

/// The gradients that a backward pass left, by the leaf they are of.
pub struct MetaGradients(<Dispatch as AutodiffBackend>::Gradients);

impl TraceScope<'_> {
    /// Run the backward pass from `loss`; its operations are recorded, those that gradient
    /// checkpointing does again included. `None` where nothing that `loss` depends on requires a
    /// gradient.
    pub fn backward(&self, loss: BridgeTensor) -> Option<MetaGradients> {
        let loss = tracked(loss)?.autodiff();
        loss.is_tracked().then(|| MetaGradients(loss.backward()))
    }
}

impl MetaGradients {
    /// The gradient of a leaf, as the tape knows it.
    pub fn of(&self, leaf: BridgeTensor) -> Option<TensorId> {
        let gradient = tracked(leaf)?.as_autodiff().grad(&self.0)?;
        Some(gradient.id())
    }
}

/// A meta tensor on an autodiff device.
fn tracked(tensor: BridgeTensor) -> Option<BackendTensor<Capture>> {
    let (_, tensor) = tensor.into_parts();
    match tensor.kind {
        DispatchTensorKind::Autodiff(inner) => match *inner {
            DispatchTensorKind::Capture(tensor) => Some(tensor),
            _ => None,
        },
        _ => None,
    }
}
