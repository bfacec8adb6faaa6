//! Reset hooks: what they declare is what the constructor records, and declaring allocates nothing.

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use burn_materialize::{
    InitPlan, Materialize, MaterializeError, Meta, ResetParameters, Role, State, Traversal,
    inventory, reset_to_defaults,
};
use device_under_test::device;

use super::Layer;
use super::snapshot::Snapshot;

/// A module that nothing was recorded for gets from its hook what its constructor would record:
/// the same recipe gives the same bits under the same seed.
pub fn check_defaults<M: Layer>(build: impl Fn(&Device) -> M) {
    let device = device();
    let meta = Meta::build_for(&device, &build)
        .expect("it records")
        .with_seed(2);
    let recorded: M = meta.materialize(&device).expect("it materialises");
    let recorded = Snapshot::of(&recorded);
    let (eager, lazy) = (build(&device), build(&device));
    let initialised = Snapshot::of(&eager);
    // A lazy column layout tells another shape than its tensor will have, and is refused for it.
    let told = inventory(&lazy).into_iter().map(|entry| entry.shape);
    let same = told.eq(initialised
        .leaves
        .iter()
        .map(|leaf| leaf.data.shape().clone()));
    for mut module in [Some(eager), Some(lazy).filter(|_| same)]
        .into_iter()
        .flatten()
    {
        reset_to_defaults(&mut module, 2).expect("its hook speaks for every parameter");
        let reset = Snapshot::of(&module);
        assert_eq!(reset.flags, recorded.flags);
        assert_eq!(reset.leaves.len(), recorded.leaves.len());
        let before = reset.leaves.iter().zip(&initialised.leaves);
        for ((reset, before), recorded) in before.zip(&recorded.leaves) {
            // What a real buffer holds stays; the device itself has computed it.
            let expected = if reset.role == Role::Buffer {
                before
            } else {
                recorded
            };
            assert_eq!(
                reset, expected,
                "the declared default is not the constructor's"
            );
        }
    }
}

/// The hook initialises no lazy parameter.
pub fn check_hook_allocates_nothing<M: Layer>(build: impl Fn(&Device) -> M) {
    let mut refused = Refused {
        inner: build(&device()),
    };
    let states = |module: &Refused<M>| -> Vec<State> {
        inventory(module)
            .into_iter()
            .map(|entry| entry.state)
            .collect()
    };
    let before = states(&refused);
    let error = reset_to_defaults(&mut refused, 0).expect_err("the check refuses it");
    assert!(matches!(error, MaterializeError::Refused(_)), "{error}");
    assert_eq!(states(&refused), before, "the hook initialised a parameter");
}

/// Declares a path that is not there, so that a reset stops right after the hooks.
#[derive(Module, Debug)]
struct Refused<M> {
    inner: M,
}

impl<M: Layer> Materialize for Refused<M> {
    fn traverse(mut self, traversal: &mut Traversal<'_>) -> Self {
        self.inner = traversal.field("inner", "Struct:Refused", self.inner);
        self
    }
}

impl<M: Layer> ResetParameters for Refused<M> {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        plan.child("inner", &self.inner);
        let nowhere = Tensor::<1>::zeros([1], plan.device());
        plan.value("nowhere", nowhere);
    }
}
