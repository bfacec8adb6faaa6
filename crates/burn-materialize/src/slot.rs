//! One leaf of a module, behind one interface whatever its rank, kind and role.

use std::any::Any;

use burn::module::{Module, Param, ParamId, Parameter, RunningState};
use burn::tensor::kind::{Autodiff, Basic, BridgeTensor, Kind, TensorKind};
use burn::tensor::{DType, Device, GradientCheckpointingStrategy, Shape, Tensor};

use crate::site::Role;

/// The place of one tensor in a module. A [`Pass`](crate::Pass) reads it and may put another tensor
/// there; identity, load and save mappers and trainability stay the parameter's own.
///
/// Nothing here allocates but [`tensor`](Slot::tensor) and [`replace`](Slot::replace) on a
/// parameter that is still lazy, which initialise it as any use of it would.
pub trait Slot {
    /// What the tensor is to its module.
    fn role(&self) -> Role;
    /// Float, int or bool.
    fn kind(&self) -> Kind;
    /// The parameter's id; plain tensors have none.
    fn id(&self) -> Option<ParamId>;
    /// The shape. A lazy parameter's is the one its initialiser was given.
    fn shape(&self) -> Shape;
    /// The device it is on, or will be initialised on.
    fn device(&self) -> Device;
    /// The dtype; unknown while lazy.
    fn dtype(&self) -> Option<DType>;
    /// Whether it is a parameter that Burn has not initialised yet.
    fn is_lazy(&self) -> bool;
    /// Whether `Module::train` makes it require gradients; unknown while lazy.
    fn is_trainable(&self) -> Option<bool>;
    /// The tensor, without a reparameterisation.
    fn tensor(&self) -> BridgeTensor;
    /// Put another tensor of the same rank and kind here.
    fn replace(&mut self, tensor: BridgeTensor);
    /// The shape that Burn's records hold, where a mapper of the parameter's own changes what they
    /// do. Initialises nothing.
    fn stored_shape(&self) -> Option<Shape> {
        None
    }
    /// Put a tensor of a file here. A lazy parameter never runs its initialiser. With `as_record`,
    /// the parameter's mapper for records makes the value of what is given.
    fn load(&mut self, tensor: BridgeTensor, as_record: bool) {
        debug_assert!(!as_record, "only parameters have a mapper for records");
        self.replace(tensor);
    }
    /// What Burn's records hold of the tensor: itself, or what a mapper of its own makes of it.
    fn record(&self) -> BridgeTensor {
        self.tensor()
    }
    /// Replace the value by a function of it, outside of any autodiff graph, in place where nobody
    /// else holds the tensor. What required gradients is a new leaf that does.
    fn update(&mut self, update: &mut dyn FnMut(BridgeTensor) -> BridgeTensor);
    /// Say whether [`train`](Slot::train) makes it require gradients; only a parameter can.
    fn set_trainable(&mut self, _trainable: bool) {}
    /// Turn autodiff on as `Module::train` does, under `strategy`. A leaf stays the leaf it is; what
    /// requires gradients and is none becomes one.
    fn train(&mut self, strategy: GradientCheckpointingStrategy);
    /// Turn autodiff off as `Module::valid` does; a running state is another one from then on.
    fn valid(&mut self);
    /// Move to another device: a lazy parameter that nobody shares is initialised there later, a
    /// real one stays a leaf.
    fn fork(&mut self, device: &Device);
    /// What is in the slot, to [`tie`](Slot::tie) other slots to.
    fn handle(&self) -> Box<dyn Any>;
    /// Put the very parameter, running state or tensor of `handle` here; says whether it fits.
    fn tie(&mut self, handle: &dyn Any) -> bool;
    /// Drop what is here, leaving an empty tensor, so that another holder of a lazy parameter
    /// becomes its only one.
    fn vacate(&mut self);
}

/// A function of `tensor`, computed outside of any autodiff graph and put back under the autodiff
/// strategy that `tensor` had: tensors of two strategies cannot meet in one operation.
fn outside_autodiff<const D: usize, K: Autodiff + TensorKind>(
    tensor: Tensor<D, K>,
    update: &mut dyn FnMut(BridgeTensor) -> BridgeTensor,
) -> Tensor<D, K> {
    let strategy = tensor.gradient_checkpointing_strategy();
    let updated = Tensor::from_bridge(update(tensor.without_autodiff().into_bridge()));
    match strategy {
        Some(strategy) => updated
            .autodiff()
            .with_gradient_checkpointing_strategy(strategy),
        None => updated,
    }
}

/// A `Param<Tensor>`. The option is empty only while a method runs.
pub(crate) struct ParamSlot<const D: usize, K: Basic>(Option<Param<Tensor<D, K>>>)
where
    Tensor<D, K>: Parameter;

impl<const D: usize, K: Basic> ParamSlot<D, K>
where
    Tensor<D, K>: Parameter,
{
    pub(crate) fn new(param: Param<Tensor<D, K>>) -> Self {
        Self(Some(param))
    }

    pub(crate) fn into_param(self) -> Param<Tensor<D, K>> {
        self.0.expect("a slot is filled between its methods")
    }

    fn param(&self) -> &Param<Tensor<D, K>> {
        self.0
            .as_ref()
            .expect("a slot is filled between its methods")
    }

    fn change(&mut self, change: impl FnOnce(Param<Tensor<D, K>>) -> Param<Tensor<D, K>>) {
        self.0 = self.0.take().map(change);
    }
}

impl<const D: usize, K: Autodiff + TensorKind + 'static> Slot for ParamSlot<D, K>
where
    Tensor<D, K>: Parameter,
    Param<Tensor<D, K>>: Module + 'static,
{
    fn role(&self) -> Role {
        Role::Parameter
    }

    fn kind(&self) -> Kind {
        K::KIND
    }

    fn id(&self) -> Option<ParamId> {
        Some(self.param().id)
    }

    fn shape(&self) -> Shape {
        self.param().lazy_shape()
    }

    fn device(&self) -> Device {
        self.param().lazy_device()
    }

    fn dtype(&self) -> Option<DType> {
        let param = self.param();
        param.is_initialized().then(|| param.dtype())
    }

    fn is_lazy(&self) -> bool {
        !self.param().is_initialized()
    }

    fn is_trainable(&self) -> Option<bool> {
        if self.is_lazy() {
            return None;
        }
        // Burn keeps the setting to itself and shows it only through what `train` does with it: ask
        // a parameter of no elements that carries the same setting.
        let (id, _, mapper) = self.param().clone().consume();
        let probe = Tensor::<D, K>::empty([0; D], &Device::flex());
        Some(Module::train(Param::from_mapped_value(id, probe, mapper)).is_require_grad())
    }

    fn tensor(&self) -> BridgeTensor {
        self.param().base().into_bridge()
    }

    fn replace(&mut self, tensor: BridgeTensor) {
        self.change(|param| {
            let (id, _, mapper) = param.consume();
            Param::from_mapped_value(id, Tensor::from_bridge(tensor), mapper)
        });
    }

    fn stored_shape(&self) -> Option<Shape> {
        let param = self.param();
        // The mapper is private; `Debug` says whether there is one.
        if !format!("{param:?}").contains("load: true") {
            return None;
        }
        if self.is_lazy() {
            return Some(param.lazy_shape());
        }
        // What it makes of a tensor of this shape that takes no memory.
        let (_, tensor, mapper) = param.clone().consume();
        let probe = Tensor::<D, K>::zeros([1; D], &Device::flex()).expand(tensor.shape());
        Some(mapper.on_save(probe).shape())
    }

    fn load(&mut self, tensor: BridgeTensor, as_record: bool) {
        self.change(|param| {
            let tensor = Tensor::from_bridge(tensor);
            if !param.is_initialized() {
                // Takes no initialiser, and applies the mapper: what is no record is made one.
                let id = param.id;
                let mapped = format!("{param:?}").contains("load: true");
                let record = if mapped && !as_record {
                    tensor.transpose()
                } else {
                    tensor
                };
                return param.transform_for_load(record, id);
            }
            let (id, _, mapper) = param.consume();
            let value = if as_record {
                mapper.on_load(tensor)
            } else {
                tensor
            };
            Param::from_mapped_value(id, value, mapper)
        });
    }

    fn record(&self) -> BridgeTensor {
        let (_, tensor, mapper) = self.param().clone().consume();
        mapper.on_save(tensor).into_bridge()
    }

    fn update(&mut self, update: &mut dyn FnMut(BridgeTensor) -> BridgeTensor) {
        self.change(|param| {
            let (id, tensor, mapper) = param.consume();
            let require_grad = tensor.is_require_grad();
            let updated = outside_autodiff(tensor, update);
            Param::from_mapped_value(
                id,
                Parameter::set_require_grad(updated, require_grad),
                mapper,
            )
        });
    }

    fn set_trainable(&mut self, trainable: bool) {
        self.change(|param| param.set_require_grad(trainable));
    }

    fn train(&mut self, strategy: GradientCheckpointingStrategy) {
        self.change(|param| {
            let (id, tensor, mapper) = param.consume();
            // A leaf stays the leaf it is. What Burn's `Param::map` made of one is none: it would
            // get no gradient, and its graph can be walked only once.
            if tensor.is_require_grad() {
                let tensor = tensor.with_gradient_checkpointing_strategy(strategy);
                return Param::from_mapped_value(id, tensor, mapper);
            }
            let tensor = tensor.without_autodiff();
            let trained = Module::train(Param::from_mapped_value(id, tensor, mapper));
            // Burn's own gives the default strategy.
            let (id, tensor, mapper) = trained.consume();
            let tensor = tensor.with_gradient_checkpointing_strategy(strategy);
            Param::from_mapped_value(id, tensor, mapper)
        });
    }

    fn valid(&mut self) {
        self.change(|param| Module::valid(&param));
    }

    fn fork(&mut self, device: &Device) {
        self.change(|param| Module::fork(param, device));
    }

    fn handle(&self) -> Box<dyn Any> {
        Box::new(self.param().clone())
    }

    fn tie(&mut self, handle: &dyn Any) -> bool {
        let Some(param) = handle.downcast_ref::<Param<Tensor<D, K>>>() else {
            return false;
        };
        self.0 = Some(param.clone());
        true
    }

    fn vacate(&mut self) {
        self.change(|param| Param::initialized(param.id, Tensor::empty([0; D], &Device::flex())));
    }
}

/// A `RunningState`. Always rebuilt, never changed in place: clones of it share one state.
pub(crate) struct RunningSlot<const D: usize> {
    state: RunningState<Tensor<D>>,
    /// Its id and its value, perhaps one update late.
    seen: Param<Tensor<D>>,
}

impl<const D: usize> RunningSlot<D> {
    pub(crate) fn new(state: RunningState<Tensor<D>>) -> Self {
        let seen = see(&state);
        Self { state, seen }
    }

    pub(crate) fn into_state(self) -> RunningState<Tensor<D>> {
        self.state
    }

    /// The value with every thread's last update. Burn keeps them apart and puts them together for
    /// `valid` and `train` only; its `value_sync` looks at the current thread's.
    fn value(&self) -> Tensor<D> {
        drop(Module::valid(&self.state));
        self.state.value()
    }

    fn rebuild(&mut self, value: Tensor<D>) {
        *self = Self::new(RunningState::with_id(self.seen.id, value));
    }
}

/// The id of a running state is private; its visitor shows it.
fn see<const D: usize>(state: &RunningState<Tensor<D>>) -> Param<Tensor<D>> {
    struct See<const D: usize>(Option<Box<dyn Any>>);
    impl<const D: usize> burn::module::ModuleVisitor for See<D> {
        fn visit_float<const E: usize>(&mut self, param: &Param<Tensor<E>>) {
            self.0 = Some(Box::new(param.clone()));
        }
    }
    let mut visitor = See::<D>(None);
    state.visit(&mut visitor);
    let seen = visitor.0.expect("a running state visits its value");
    *seen
        .downcast()
        .expect("a running state visits a tensor of its own rank")
}

impl<const D: usize> Slot for RunningSlot<D> {
    fn role(&self) -> Role {
        Role::RunningState
    }

    fn kind(&self) -> Kind {
        Kind::Float
    }

    fn id(&self) -> Option<ParamId> {
        Some(self.seen.id)
    }

    fn shape(&self) -> Shape {
        self.seen.lazy_shape()
    }

    fn device(&self) -> Device {
        self.seen.lazy_device()
    }

    fn dtype(&self) -> Option<DType> {
        Some(self.seen.dtype())
    }

    fn is_lazy(&self) -> bool {
        false
    }

    fn is_trainable(&self) -> Option<bool> {
        Some(false)
    }

    fn tensor(&self) -> BridgeTensor {
        self.value().into_bridge()
    }

    fn replace(&mut self, tensor: BridgeTensor) {
        self.rebuild(Tensor::from_bridge(tensor));
    }

    fn update(&mut self, update: &mut dyn FnMut(BridgeTensor) -> BridgeTensor) {
        self.rebuild(outside_autodiff(self.value(), update));
    }

    fn train(&mut self, strategy: GradientCheckpointingStrategy) {
        let value = self.value();
        if value.gradient_checkpointing_strategy() != Some(strategy) {
            let value = value.autodiff();
            self.rebuild(value.with_gradient_checkpointing_strategy(strategy));
        }
    }

    fn valid(&mut self) {
        self.rebuild(self.value().without_autodiff());
    }

    fn fork(&mut self, device: &Device) {
        self.rebuild(self.value().to_device(device));
    }

    fn handle(&self) -> Box<dyn Any> {
        Box::new(self.state.clone())
    }

    fn tie(&mut self, handle: &dyn Any) -> bool {
        let Some(state) = handle.downcast_ref::<RunningState<Tensor<D>>>() else {
            return false;
        };
        *self = Self::new(state.clone());
        true
    }

    fn vacate(&mut self) {
        self.rebuild(Tensor::empty([0; D], &Device::flex()));
    }
}

/// A plain tensor. The option is empty only while a method runs.
pub(crate) struct BufferSlot<const D: usize, K: Basic>(Option<Tensor<D, K>>);

impl<const D: usize, K: Basic> BufferSlot<D, K> {
    pub(crate) fn new(tensor: Tensor<D, K>) -> Self {
        Self(Some(tensor))
    }

    pub(crate) fn into_tensor(self) -> Tensor<D, K> {
        self.0.expect("a slot is filled between its methods")
    }

    fn get(&self) -> &Tensor<D, K> {
        self.0
            .as_ref()
            .expect("a slot is filled between its methods")
    }
}

impl<const D: usize, K: Autodiff + TensorKind + 'static> Slot for BufferSlot<D, K> {
    fn role(&self) -> Role {
        Role::Buffer
    }

    fn kind(&self) -> Kind {
        K::KIND
    }

    fn id(&self) -> Option<ParamId> {
        None
    }

    fn shape(&self) -> Shape {
        self.get().shape()
    }

    fn device(&self) -> Device {
        self.get().device()
    }

    fn dtype(&self) -> Option<DType> {
        Some(self.get().dtype())
    }

    fn is_lazy(&self) -> bool {
        false
    }

    fn is_trainable(&self) -> Option<bool> {
        Some(false)
    }

    fn tensor(&self) -> BridgeTensor {
        self.get().clone().into_bridge()
    }

    fn replace(&mut self, tensor: BridgeTensor) {
        self.0 = Some(Tensor::from_bridge(tensor));
    }

    fn update(&mut self, update: &mut dyn FnMut(BridgeTensor) -> BridgeTensor) {
        self.0 = self.0.take().map(|tensor| outside_autodiff(tensor, update));
    }

    fn train(&mut self, strategy: GradientCheckpointingStrategy) {
        let with = |tensor: Tensor<D, K>| {
            tensor
                .autodiff()
                .with_gradient_checkpointing_strategy(strategy)
        };
        self.0 = self.0.take().map(with);
    }

    fn valid(&mut self) {
        self.0 = self.0.take().map(Tensor::without_autodiff);
    }

    fn fork(&mut self, device: &Device) {
        self.0 = self.0.take().map(|tensor| tensor.to_device(device));
    }

    fn handle(&self) -> Box<dyn Any> {
        Box::new(self.get().clone())
    }

    fn tie(&mut self, handle: &dyn Any) -> bool {
        let Some(tensor) = handle.downcast_ref::<Tensor<D, K>>() else {
            return false;
        };
        self.0 = Some(tensor.clone());
        true
    }

    fn vacate(&mut self) {
        self.0 = Some(Tensor::empty([0; D], &Device::flex()));
    }
}
