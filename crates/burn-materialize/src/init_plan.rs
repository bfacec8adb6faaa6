//! Where hooks declare: values by path, on the meta device.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::module::{Initializer, Param};
use burn::tensor::kind::Basic;
use burn::tensor::{DType, Device, Shape, Tensor};
use burn_meta::{TensorId, panic_text, tensor_id};

use crate::error::Problem;
use crate::inventory::Inventory;
use crate::site::Stack;
use crate::traversal::traverse;
use crate::{InitialValue, Materialize, ResetParameters};

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
    /// Whether some layer took that initialiser.
    taken: bool,
    declarations: Declarations,
}

/// What hooks declared, and what they got wrong.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declarations {
    pub(crate) values: BTreeMap<String, Declared>,
    pub(crate) problems: Vec<Problem>,
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
        Self {
            device,
            stack: Stack::default(),
            recorded,
            initializer: None,
            inherited: None,
            taken: false,
            declarations: Declarations::default(),
        }
    }

    pub(crate) fn into_declarations(self) -> Declarations {
        self.declarations
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
    pub fn child_with(
        &mut self,
        name: &str,
        child: &impl ResetParameters,
        initializer: Initializer,
    ) {
        let outer = (
            self.initializer.replace(initializer),
            std::mem::take(&mut self.taken),
        );
        self.child(name, child);
        if !self.taken {
            self.within(name, |plan| {
                let path = plan.stack.path().to_owned();
                plan.declarations
                    .problems
                    .push(Problem::InitializerIgnored { path });
            });
        }
        (self.initializer, self.taken) = (outer.0, outer.1 || self.taken);
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
        self.within(name, |plan| {
            plan.initialize_here::<D>(param.lazy_shape(), initializer)
        });
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

    pub(crate) fn value_here<const D: usize, K: Basic>(&mut self, tensor: Tensor<D, K>) {
        self.declare(
            tensor.shape(),
            tensor.dtype(),
            tensor_id(&tensor.into_bridge()),
            false,
        );
    }

    fn declare(&mut self, shape: Shape, dtype: DType, tensor: Option<TensorId>, default: bool) {
        let path = self.stack.path().to_owned();
        match tensor {
            Some(tensor) => {
                let declared = Declared {
                    tensor,
                    shape,
                    dtype,
                    default,
                };
                self.declarations.values.insert(path, declared);
            }
            None => self
                .declarations
                .problems
                .push(Problem::DeclaredElsewhere { path }),
        }
    }

    fn initialize_here<const D: usize>(&mut self, shape: Shape, initializer: &Initializer) {
        let (fan_in, fan_out) = fans(&shape);
        let param = self.attempt(|device| -> Param<Tensor<D>> {
            let param = initializer.init_with(shape, Some(fan_in), Some(fan_out), device);
            param.base();
            param
        });
        if let Some(param) = param {
            self.value_here(param.base());
        }
    }

    /// Burn's initialisers panic on what they cannot do: orthogonal on a bias, Xavier where a layer
    /// knows one fan only.
    fn attempt<T>(&mut self, initialize: impl FnOnce(&Device) -> T) -> Option<T> {
        let device = self.device;
        catch_unwind(AssertUnwindSafe(|| initialize(device)))
            .map_err(|panic| {
                let message = panic_text(&*panic).unwrap_or_else(|| "no reason given".to_owned());
                let path = self.stack.path().to_owned();
                self.declarations
                    .problems
                    .push(Problem::Initializer { path, message });
            })
            .ok()
    }

    /// A bare parameter: an attribute on it names the initialiser, nothing else does.
    pub(crate) fn bare_parameter<const D: usize>(&mut self, shape: Shape) {
        if let Some(initializer) = self.initializer.clone() {
            self.taken = true;
            self.initialize_here::<D>(shape, &initializer);
        }
    }

    /// A field that is `None`: whatever initialiser it would have had.
    pub(crate) fn absent(&mut self) {
        self.taken = true;
    }

    /// The children of a layer that gives them `initializer`, the default of its configuration, in
    /// place of their own.
    pub(crate) fn inheriting(
        &mut self,
        initializer: Initializer,
        children: impl FnOnce(&mut Self),
    ) {
        let outer = self.inherited.replace(initializer);
        children(self);
        self.inherited = outer;
    }

    /// Whether an attribute or the layer around names an initialiser.
    pub(crate) fn names_initializer(&self) -> bool {
        self.initializer.is_some() || self.inherited.is_some()
    }

    /// Whether a layer has anything to declare: it was not recorded, or an attribute asks for an
    /// initialiser.
    pub(crate) fn wants_layers(&self) -> bool {
        !self.recorded || self.initializer.is_some()
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
        self.taken |= asked.is_some();
        if !self.wants_layers() {
            return;
        }
        let is_default = asked.is_none();
        let initializer = asked.or_else(|| self.inherited.clone()).unwrap_or(default);
        self.adopt(is_default, |device| rebuild(device, initializer));
    }

    /// A layer that takes no initialiser.
    pub(crate) fn fixed_layer<M: Materialize>(&mut self, rebuild: impl FnOnce(&Device) -> M) {
        if !self.recorded {
            self.adopt(true, rebuild);
        }
    }

    /// Rebuild a layer and declare every tensor of it.
    fn adopt<M: Materialize>(&mut self, default: bool, rebuild: impl FnOnce(&Device) -> M) {
        let touched = self.attempt(|device| {
            let mut touch = Inventory {
                touch: true,
                ..Inventory::default()
            };
            let layer = rebuild(device);
            traverse(layer, &mut touch);
            touch.entries
        });
        for entry in touched.into_iter().flatten() {
            let dtype = entry.dtype.expect("a touched tensor has a dtype");
            self.within(&entry.path, |plan| {
                plan.declare(entry.shape.clone(), dtype, entry.tensor, default);
            });
        }
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
