//! What an optimizer can be made from.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use burn::optim::grad_clipping::GradientClipping;
use burn::optim::{
    AdaGradConfig, AdafactorConfig, AdamConfig, AdamWConfig, AdanConfig, DynOptimizer, LambConfig,
    LionConfig, MuonConfig, Optimizer, RmsPropConfig, SgdConfig,
};

use crate::error::FabricError;

/// A configuration of burn-optim, or an optimizer of your own in [`Custom`].
///
/// L-BFGS is left out: it steps by a closure that evaluates the loss again and again, where these
/// take gradients.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no optimizer configuration",
    note = "pass one of burn's, such as `AdamWConfig::new()`, or your own `Optimizer` as `Custom(optimizer)`"
)]
pub trait OptimizerConfig {
    /// The optimizer, and how each parameter's gradient is clipped.
    #[doc(hidden)]
    fn parts(self) -> (Arc<dyn DynOptimizer>, Option<GradientClipping>);
}

/// An optimizer that burn-optim does not know.
#[derive(Clone, Debug)]
pub struct Custom<O>(pub O);

impl<O: Optimizer + 'static> OptimizerConfig for Custom<O> {
    fn parts(self) -> (Arc<dyn DynOptimizer>, Option<GradientClipping>) {
        (Arc::new(self.0), None)
    }
}

macro_rules! configs {
    ($($config:ident)*) => {$(
        impl OptimizerConfig for $config {
            fn parts(self) -> (Arc<dyn DynOptimizer>, Option<GradientClipping>) {
                // The configurations keep their clipping to themselves; what they make shows it.
                (Arc::new(self.build()), self.init().grad_clipping().cloned())
            }
        }
    )*};
}

configs!(
    AdaGradConfig AdafactorConfig AdamConfig AdamWConfig AdanConfig LambConfig LionConfig MuonConfig
    RmsPropConfig SgdConfig
);

/// Burn checks a configuration by panicking.
pub(super) fn build(
    config: impl OptimizerConfig,
) -> Result<(Arc<dyn DynOptimizer>, Option<GradientClipping>), FabricError> {
    catch_unwind(AssertUnwindSafe(|| config.parts())).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        FabricError::OptimizerConfig {
            message: text.unwrap_or("Burn gives no reason").to_owned(),
        }
    })
}
