//! What an optimizer may stand over.

use burn_materialize::{Entry, Materialize, Role, State, inventory};

use crate::error::FabricError;
use crate::module::FabricModule;
use crate::parameters::Parameters;

/// What [`setup_optimizer`](crate::Fabric::setup_optimizer) can be asked over: a module that
/// `setup` returned, or [`Parameters`] of one or several. A raw Burn module can be asked over too,
/// and is refused with its reason.
#[diagnostic::on_unimplemented(
    message = "an optimizer cannot be built over `{Self}`",
    label = "has no parameters that exist",
    note = "a `Meta` is set up first: `let mut model = fabric.setup(meta)?;`",
    note = "then: `let mut optimizer = fabric.setup_optimizer(&model, config)?;`"
)]
pub trait OptimizerTarget: sealed::Sealed {
    /// The parameters that can be optimised.
    #[doc(hidden)]
    fn optimizable(&self) -> Result<Parameters, FabricError>;
}

mod sealed {
    pub trait Sealed {}
    impl<M> Sealed for crate::FabricModule<M> {}
    impl Sealed for crate::Parameters {}
    impl<M: burn_materialize::Materialize> Sealed for M {}
}

impl<M: Materialize> OptimizerTarget for FabricModule<M> {
    fn optimizable(&self) -> Result<Parameters, FabricError> {
        Ok(self.parameters())
    }
}

impl OptimizerTarget for Parameters {
    fn optimizable(&self) -> Result<Parameters, FabricError> {
        Ok(self.clone())
    }
}

impl<M: Materialize> OptimizerTarget for M {
    fn optimizable(&self) -> Result<Parameters, FabricError> {
        let mut entries = inventory(self);
        entries.retain(|entry| entry.role == Role::Parameter);
        let paths = |entries: &mut dyn Iterator<Item = &Entry>| -> Vec<String> {
            entries.map(|entry| entry.path.clone()).collect()
        };
        let unreal = paths(&mut entries.iter().filter(|entry| entry.state != State::Real));
        let module = std::any::type_name::<M>();
        if unreal.is_empty() {
            let parameters = paths(&mut entries.iter());
            return Err(FabricError::NotSetUp { module, parameters });
        }
        let total = entries.len();
        Err(FabricError::NotReal {
            module,
            unreal,
            total,
        })
    }
}
