//! Running a pass on placeholders.

use burn::tensor::{DType, Device, GradientCheckpointingStrategy, Tensor};
use burn_meta::{
    DefaultDTypes, HalfPrecision, Mark, MetaDevice, OperationList, TensorId, TraceScope, Traced,
};
use hashbrown::HashMap;

use super::attribution::{Owners, attribute, used_last};
use super::error::{Reached, TraceError};
use super::leaf::TracedLeaf;
use super::memory::TraceMemory;
use super::output::{TraceOutput, TracedOutputs};
use super::placeholders::{DTypeOf, DTypes, Leaf, placeholders};
use super::report::Trace;
use crate::inventory::inventory;
use crate::{Materialize, Meta, Site};

/// What a pass is traced as.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::{DType, FloatDType, Tensor};
/// use burn_materialize::{DefaultDTypes, Meta, TraceOptions};
///
/// let meta = Meta::build(|device| LinearConfig::new(64, 10).init(device))?;
/// let bf16 = DefaultDTypes { float: FloatDType::BF16, ..DefaultDTypes::default() };
/// let options = TraceOptions::default().dtypes(bf16);
/// let trace = meta.trace_with(options, |linear, device| {
///     linear.forward(Tensor::<2>::zeros([32, 64], device))
/// })?;
/// assert_eq!(trace.outputs[0].dtype, DType::BF16);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceOptions {
    dtypes: Option<DefaultDTypes>,
    of_site: Option<DTypeOf>,
    checkpointing: GradientCheckpointingStrategy,
    half: HalfPrecision,
}

impl TraceOptions {
    /// The dtypes of whatever names none, in the module and in the pass; else those that the module
    /// was built with.
    pub fn dtypes(mut self, dtypes: DefaultDTypes) -> Self {
        self.dtypes = Some(dtypes);
        self
    }

    /// The dtype of each tensor of the module, given the one that it would have: for what is kept in
    /// another one than the rest.
    pub fn dtype_of(mut self, dtype_of: fn(&Site<'_>, DType) -> DType) -> Self {
        self.of_site = Some(dtype_of);
        self
    }

    /// Whether training computes activations again instead of keeping them.
    pub fn gradient_checkpointing(mut self, strategy: GradientCheckpointingStrategy) -> Self {
        self.checkpointing = strategy;
        self
    }

    /// How the device computes in half precision, for the memory that it takes.
    pub fn half_precision(mut self, half: HalfPrecision) -> Self {
        self.half = half;
        self
    }
}

impl<M: Materialize> Meta<M> {
    /// Run a forward pass without computing it: shapes, operations, what they cost, and the memory
    /// that they need.
    ///
    /// `forward` gets a copy of the module and the device to make its inputs on: as many as it
    /// takes, of any kind. This `Meta` stays as it is, and can be traced any number of times.
    ///
    /// # Errors
    /// [`TraceError`] where Burn refuses the pass: shapes that do not fit, values that are read, a
    /// tensor of another device. A panic of the pass's own is passed on.
    ///
    /// ```
    /// use burn::nn::{Linear, LinearConfig};
    /// use burn::tensor::Tensor;
    /// use burn_materialize::Meta;
    ///
    /// let meta = Meta::build(|device| LinearConfig::new(4096, 4096).init(device))?;
    /// let trace = meta.trace(|linear: &Linear, device| {
    ///     linear.forward(Tensor::<3>::zeros([8, 2048, 4096], device))
    /// })?;
    /// assert_eq!(trace.outputs[0].shape, [8, 2048, 4096]);
    /// assert_eq!(trace.cost().products, 2 * 8 * 2048 * 4096 * 4096);
    /// println!("{trace}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trace<O: TraceOutput>(
        &self,
        forward: impl FnOnce(&M, &Device) -> O,
    ) -> Result<Trace, TraceError> {
        self.trace_with(TraceOptions::default(), forward)
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`trace`](Meta::trace).
    pub fn trace_with<O: TraceOutput>(
        &self,
        options: TraceOptions,
        forward: impl FnOnce(&M, &Device) -> O,
    ) -> Result<Trace, TraceError> {
        run_inference(self.parts().0, self.dtypes(), options, forward)
    }

    /// Run a forward pass and the backward pass from the loss that it returns, without computing
    /// either. Inputs are to be made on the device that `forward` is given, which has autodiff.
    ///
    /// # Errors
    /// As [`trace`](Meta::trace), and [`TraceError::NothingToTrain`].
    ///
    /// ```
    /// use burn::nn::{Linear, LinearConfig};
    /// use burn::tensor::Tensor;
    /// use burn_materialize::Meta;
    ///
    /// let meta = Meta::build(|device| LinearConfig::new(64, 10).init(device))?;
    /// let trace = meta.trace_training(|linear: &Linear, device| {
    ///     linear.forward(Tensor::<2>::zeros([32, 64], device)).powi_scalar(2).mean()
    /// })?;
    /// // The input needs no gradient: one product forward, one for the weight's gradient.
    /// assert_eq!(trace.cost().products, 2 * (2 * 32 * 64 * 10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trace_training<const D: usize>(
        &self,
        forward: impl FnOnce(&M, &Device) -> Tensor<D>,
    ) -> Result<Trace, TraceError> {
        self.trace_training_with(TraceOptions::default(), forward)
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`trace_training`](Meta::trace_training).
    pub fn trace_training_with<const D: usize>(
        &self,
        options: TraceOptions,
        forward: impl FnOnce(&M, &Device) -> Tensor<D>,
    ) -> Result<Trace, TraceError> {
        run_training(self.parts().0, self.dtypes(), options, forward)
    }
}

/// Trace a forward pass of a module that is real, lazy or both: shapes and dtypes are read, and no
/// value. As [`Meta::trace`].
///
/// # Errors
/// As [`Meta::trace`].
///
/// ```
/// use burn::nn::{Linear, LinearConfig};
/// use burn::tensor::{Device, Tensor};
/// use burn_materialize::{TraceOptions, trace};
///
/// let linear: Linear = LinearConfig::new(64, 10).init(&Device::flex());
/// let trace = trace(&linear, TraceOptions::default(), |linear, device| {
///     linear.forward(Tensor::<2>::zeros([32, 64], device))
/// })?;
/// assert_eq!(trace.outputs[0].shape, [32, 10]);
/// assert!(!linear.weight.is_initialized());
/// # Ok::<(), burn_materialize::TraceError>(())
/// ```
pub fn trace<M: Materialize, O: TraceOutput>(
    module: &M,
    options: TraceOptions,
    forward: impl FnOnce(&M, &Device) -> O,
) -> Result<Trace, TraceError> {
    run_inference(module, dtypes_of(module), options, forward)
}

/// Trace a training pass of a module that is real, lazy or both. As [`Meta::trace_training`]; a
/// lazy parameter counts as one that is trained.
///
/// # Errors
/// As [`Meta::trace_training`].
pub fn trace_training<M: Materialize, const D: usize>(
    module: &M,
    options: TraceOptions,
    forward: impl FnOnce(&M, &Device) -> Tensor<D>,
) -> Result<Trace, TraceError> {
    run_training(module, dtypes_of(module), options, forward)
}

/// The defaults of the device that a module is on; a module without tensors may be on any.
fn dtypes_of<M: Materialize>(module: &M) -> DefaultDTypes {
    let entries = inventory(module);
    let device = entries.first().map(|entry| &entry.device);
    device.map_or_else(DefaultDTypes::default, DefaultDTypes::of)
}

fn run_inference<M: Materialize, O: TraceOutput>(
    module: &M,
    built: DefaultDTypes,
    options: TraceOptions,
    forward: impl FnOnce(&M, &Device) -> O,
) -> Result<Trace, TraceError> {
    let run = Run {
        built,
        options,
        is_training: false,
    };
    run.of(module, |prepared| {
        let output = forward(&prepared.copy, prepared.device);
        Ok(Ended {
            outputs: TracedOutputs::of(&output),
            backward: None,
        })
    })
}

fn run_training<M: Materialize, const D: usize>(
    module: &M,
    built: DefaultDTypes,
    options: TraceOptions,
    forward: impl FnOnce(&M, &Device) -> Tensor<D>,
) -> Result<Trace, TraceError> {
    let run = Run {
        built,
        options,
        is_training: true,
    };
    run.of(module, |prepared| {
        let loss = forward(&prepared.copy, prepared.device);
        let outputs = TracedOutputs::of(&loss);
        let begin = prepared.scope.mark();
        let gradients = prepared.scope.backward(loss.into_bridge());
        let gradients = gradients.ok_or(NothingToTrain)?;
        let of_leaf = |leaf: &Leaf| gradients.of(leaf.trained.clone()?);
        let gradients = prepared.leaves.iter().map(of_leaf).collect();
        Ok(Ended {
            outputs,
            backward: Some((begin, gradients)),
        })
    })
}

struct Run {
    built: DefaultDTypes,
    options: TraceOptions,
    is_training: bool,
}

/// What a pass runs with.
struct Prepared<'s, M> {
    copy: M,
    leaves: &'s [Leaf],
    device: &'s Device,
    scope: &'s TraceScope<'s>,
}

/// What a pass that came to its end leaves.
struct Ended {
    outputs: TracedOutputs,
    /// Where its backward pass begins, and the gradient of each leaf.
    backward: Option<(Mark, Vec<Option<TensorId>>)>,
}

struct NothingToTrain;

impl Run {
    fn of<M: Materialize>(
        self,
        module: &M,
        pass: impl FnOnce(&Prepared<'_, M>) -> Result<Ended, NothingToTrain>,
    ) -> Result<Trace, TraceError> {
        let dtypes = DTypes {
            built: self.built,
            traced: self.options.dtypes.unwrap_or(self.built),
            of_site: self.options.of_site,
        };
        // Outside of the scope, so that it is there after a panic too.
        let mut there = None;
        let traced = MetaDevice::new(dtypes.traced)?.trace(|scope| {
            let training = self
                .is_training
                .then(|| scope.training_device(self.options.checkpointing));
            let (copy, leaves) = placeholders(module, scope, training.as_ref(), dtypes);
            let (leaves, _) = there.insert((leaves, scope.mark()));
            pass(&Prepared {
                copy,
                leaves,
                device: training.as_ref().unwrap_or(scope.device()),
                scope,
            })
        });
        let Traced { outcome, tape } = traced.map_err(TraceError::of_recording)?;
        let Some((leaves, begin)) = there else {
            let Err(stopped) = outcome else {
                unreachable!("a pass that ended had a module")
            };
            stopped.resume();
        };
        let list = tape.list(begin);
        let mut owners = Owners::new();
        let of_leaves = leaves
            .iter()
            .map(|leaf| (list.place(leaf.id), owners.number(&leaf.module)))
            .filter_map(|(place, owner)| Some((place?, owner)))
            .collect();
        let ended = match outcome {
            Ok(Ok(ended)) => ended,
            stopped => {
                let attributed = attribute(&list, &of_leaves, &HashMap::new());
                let reached = reached(&list, &owners, &attributed);
                return Err(match stopped {
                    Err(stopped) => TraceError::of(stopped, reached),
                    _ => TraceError::NothingToTrain { reached },
                });
            }
        };
        let (forward, gradients) = match ended.backward {
            Some((begin, gradients)) => (list.first_after(begin), gradients),
            None => (list.operations.len(), Vec::new()),
        };
        let of_gradients = leaves
            .iter()
            .zip(&gradients)
            .filter_map(|(leaf, gradient)| {
                Some((list.place((*gradient)?)?, owners.number(&leaf.module)))
            })
            .collect();
        let attributed = attribute(&list, &of_leaves, &of_gradients);
        let used_last = used_last(&list, forward, &of_leaves, owners.paths.len());
        let leaf_ids = leaves.iter().map(|leaf| leaf.id);
        let left = gradients.iter().flatten().copied();
        let held = leaf_ids.chain(left).chain(ended.outputs.ids);
        let live = tape.live_bytes(begin, held, self.options.half);
        let of_leaf = |(place, leaf)| {
            let gradient = gradients.get(place).copied().flatten();
            TracedLeaf::new(leaf, gradient.is_some())
        };
        let leaves: Vec<TracedLeaf> = (0..).zip(leaves).map(of_leaf).collect();
        Ok(Trace {
            memory: TraceMemory::new(&leaves, live, forward),
            leaves,
            outputs: ended.outputs.outputs,
            tensors: list.tensors,
            operations: list.operations,
            forward,
            paths: owners.paths,
            owners: attributed,
            used_last,
        })
    }
}

fn reached(list: &OperationList, owners: &Owners, attributed: &[u32]) -> Reached {
    let last = list.operations.last();
    let owner = attributed.last().copied().unwrap_or(0);
    Reached {
        operation: last.map(|operation| operation.name.to_string()),
        path: owners.paths[owner as usize].clone(),
    }
}
