//! What an optimizer may stand over.

use burn_materialize::{Entry, Materialize, Pass, Role, Site, Slot, State, inventory, traverse};

use crate::error::FabricError;
use crate::module::FabricModule;

/// What [`setup_optimizer`](crate::Fabric::setup_optimizer) can be asked over: a module that
/// `setup` returned. A raw Burn module can be asked over too, and is refused with its reason.
#[diagnostic::on_unimplemented(
    message = "an optimizer cannot be built over `{Self}`",
    label = "has no parameters that exist",
    note = "a `Meta` is set up first: `let mut model = fabric.setup(meta)?;`",
    note = "then: `let mut optimizer = fabric.setup_optimizer(&model, config)?;`"
)]
pub trait OptimizerTarget: sealed::Sealed {
    /// The identity of a module that can be optimised.
    #[doc(hidden)]
    fn ready(&self) -> Result<u64, FabricError>;
}

mod sealed {
    pub trait Sealed {}
    impl<M> Sealed for crate::FabricModule<M> {}
    impl<M: burn_materialize::Materialize> Sealed for M {}
}

impl<M: Materialize> OptimizerTarget for FabricModule<M> {
    fn ready(&self) -> Result<u64, FabricError> {
        let module = self.module()?;
        let entries = inventory(module);
        real(module, &entries)?;
        if trainable(module).is_empty() {
            let parameters = parameters(&entries)
                .map(|entry| entry.path.clone())
                .collect();
            let module = std::any::type_name::<M>();
            return Err(FabricError::NothingTrainable { module, parameters });
        }
        Ok(self.identity())
    }
}

impl<M: Materialize> OptimizerTarget for M {
    fn ready(&self) -> Result<u64, FabricError> {
        let entries = inventory(self);
        real(self, &entries)?;
        let parameters = parameters(&entries)
            .map(|entry| entry.path.clone())
            .collect();
        Err(FabricError::NotSetUp {
            module: std::any::type_name::<M>(),
            parameters,
        })
    }
}

fn parameters(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(|entry| entry.role == Role::Parameter)
}

fn real<M: Materialize>(_module: &M, entries: &[Entry]) -> Result<(), FabricError> {
    let unreal = parameters(entries).filter(|entry| entry.state != State::Real);
    let unreal: Vec<String> = unreal.map(|entry| entry.path.clone()).collect();
    if unreal.is_empty() {
        return Ok(());
    }
    let module = std::any::type_name::<M>();
    Err(FabricError::NotReal {
        module,
        unreal,
        total: parameters(entries).count(),
    })
}

/// Paths of the parameters that require gradients.
pub(super) fn trainable<M: Materialize>(module: &M) -> Vec<String> {
    struct Trainable(Vec<String>);
    impl Pass for Trainable {
        fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
            if slot.is_trainable() == Some(true) {
                self.0.push(site.path().to_owned());
            }
        }
    }
    let mut trainable = Trainable(Vec::new());
    traverse(module.clone(), &mut trainable);
    trainable.0
}
