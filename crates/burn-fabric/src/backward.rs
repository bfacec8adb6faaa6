//! From a loss to gradients.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use burn::optim::GradientsParams;
use burn::tensor::kind::Kind;
use burn::tensor::{Gradients, Tensor};
use burn_materialize::{Materialize, Pass, Role, Site, Slot, traverse};
use burn_meta::panic_text;

use crate::error::FabricError;
use crate::gradients::{MAX_RANK, no_gradients, widened, with_rank};
use crate::module::FabricModule;
use crate::parameters::Parameters;

/// What a joint backward can be asked for: a module that was set up, by reference, or a tuple of
/// them.
pub trait BackwardTarget: sealed::Sealed {
    #[doc(hidden)]
    fn parameters(&self) -> Parameters;
    #[doc(hidden)]
    fn look(&self, pass: &mut dyn Pass);
}

mod sealed {
    pub trait Sealed {}
    impl<M> Sealed for &crate::FabricModule<M> {}
}

impl<M: Materialize> BackwardTarget for &FabricModule<M> {
    fn parameters(&self) -> Parameters {
        FabricModule::parameters(self)
    }

    fn look(&self, pass: &mut dyn Pass) {
        if let Ok(module) = self.module() {
            traverse(module.clone(), pass);
        }
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

            fn look(&self, pass: &mut dyn Pass) {
                (&self.$zero).look(pass);
                $((&self.$place).look(pass);)+
            }
        }
    )+};
}

tuples! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
}

/// What becomes of a gradient of a half-precision parameter.
pub(crate) struct Unscale {
    /// What its loss was multiplied by.
    pub(crate) scale: Option<f64>,
    /// Whether it is had in f32.
    pub(crate) in_f32: bool,
}

impl Unscale {
    /// The loss to differentiate: in f32, where there is room for the scale.
    fn scaled<const D: usize>(&self, loss: Tensor<D>) -> Tensor<D> {
        match self.scale {
            Some(scale) => widened(loss).mul_scalar(scale),
            None => loss,
        }
    }

    fn unscaled<const D: usize>(&self, gradient: Tensor<D>) -> Tensor<D> {
        let gradient = match self.in_f32 {
            true => widened(gradient),
            false => gradient,
        };
        match self.scale {
            Some(scale) => gradient.div_scalar(scale),
            None => gradient,
        }
    }
}

/// The gradients of the parameters of `modules`.
pub(crate) fn backward<const D: usize>(
    loss: Tensor<D>,
    modules: impl BackwardTarget,
    unscale: &Unscale,
) -> Result<GradientsParams, FabricError> {
    let selected = modules.parameters().selected()?;
    let loss = unscale.scaled(loss);
    let mut extract = Extract {
        all: differentiate(&loss)?,
        unscale,
        extracted: GradientsParams::new(),
    };
    // It holds the last of the graph.
    drop(loss);
    modules.look(&mut extract);
    if extract.extracted.is_empty() {
        return Err(no_gradients(&selected));
    }
    Ok(extract.extracted)
}

fn differentiate<const D: usize>(loss: &Tensor<D>) -> Result<Gradients, FabricError> {
    // Burn panics over a loss that nothing tracked went into.
    if !loss.is_tracked() {
        return Err(FabricError::UntrackedLoss);
    }
    // And over one whose graph an earlier backward walked; it says so before it takes anything
    // apart, so what is left is whole. Every other panic is somebody else's.
    catch_unwind(AssertUnwindSafe(|| loss.backward())).map_err(|panic| {
        let text = panic_text(&*panic);
        match text.filter(|text| text.contains("graph tape has already been consumed")) {
            Some(message) => FabricError::Backward { message },
            None => resume_unwind(panic),
        }
    })
}

/// Takes the gradients of parameters out of all there are. Burn's own does not see the parameters in
/// fields that a module skips.
struct Extract<'u> {
    all: Gradients,
    unscale: &'u Unscale,
    extracted: GradientsParams,
}

impl Pass for Extract<'_> {
    fn tensor(&mut self, _site: &Site<'_>, slot: &mut dyn Slot) {
        let is_float = slot.role() == Role::Parameter && slot.kind() == Kind::Float;
        let Some(id) = slot.id().filter(|_| is_float) else {
            return;
        };
        let rank = slot.shape().rank();
        if rank > MAX_RANK {
            return;
        }
        with_rank!(rank, D => {
            let leaf = Tensor::<D>::from_bridge(slot.tensor());
            // At the later paths of a tie it is gone already.
            if let Some(gradient) = leaf.grad_remove(&mut self.all) {
                self.extracted.register(id, self.unscale.unscaled(gradient));
            }
        });
    }
}
