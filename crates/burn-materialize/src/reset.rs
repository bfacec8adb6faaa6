//! Declaring how tensors get their initial values.

use std::collections::BTreeMap;

use burn::module::{Initializer, Param, Parameter, RunningState};
use burn::tensor::kind::Basic;
use burn::tensor::{DType, Device, Shape, Tensor};
use burn_meta::{TensorId, tensor_id};

use crate::Materialize;
use crate::site::{Site, Stack};
use crate::slot::Slot;
use crate::traversal::{Pass, traverse};

/// Says how each tensor of a module gets its initial value.
///
/// Derive it: the derived hook asks every field, and where a field carries
/// `#[reset(initializer = …)]` or `#[reset(with = …)]` it declares that. What no hook declares
/// keeps what its constructor recorded; a layer of burn-nn that was never recorded gets the default
/// its documentation states.
///
/// A hook declares and allocates nothing. Children speak first, and a parent may overwrite what
/// they said, since a bare `Linear` cannot know that it sits inside a recurrent gate:
///
/// ```
/// use burn::module::{Initializer, Module};
/// use burn::nn::Linear;
/// use burn_materialize::{InitPlan, Materialize, ResetParameters};
///
/// #[derive(Module, Materialize, Debug)]
/// struct Residual {
///     body: Linear,
///     out: Linear,
/// }
///
/// impl ResetParameters for Residual {
///     fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
///         plan.child("body", &self.body);
///         plan.child("out", &self.out);
///         // The branch starts as the identity.
///         plan.within("out", |plan| plan.parameter("weight", &self.out.weight, &Initializer::Zeros));
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no reset hook: it does not implement `ResetParameters`",
    label = "nothing says how its tensors get their initial values",
    note = "if `{Self}` is your module, add `ResetParameters` to its `#[derive(Module, Materialize, …)]`, or implement it by hand",
    note = "if it comes from another crate, mark the field with `#[materialize(foreign)]`: it keeps what its constructor records"
)]
pub trait ResetParameters {
    /// Declare the initial values of this module's tensors.
    fn reset_parameters(&self, plan: &mut InitPlan<'_>);
}

/// What the hooks of a module have declared so far, and where they stand.
pub struct InitPlan<'a> {
    device: &'a Device,
    stack: Stack,
    /// Whether the module was just recorded, so that its layers need no default.
    recorded: bool,
    /// The initialiser that a field's attribute asks for, for all layers below it.
    initializer: Option<Initializer>,
    /// The initialiser that the layer around documents for the layers inside it.
    inherited: Option<Initializer>,
    declared: BTreeMap<String, Declared>,
}

/// A declared initial value: a tensor on the meta device.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) tensor: TensorId,
    pub(crate) shape: Shape,
    pub(crate) dtype: DType,
    /// Whether it is only the documented default of a layer.
    pub(crate) default: bool,
}

impl<'a> InitPlan<'a> {
    pub(crate) fn new(device: &'a Device, recorded: bool) -> Self {
        let declared = BTreeMap::new();
        let stack = Stack::default();
        Self { device, stack, recorded, initializer: None, inherited: None, declared }
    }

    pub(crate) fn into_declared(self) -> BTreeMap<String, Declared> {
        self.declared
    }

    /// The meta device that values are declared on.
    pub fn device(&self) -> &Device {
        self.device
    }

    /// Let a child declare what it has to.
    pub fn child(&mut self, name: &str, child: &impl ResetParameters) {
        self.within(name, |plan| child.reset_parameters(plan));
    }

    /// Do something under the name of a child.
    pub fn within(&mut self, name: &str, go: impl FnOnce(&mut Self)) {
        self.stack.enter(name, "");
        go(self);
        self.stack.exit();
    }

    /// Give every weight and bias below `name` that takes an initialiser (not norms, not buffers)
    /// this one, with the fans its layer defines.
    pub fn child_with(&mut self, name: &str, child: &impl ResetParameters, initializer: Initializer) {
        let outer = self.initializer.replace(initializer);
        self.child(name, child);
        self.initializer = outer;
    }

    /// Declare an initialiser for one parameter.
    ///
    /// # Shapes
    /// Fans follow from the shape as Burn's layers define them: `[in, out]` for a matrix,
    /// `[out, in, k…]` for a convolution's weight, `[n]` counts as both.
    pub fn parameter<const D: usize>(
        &mut self,
        name: &str,
        param: &Param<Tensor<D>>,
        initializer: &Initializer,
    ) {
        self.within(name, |plan| plan.initialize_here::<D>(param.lazy_shape(), initializer));
    }

    /// Declare the value of a field by a function of its shape.
    pub fn value_with<F: InitialValue>(
        &mut self,
        name: &str,
        field: &F,
        value: impl FnOnce(Shape, &Device) -> F::Tensor,
    ) {
        if let Some(shape) = field.initial_shape() {
            let tensor = value(shape, self.device);
            self.within(name, |plan| F::declare(tensor, plan));
        }
    }

    /// Declare the value of the tensor called `name`.
    ///
    /// The tensor is made on [`device`](InitPlan::device); nothing is computed.
    pub fn value<const D: usize, K: Basic>(&mut self, name: &str, tensor: Tensor<D, K>) {
        self.within(name, |plan| plan.value_here(tensor));
    }

    fn value_here<const D: usize, K: Basic>(&mut self, tensor: Tensor<D, K>) {
        self.declare(tensor.shape(), tensor.dtype(), tensor_id(&tensor.into_bridge()), false);
    }

    fn declare(&mut self, shape: Shape, dtype: DType, tensor: Option<TensorId>, default: bool) {
        // A tensor on another device has no recipe: the check reports the path as declared wrongly
        // by its id, which no recording holds.
        let tensor = tensor.unwrap_or(TensorId::new(u64::MAX));
        let path = self.stack.path().to_owned();
        self.declared.insert(path, Declared { tensor, shape, dtype, default });
    }

    fn initialize_here<const D: usize>(&mut self, shape: Shape, initializer: &Initializer) {
        let (fan_in, fan_out) = fans(&shape);
        let param: Param<Tensor<D>> =
            initializer.init_with(shape, Some(fan_in), Some(fan_out), self.device);
        self.value_here(param.val());
    }

    /// A bare parameter: an attribute on it names the initialiser, nothing else does.
    pub(crate) fn bare_parameter<const D: usize>(&mut self, shape: Shape) {
        if let Some(initializer) = self.initializer.clone() {
            self.initialize_here::<D>(shape, &initializer);
        }
    }

    /// The children of a layer that gives them `initializer`, the default of its configuration, in
    /// place of their own.
    pub(crate) fn inheriting(&mut self, initializer: Initializer, children: impl FnOnce(&mut Self)) {
        let outer = self.inherited.replace(initializer);
        children(self);
        self.inherited = outer;
    }

    /// Whether an attribute or the layer around names an initialiser.
    pub(crate) fn names_initializer(&self) -> bool {
        self.initializer.is_some() || self.inherited.is_some()
    }

    /// A layer that its own configuration rebuilds on the meta device, with the initialiser that an
    /// attribute asks for; else the one that the layer around gives; else `default`, the
    /// configuration's own.
    pub(crate) fn layer<M: Materialize>(
        &mut self,
        default: Initializer,
        rebuild: impl FnOnce(&Device, Initializer) -> M,
    ) {
        let asked = self.initializer.clone();
        if self.recorded && asked.is_none() {
            return;
        }
        let is_default = asked.is_none();
        let initializer = asked.or_else(|| self.inherited.clone()).unwrap_or(default);
        let layer = rebuild(self.device, initializer);
        traverse(layer, &mut Adopt { plan: self, default: is_default });
    }

    /// A layer that takes no initialiser.
    pub(crate) fn fixed_layer<M: Materialize>(&mut self, rebuild: impl FnOnce(&Device) -> M) {
        if !self.recorded {
            let layer = rebuild(self.device);
            traverse(layer, &mut Adopt { plan: self, default: true });
        }
    }
}

/// Declares every tensor of a rebuilt layer under the path where the plan stands.
struct Adopt<'p, 'a> {
    plan: &'p mut InitPlan<'a>,
    default: bool,
}

impl Pass for Adopt<'_, '_> {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        let tensor = slot.tensor();
        let (shape, dtype) = (tensor.shape(), tensor.dtype());
        let default = self.default;
        self.plan.within(site.path(), |plan| plan.declare(shape, dtype, tensor_id(&tensor), default));
    }
}

/// `(fan_in, fan_out)` of a weight, as Burn's layers define them.
fn fans(shape: &Shape) -> (usize, usize) {
    match shape.as_slice() {
        [] => (1, 1),
        &[n] => (n, n),
        &[fan_in, fan_out] => (fan_in, fan_out),
        [out, fan_in, kernel @ ..] => {
            let kernel: usize = kernel.iter().product();
            (fan_in * kernel, out * kernel)
        }
    }
}

/// A field whose value a function can give: parameters, running states, plain tensors, and
/// `Option`s of these.
pub trait InitialValue {
    /// The tensor type the function returns.
    type Tensor;

    /// The field's shape; `None` where the field is `None`.
    fn initial_shape(&self) -> Option<Shape>;

    /// Declare `tensor` where the plan stands.
    #[doc(hidden)]
    fn declare(tensor: Self::Tensor, plan: &mut InitPlan<'_>);
}

impl<const D: usize, K: Basic> InitialValue for Tensor<D, K> {
    type Tensor = Self;

    fn initial_shape(&self) -> Option<Shape> {
        Some(self.shape())
    }

    fn declare(tensor: Self, plan: &mut InitPlan<'_>) {
        plan.value_here(tensor);
    }
}

impl<const D: usize, K: Basic> InitialValue for Param<Tensor<D, K>>
where
    Tensor<D, K>: Parameter,
{
    type Tensor = Tensor<D, K>;

    fn initial_shape(&self) -> Option<Shape> {
        Some(self.lazy_shape())
    }

    fn declare(tensor: Self::Tensor, plan: &mut InitPlan<'_>) {
        plan.value_here(tensor);
    }
}

impl<const D: usize> InitialValue for RunningState<Tensor<D>> {
    type Tensor = Tensor<D>;

    fn initial_shape(&self) -> Option<Shape> {
        Some(self.value().shape())
    }

    fn declare(tensor: Self::Tensor, plan: &mut InitPlan<'_>) {
        plan.value_here(tensor);
    }
}

impl<F: InitialValue> InitialValue for Option<F> {
    type Tensor = F::Tensor;

    fn initial_shape(&self) -> Option<Shape> {
        self.as_ref().and_then(F::initial_shape)
    }

    fn declare(tensor: Self::Tensor, plan: &mut InitPlan<'_>) {
        F::declare(tensor, plan);
    }
}
