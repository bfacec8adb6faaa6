//! A training step on the autodiff device.

use burn::module::Param;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Gradients, Tensor};
use burn_materialize::{Materialize, Meta, Pass, Role, Site, Slot, traverse};
use device_under_test::device;

use super::input;
use super::snapshot::{Seen, Snapshot};

/// Every parameter is a leaf with a gradient, and a step of Burn's optimizer changes each that
/// Burn reaches.
pub fn check_training<M: Materialize>(
    build: impl Fn(&Device) -> M,
    output: impl Fn(&M, &Device) -> Tensor<1>,
) {
    let device = device().autodiff();
    let meta = Meta::build_for(&device, build).expect("it records");
    let module: M = meta.materialize(&device).expect("it materialises");
    let before = Snapshot::of(&module);
    let output = output(&module, &device);
    let [elements] = output.dims();
    if before
        .leaves
        .iter()
        .all(|leaf| leaf.role != Role::Parameter)
    {
        return;
    }
    // A plain sum says nothing about what stands before a normalisation or a softmax.
    let gradients = (output * input([elements], &device)).sum().backward();
    traverse(module.clone(), &mut EveryParameterHasOne(&gradients));

    let seen = Seen::of(&module);
    let gradients = GradientsParams::from_grads(gradients, &module);
    // So large a rate that the smallest gradient shows.
    let module = SgdConfig::new().init().step(1e3, module, gradients);
    for (before, after) in before.leaves.iter().zip(&Snapshot::of(&module).leaves) {
        let reached = seen.tensors.contains(&before.name());
        if before.role == Role::Parameter && reached {
            assert_ne!(
                before.data, after.data,
                "{}: unchanged by a step",
                before.path
            );
        }
    }
}

struct EveryParameterHasOne<'g>(&'g Gradients);

impl EveryParameterHasOne<'_> {
    fn largest<const D: usize>(&self, slot: &dyn Slot) -> Option<f32> {
        let handle = slot.handle();
        let gradient = handle
            .downcast_ref::<Param<Tensor<D>>>()?
            .val()
            .grad(self.0)?;
        Some(gradient.abs().max().into_scalar())
    }
}

impl Pass for EveryParameterHasOne<'_> {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        if slot.role() != Role::Parameter {
            return;
        }
        let largest = match slot.shape().num_dims() {
            1 => self.largest::<1>(slot),
            2 => self.largest::<2>(slot),
            3 => self.largest::<3>(slot),
            4 => self.largest::<4>(slot),
            5 => self.largest::<5>(slot),
            rank => panic!("{}: no parameter of burn-nn has rank {rank}", site.path()),
        };
        assert!(
            largest.is_some_and(|gradient| gradient > 0.0),
            "{}: {largest:?}",
            site.path()
        );
    }
}
