//! From a loss to gradients.

use burn::optim::GradientsParams;
use burn::tensor::{Gradients, Tensor};
use burn_materialize::Materialize;

use crate::error::FabricError;
use crate::gradients::{no_gradients, put, take};
use crate::module::FabricModule;
use crate::parameters::{Parameters, Selected};

/// What a joint backward can be asked for: a module that was set up, by reference, or a tuple of
/// them.
pub trait BackwardTarget: sealed::Sealed {
    #[doc(hidden)]
    fn parameters(&self) -> Parameters;
    /// The gradients of its parameters, taken out of all there are.
    #[doc(hidden)]
    fn gradients(&self, all: &mut Gradients) -> GradientsParams;
}

mod sealed {
    pub trait Sealed {}
    impl<M> Sealed for &crate::FabricModule<M> {}
}

impl<M: Materialize> BackwardTarget for &FabricModule<M> {
    fn parameters(&self) -> Parameters {
        FabricModule::parameters(self)
    }

    fn gradients(&self, all: &mut Gradients) -> GradientsParams {
        let module = self.module();
        module.map_or_else(
            |_| GradientsParams::new(),
            |module| GradientsParams::from_module(all, module),
        )
    }
}

macro_rules! tuples {
    ($(($first:ident $zero:tt $(, $module:ident $place:tt)+))+) => {$(
        impl<$first, $($module),+> sealed::Sealed
            for (&FabricModule<$first>, $(&FabricModule<$module>),+) {}

        impl<$first: Materialize, $($module: Materialize),+> BackwardTarget
            for (&FabricModule<$first>, $(&FabricModule<$module>),+)
        {
            fn parameters(&self) -> Parameters {
                FabricModule::parameters(self.$zero)$(.and(FabricModule::parameters(self.$place)))+
            }

            fn gradients(&self, all: &mut Gradients) -> GradientsParams {
                let mut gradients = self.$zero.gradients(all);
                $(
                    // Burn joins no two sets of gradients: they are moved one by one.
                    let mut more = self.$place.gradients(all);
                    for member in &FabricModule::parameters(self.$place).members {
                        for parameter in member.parameters.iter() {
                            let (id, rank) = (parameter.id, parameter.rank());
                            if let Some(gradient) = take(&mut more, id, rank) {
                                put(&mut gradients, id, rank, gradient);
                            }
                        }
                    }
                )+
                gradients
            }
        }
    )+};
}

tuples! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
}

/// All gradients of a loss.
pub(crate) fn track<const D: usize>(loss: &Tensor<D>) -> Result<Gradients, FabricError> {
    // Burn panics over a loss that nothing tracked went into.
    if !loss.is_tracked() {
        return Err(FabricError::UntrackedLoss);
    }
    Ok(loss.backward())
}

/// The gradients, unless there are none.
pub(crate) fn check_gradients(
    gradients: GradientsParams,
    parameters: &[Selected<'_>],
) -> Result<GradientsParams, FabricError> {
    if gradients.is_empty() {
        return Err(no_gradients(parameters));
    }
    Ok(gradients)
}
