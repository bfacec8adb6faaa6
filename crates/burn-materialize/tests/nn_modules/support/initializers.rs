//! Initialisers that are named instead of the default.

use burn::module::{Initializer, Module};
use burn::tensor::Device;
use burn_materialize::{InitPlan, Materialize, Meta, ResetParameters, Traversal};
use device_under_test::device;

use super::Layer;
use super::eager::check_values;
use super::snapshot::Snapshot;

/// For layers that define no fan.
pub const NO_FANS: &[Initializer] = &[
    Initializer::Constant { value: 0.125 },
    Initializer::Uniform {
        min: -0.5,
        max: 2.0,
    },
    Initializer::Normal {
        mean: 1.0,
        std: 3.0,
    },
];

/// For layers that define the fan in only.
pub const FAN_IN: &[Initializer] = &[
    Initializer::Ones,
    Initializer::KaimingUniform {
        gain: 1.5,
        fan_out_only: false,
    },
    Initializer::KaimingNormal {
        gain: 1.5,
        fan_out_only: false,
    },
];

/// For layers that define both.
pub const FANS: &[Initializer] = &[
    Initializer::Constant { value: -0.5 },
    Initializer::KaimingUniform {
        gain: 0.7,
        fan_out_only: true,
    },
    Initializer::XavierUniform { gain: 2.0 },
    Initializer::XavierNormal { gain: 1.5 },
];

/// Enough for what is made of layers that have tests of their own.
pub const COMPOSED: &[Initializer] = &[Initializer::XavierUniform { gain: 1.5 }];

/// A layer whose constructor is given an initialiser is like the eager one, and so is a layer that
/// a field's attribute gives it to.
pub fn check_initializers<M: Layer>(
    initializers: &[Initializer],
    build: impl Fn(&Device, Initializer) -> M,
) {
    let device = device();
    for initializer in initializers {
        check_values(|device| build(device, initializer.clone()));

        let attribute = |built: Initializer, asked: Option<Initializer>| {
            let meta = Meta::build_for(&device, |device| Asked {
                inner: build(device, built),
                asked,
            });
            let real = meta.expect("it records").with_seed(3).materialize(&device);
            Snapshot::of(&real.expect("it materialises"))
        };
        let asked = attribute(Initializer::Zeros, Some(initializer.clone()));
        let built = attribute(initializer.clone(), None);
        assert_eq!(
            asked, built,
            "{initializer:?}: as an attribute and in the constructor"
        );
    }
}

/// A field with an attribute that names an initialiser.
#[derive(Module, Debug)]
struct Asked<M> {
    inner: M,
    #[module(skip)]
    asked: Option<Initializer>,
}

impl<M: Layer> Materialize for Asked<M> {
    fn traverse(mut self, traversal: &mut Traversal<'_>) -> Self {
        self.inner = traversal.field("inner", "Struct:Asked", self.inner);
        self
    }
}

impl<M: Layer> ResetParameters for Asked<M> {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        match &self.asked {
            Some(initializer) => plan.child_with("inner", &self.inner, initializer.clone()),
            None => plan.child("inner", &self.inner),
        }
    }
}
