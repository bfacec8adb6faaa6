//! What a traced pass returns.

use burn::nn::attention::MhaOutput;
use burn::nn::{LstmState, RnnState};
use burn::tensor::kind::{Basic, BridgeTensor};
use burn::tensor::{DType, Tensor};
use burn_meta::{TensorId, tensor_id};
use serde::{Deserialize, Serialize};

/// A value that holds tensors: what a forward pass may return.
///
/// Tensors, tuples, arrays, lists and options of them do; for a struct of your own, name its fields:
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::Tensor;
/// use burn_materialize::{Meta, TraceOutput, TracedOutputs};
///
/// struct Prediction { logits: Tensor<2>, confidence: Option<Tensor<1>> }
///
/// impl TraceOutput for Prediction {
///     fn show(&self, outputs: &mut TracedOutputs) {
///         outputs.field("logits", &self.logits);
///         outputs.field("confidence", &self.confidence);
///     }
/// }
///
/// let meta = Meta::build(|device| LinearConfig::new(64, 10).init(device))?;
/// let trace = meta.trace(|linear, device| Prediction {
///     logits: linear.forward(Tensor::zeros([32, 64], device)),
///     confidence: None,
/// })?;
/// assert_eq!(trace.outputs[0].name, "logits");
/// assert_eq!(trace.outputs[0].shape, [32, 10]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which tensors it holds",
    label = "a traced pass cannot return this",
    note = "return its tensors in a tuple, or implement `TraceOutput` for it: one line a field"
)]
pub trait TraceOutput {
    /// Show every tensor.
    fn show(&self, outputs: &mut TracedOutputs);
}

/// One tensor that a pass returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedOutput {
    /// Its place in what was returned: `0.weights`, and nothing where it is the whole.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its dtype.
    pub dtype: DType,
}

/// Collects the tensors of a value.
#[derive(Debug, Default)]
pub struct TracedOutputs {
    name: String,
    pub(super) outputs: Vec<TracedOutput>,
    pub(super) ids: Vec<TensorId>,
}

impl TracedOutputs {
    /// The tensors of a value, real ones too.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use burn_materialize::TracedOutputs;
    ///
    /// let pair = [Tensor::<2>::zeros([3, 2], &Device::flex()), Tensor::zeros([4, 2], &Device::flex())];
    /// assert_eq!(TracedOutputs::of(&pair).outputs()[1].shape, [4, 2]);
    /// ```
    pub fn of(value: &impl TraceOutput) -> Self {
        let mut outputs = Self::default();
        value.show(&mut outputs);
        outputs
    }

    /// What has been shown.
    pub fn outputs(&self) -> &[TracedOutput] {
        &self.outputs
    }

    /// Show what stands under a name.
    pub fn field(&mut self, name: &str, value: &(impl TraceOutput + ?Sized)) {
        let outer = self.name.len();
        if outer > 0 {
            self.name.push('.');
        }
        self.name.push_str(name);
        value.show(self);
        self.name.truncate(outer);
    }

    fn tensor(&mut self, tensor: &BridgeTensor) {
        self.outputs.push(TracedOutput {
            name: self.name.clone(),
            shape: tensor.shape().to_vec(),
            dtype: tensor.dtype(),
        });
        self.ids.extend(tensor_id(tensor));
    }
}

impl<const D: usize, K: Basic> TraceOutput for Tensor<D, K> {
    fn show(&self, outputs: &mut TracedOutputs) {
        outputs.tensor(&self.clone().into_bridge());
    }
}

impl TraceOutput for () {
    fn show(&self, _outputs: &mut TracedOutputs) {}
}

impl<T: TraceOutput + ?Sized> TraceOutput for &T {
    fn show(&self, outputs: &mut TracedOutputs) {
        (**self).show(outputs);
    }
}

impl<T: TraceOutput + ?Sized> TraceOutput for Box<T> {
    fn show(&self, outputs: &mut TracedOutputs) {
        (**self).show(outputs);
    }
}

impl<T: TraceOutput> TraceOutput for Option<T> {
    fn show(&self, outputs: &mut TracedOutputs) {
        if let Some(value) = self {
            value.show(outputs);
        }
    }
}

impl<T: TraceOutput> TraceOutput for [T] {
    fn show(&self, outputs: &mut TracedOutputs) {
        for (i, value) in self.iter().enumerate() {
            outputs.field(&i.to_string(), value);
        }
    }
}

impl<T: TraceOutput> TraceOutput for Vec<T> {
    fn show(&self, outputs: &mut TracedOutputs) {
        self.as_slice().show(outputs);
    }
}

impl<const N: usize, T: TraceOutput> TraceOutput for [T; N] {
    fn show(&self, outputs: &mut TracedOutputs) {
        self.as_slice().show(outputs);
    }
}

impl<const D: usize> TraceOutput for LstmState<D> {
    fn show(&self, outputs: &mut TracedOutputs) {
        outputs.field("cell", &self.cell);
        outputs.field("hidden", &self.hidden);
    }
}

impl<const D: usize> TraceOutput for RnnState<D> {
    fn show(&self, outputs: &mut TracedOutputs) {
        outputs.field("hidden", &self.hidden);
    }
}

impl TraceOutput for MhaOutput {
    fn show(&self, outputs: &mut TracedOutputs) {
        outputs.field("weights", &self.weights);
        outputs.field("context", &self.context);
    }
}

macro_rules! tuples {
    ($([$($value:ident $index:tt),+])+) => {$(
        impl<$($value: TraceOutput),+> TraceOutput for ($($value,)+) {
            fn show(&self, outputs: &mut TracedOutputs) {
                $(outputs.field(stringify!($index), &self.$index);)+
            }
        }
    )+};
}

tuples! {
    [A 0]
    [A 0, B 1]
    [A 0, B 1, C 2]
    [A 0, B 1, C 2, D 3]
    [A 0, B 1, C 2, D 3, E 4]
    [A 0, B 1, C 2, D 3, E 4, F 5]
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6]
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7]
}
