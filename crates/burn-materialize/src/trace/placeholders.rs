//! A copy of a module whose tensors are only there.

use std::any::Any;

use burn::backend::Dispatch;
use burn::backend::ops::FloatTensorOps;
use burn::module::ParamId;
use burn::tensor::kind::{BridgeTensor, Kind};
use burn::tensor::{DType, Device, Shape};
use burn_meta::{DefaultDTypes, TensorId, TraceScope, tensor_id};
use hashbrown::HashMap;

use crate::Materialize;
use crate::site::{Role, Site};
use crate::slot::Slot;
use crate::traversal::{Pass, traverse};

/// One tensor of the copy.
pub(super) struct Leaf {
    /// The path of the module that declares it.
    pub(super) module: String,
    pub(super) path: String,
    pub(super) role: Role,
    pub(super) id: TensorId,
    pub(super) shape: Shape,
    pub(super) dtype: DType,
    /// The tensor itself, where it requires a gradient.
    pub(super) trained: Option<BridgeTensor>,
}

/// The dtype of a tensor of a module, where it is not the one it would have.
pub(super) type DTypeOf = fn(&Site<'_>, DType) -> DType;

/// How the dtypes of a module become those of the copy.
#[derive(Clone, Copy)]
pub(super) struct DTypes {
    /// The defaults that the module was built with.
    pub(super) built: DefaultDTypes,
    /// The defaults to trace with.
    pub(super) traced: DefaultDTypes,
    /// Has the last word.
    pub(super) of_site: Option<DTypeOf>,
}

impl DTypes {
    /// What a tensor without a dtype of its own has; another stays as it is.
    fn of(&self, site: &Site<'_>, kind: Kind, own: Option<DType>) -> DType {
        let (built, traced): (DType, DType) = match kind {
            Kind::Float => (self.built.float.into(), self.traced.float.into()),
            Kind::Int => (self.built.int.into(), self.traced.int.into()),
            Kind::Bool => (self.built.bool.into(), self.traced.bool.into()),
        };
        let dtype = match own {
            Some(own) if own != built => own,
            _ => traced,
        };
        self.of_site.map_or(dtype, |of_site| of_site(site, dtype))
    }
}

/// Put a placeholder at the place of every tensor of a copy of `module`, which stays as it is.
///
/// For training, parameters are on the training device. What the forward pass only reads is not,
/// as far as it may: Burn moves running states to the device of the input, and on a meta device it
/// moves nothing that is on an autodiff device.
pub(super) fn placeholders<M: Materialize>(
    module: &M,
    scope: &TraceScope<'_>,
    training: Option<&Device>,
    dtypes: DTypes,
) -> (M, Vec<Leaf>) {
    let mut pass = Placeholders {
        scope,
        training,
        dtypes,
        firsts: HashMap::new(),
        shared: HashMap::new(),
        leaves: Vec::new(),
    };
    let copy = traverse(module.clone(), &mut pass);
    (copy, pass.leaves)
}

struct Placeholders<'s> {
    scope: &'s TraceScope<'s>,
    training: Option<&'s Device>,
    dtypes: DTypes,
    /// What the first path of each id holds, for its later ones.
    firsts: HashMap<ParamId, Box<dyn Any>>,
    /// What stands for a recorded tensor that two buffers share.
    shared: HashMap<TensorId, BridgeTensor>,
    leaves: Vec<Leaf>,
}

impl Pass for Placeholders<'_> {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        let id = slot.id();
        if let Some(first) = id.and_then(|id| self.firsts.get(&id))
            && slot.tie(first.as_ref())
        {
            return;
        }
        let is_buffer = slot.role() == Role::Buffer;
        let recorded = (is_buffer && !slot.is_lazy())
            .then(|| tensor_id(&slot.tensor()))
            .flatten();
        if let Some(first) = recorded.and_then(|recorded| self.shared.get(&recorded)) {
            return slot.replace(first.clone());
        }
        let (tensor, trained) = self.placeholder(site, slot);
        if slot.is_lazy() {
            // Put in place of it, the initialiser never runs, for no clone of the module.
            slot.vacate();
        }
        slot.replace(tensor.clone());
        self.leaves.push(Leaf {
            module: site.module_path().to_owned(),
            path: site.path().to_owned(),
            role: slot.role(),
            id: tensor_id(&tensor).expect("a placeholder is a meta tensor"),
            shape: tensor.shape(),
            dtype: tensor.dtype(),
            trained: trained.then(|| tensor.clone()),
        });
        if let Some(id) = id {
            self.firsts.insert(id, slot.handle());
        }
        if let Some(recorded) = recorded {
            self.shared.insert(recorded, tensor);
        }
    }
}

impl Placeholders<'_> {
    /// The placeholder, and whether it requires a gradient. A lazy parameter does: what it was set
    /// to, Burn does not show.
    fn placeholder(&self, site: &Site<'_>, slot: &dyn Slot) -> (BridgeTensor, bool) {
        let kind = slot.kind();
        let dtype = self.dtypes.of(site, kind, slot.dtype());
        let shape = shape_of(slot);
        let training = self.training.filter(|_| slot.role() == Role::Parameter);
        let device = training.unwrap_or(self.scope.device());
        let tensor = self.scope.placeholder(kind, shape, dtype, device);
        let trained = training.is_some()
            && kind == Kind::Float
            && (slot.is_lazy() || slot.is_trainable() == Some(true));
        if !trained {
            return (tensor, false);
        }
        let (_, tensor) = tensor.into_parts();
        let tensor = Dispatch::float_set_require_grad(tensor, true);
        (BridgeTensor::float(tensor), true)
    }
}

/// A lazy parameter with a mapper for records shows the shape that its initialiser was given, which
/// for a column-layout `Linear` is the transposed one.
fn shape_of(slot: &dyn Slot) -> Shape {
    let shape = slot.shape();
    if slot.is_lazy() && slot.stored_shape().is_some() {
        return shape.iter().rev().copied().collect::<Vec<_>>().into();
    }
    shape
}
