//! What can be set up.

use burn::tensor::Device;
use burn_materialize::{Draws, Materialize, MaterializeError, Pass, Realize, Realized, Weights};

use crate::module::FabricModule;

/// What [`setup`](crate::Fabric::setup) takes: a [`Meta`](burn_materialize::Meta) or a reference to
/// one, or a plain Burn module, lazy or real.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be set up",
    label = "neither a `Meta` nor a plain module that implements `Materialize`",
    note = "a `FabricModule` was set up already: train it as it is, or take the plain module out with `into_inner` to set it up elsewhere",
    note = "a module of your own derives `Materialize, ResetParameters` next to `Module`"
)]
pub trait SetUp: sealed::Sealed {
    /// The module it becomes.
    type Module: Materialize;

    #[doc(hidden)]
    const DRAWS: bool;

    #[doc(hidden)]
    fn look(&self, pass: &mut dyn Pass);

    #[doc(hidden)]
    fn set_up(
        self,
        device: &Device,
        draws: Draws,
        weights: Option<&Weights>,
    ) -> Result<Realized<Self::Module>, MaterializeError>;
}

impl<R: Realize> SetUp for R {
    type Module = R::Module;
    const DRAWS: bool = R::DRAWS;

    fn look(&self, pass: &mut dyn Pass) {
        Realize::look(self, pass);
    }

    fn set_up(
        self,
        device: &Device,
        draws: Draws,
        weights: Option<&Weights>,
    ) -> Result<Realized<R::Module>, MaterializeError> {
        self.realize_with(device, draws, weights)
    }
}

/// Never there. That this implementation exists makes the compiler speak of set-up, not of the
/// traits under it, where a module is set up twice.
impl<M: Materialize> SetUp for FabricModule<M>
where
    FabricModule<M>: sealed::SetUpTwice,
{
    type Module = M;
    const DRAWS: bool = false;

    fn look(&self, _pass: &mut dyn Pass) {}

    fn set_up(
        self,
        _device: &Device,
        _draws: Draws,
        _weights: Option<&Weights>,
    ) -> Result<Realized<M>, MaterializeError> {
        unreachable!("nothing implements `SetUpTwice`")
    }
}

mod sealed {
    pub trait Sealed {}
    pub trait SetUpTwice {}
    impl<R: burn_materialize::Realize> Sealed for R {}
    impl<M> Sealed for crate::FabricModule<M> {}
}
