//! The one traversal, and what a pass over it is.

use std::any::Any;
use std::collections::VecDeque;

use burn::module::{Flag, Module, ModuleMapper, ModuleVisitor, Param, Parameter, ParameterValue};
use burn::tensor::kind::Basic;
use burn::tensor::{Bool, Int, Tensor};
use burn_meta::is_meta_device;

use crate::Materialize;
use crate::site::{Site, Stack};
use crate::slot::{ParamSlot, Slot};

/// What is done at each leaf of a module: plan, materialise, turn autodiff on, update…
///
/// A pass cannot fail in the middle (Burn's own `map`, through which some leaves are reached, is
/// infallible): it collects its problems and says them all after the traversal.
pub trait Pass {
    /// A tensor of the module.
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot);

    /// A training flag of the module.
    fn flag(&mut self, _site: &Site<'_>, flag: Param<Flag>) -> Param<Flag> {
        flag
    }

    /// Called after a module whose fields only Burn's mapper reaches; `hides_meta` finds out
    /// whether a meta tensor is left in it that the mapper does not show.
    fn opaque(&mut self, _site: &Site<'_>, _hides_meta: &dyn Fn() -> bool) {}
}

/// Run `pass` over every tensor and flag of `module`.
pub fn traverse<M: Materialize>(module: M, pass: &mut dyn Pass) -> M {
    module.traverse(&mut Traversal {
        stack: Stack::default(),
        pass,
    })
}

/// A pass on its way through a module: knows the path, hands leaves to the pass.
pub struct Traversal<'p> {
    stack: Stack,
    pass: &'p mut dyn Pass,
}

impl Traversal<'_> {
    /// Go through a field, or an element of a container, under its name. `container` is what Burn's
    /// visitors are told: `Struct:Linear`, `Enum:Activation`, `Vec`, `Array`, `Tuple`.
    pub fn field<M: Materialize>(&mut self, name: &str, container: &str, module: M) -> M {
        self.within(name, container, |traversal| module.traverse(traversal))
    }

    /// Go through a field whose name in `torch.nn` only the module itself can tell.
    pub(crate) fn field_called<M: Materialize>(
        &mut self,
        name: &str,
        torch: &'static str,
        container: &str,
        module: M,
    ) -> M {
        self.within(name, container, |traversal| {
            traversal.stack.call(torch);
            module.traverse(traversal)
        })
    }

    /// Go through a field of a module of burn-nn.
    pub(crate) fn field_of_burn<M: Materialize>(
        &mut self,
        name: &str,
        container: &str,
        module: M,
    ) -> M {
        self.within(name, container, |traversal| {
            traversal.stack.of_burn();
            module.traverse(traversal)
        })
    }

    /// Do something under a name.
    pub fn within<T>(&mut self, name: &str, container: &str, go: impl FnOnce(&mut Self) -> T) -> T {
        self.stack.enter(name, container);
        let result = go(self);
        self.stack.exit();
        result
    }

    /// Hand one leaf to the pass.
    pub(crate) fn leaf(&mut self, slot: &mut dyn Slot) {
        self.pass.tensor(&self.stack.site(), slot);
    }

    /// Hand one flag to the pass.
    pub(crate) fn flag(&mut self, flag: Param<Flag>) -> Param<Flag> {
        self.pass.flag(&self.stack.site(), flag)
    }

    /// Go through a module by Burn's own mapper: for private fields and reparameterisations. Its
    /// plain tensors and skipped fields stay out of reach.
    pub(crate) fn mapped<M: Module>(&mut self, module: M) -> M {
        let mut mapper = Mapper {
            traversal: self,
            reparameterized: false,
        };
        let module = module.map(&mut mapper);
        if mapper.reparameterized {
            self.opaque(&module);
        }
        module
    }

    /// Go through a module that derives nothing of ours.
    ///
    /// The module is detached first: its running states would otherwise be changed in place, and
    /// with them those of every clone.
    pub fn foreign<M: Module>(&mut self, module: M) -> M {
        let module = self.mapped(detach(module));
        self.opaque(&module);
        module
    }

    fn opaque<M: Module>(&mut self, module: &M) {
        self.pass.opaque(&self.stack.site(), &|| hides_meta(module));
    }
}

struct Mapper<'t, 'p> {
    traversal: &'t mut Traversal<'p>,
    reparameterized: bool,
}

impl Mapper<'_, '_> {
    fn leaf<const D: usize, K: Basic>(&mut self, param: Param<Tensor<D, K>>) -> Param<Tensor<D, K>>
    where
        Tensor<D, K>: Parameter,
        ParamSlot<D, K>: Slot,
    {
        let mut slot = ParamSlot::new(param);
        self.traversal.leaf(&mut slot);
        slot.into_param()
    }
}

impl ModuleMapper for Mapper<'_, '_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.reparameterized |= container == "Reparameterization";
        self.traversal.stack.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.traversal.stack.exit();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        self.leaf(param)
    }

    fn map_int<const D: usize>(&mut self, param: Param<Tensor<D, Int>>) -> Param<Tensor<D, Int>> {
        self.leaf(param)
    }

    fn map_bool<const D: usize>(
        &mut self,
        param: Param<Tensor<D, Bool>>,
    ) -> Param<Tensor<D, Bool>> {
        self.leaf(param)
    }

    fn map_flag(&mut self, flag: Param<Flag>) -> Param<Flag> {
        self.traversal.flag(flag)
    }
}

/// A copy that shares no running state with `module`. Only `valid` detaches running states, and it
/// also ends autodiff and clears flags: every parameter and flag it changed is put back.
///
/// A module with a lazy parameter is returned as it is: `valid` would initialise it, and nothing
/// that was recorded has one.
fn detach<M: Module>(module: M) -> M {
    let mut leaves = Leaves::default();
    module.visit(&mut leaves);
    if leaves.lazy {
        return module;
    }
    // `valid` brings the running states up to date, so they are read after it.
    let detached = module.valid();
    leaves.found.clear();
    module.visit(&mut leaves);
    detached.map(&mut leaves)
}

/// Every parameter and flag of a module, in the order of Burn's visitors and mappers.
#[derive(Default)]
struct Leaves {
    found: VecDeque<Box<dyn Any>>,
    lazy: bool,
}

impl Leaves {
    fn find<T: ParameterValue + 'static>(&mut self, param: &Param<T>) {
        self.lazy |= !param.is_initialized();
        self.found.push_back(Box::new(param.clone()));
    }

    fn put_back<T: ParameterValue + 'static>(&mut self, current: Param<T>) -> Param<T> {
        let found = self
            .found
            .pop_front()
            .and_then(|leaf| leaf.downcast::<Param<T>>().ok());
        found.map_or(current, |param| *param)
    }
}

impl ModuleVisitor for Leaves {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.find(param);
    }

    fn visit_int<const D: usize>(&mut self, param: &Param<Tensor<D, Int>>) {
        self.find(param);
    }

    fn visit_bool<const D: usize>(&mut self, param: &Param<Tensor<D, Bool>>) {
        self.find(param);
    }

    fn visit_flag(&mut self, flag: &Param<Flag>) {
        self.find(flag);
    }
}

impl ModuleMapper for Leaves {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        self.put_back(param)
    }

    fn map_int<const D: usize>(&mut self, param: Param<Tensor<D, Int>>) -> Param<Tensor<D, Int>> {
        self.put_back(param)
    }

    fn map_bool<const D: usize>(
        &mut self,
        param: Param<Tensor<D, Bool>>,
    ) -> Param<Tensor<D, Bool>> {
        self.put_back(param)
    }

    fn map_flag(&mut self, flag: Param<Flag>) -> Param<Flag> {
        self.put_back(flag)
    }
}

/// Whether a meta tensor is left once every leaf that the mapper reaches is gone.
fn hides_meta<M: Module>(module: &M) -> bool {
    struct Vacate;
    impl Pass for Vacate {
        fn tensor(&mut self, _site: &Site<'_>, slot: &mut dyn Slot) {
            if !slot.is_lazy() {
                slot.vacate();
            }
        }
    }
    let mut traversal = Traversal {
        stack: Stack::default(),
        pass: &mut Vacate,
    };
    let mut mapper = Mapper {
        traversal: &mut traversal,
        reparameterized: false,
    };
    let trial: M = detach(module.clone()).map(&mut mapper);
    trial.devices().iter().any(is_meta_device)
}
