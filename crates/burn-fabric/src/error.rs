//! What a Fabric refuses.

use burn_materialize::MaterializeError;

/// Why a Fabric refused. What the caller had is as it was.
#[derive(Debug, thiserror::Error)]
pub enum FabricError {
    /// The module could not be built or materialised.
    #[error(transparent)]
    Materialize(#[from] MaterializeError),
    /// The accelerator is a device that computes nothing.
    #[error(
        "{device} records operations and computes nothing: choose a real device, and leave the \
         meta device to `init_module`"
    )]
    MetaAccelerator {
        /// The device.
        device: String,
    },
    /// An optimizer was asked for over parameters that do not exist.
    #[error(
        "an optimizer cannot be built over parameters that do not exist yet: {} of {total} \
         parameters of {module} are not allocated ({}); set the module up first:\n    \
         let mut model = fabric.setup(model)?;\n    \
         let mut optimizer = fabric.setup_optimizer(&model, config)?;",
        unreal.len(), shorten(unreal)
    )]
    NotReal {
        /// The module's type.
        module: &'static str,
        /// Paths of the parameters that are lazy or meta.
        unreal: Vec<String>,
        /// How many parameters the module has.
        total: usize,
    },
    /// An optimizer was asked for over a module that is real but was not set up.
    #[error(
        "an optimizer needs a module that `setup` returned: {module} ({}) was not set up, so \
         nothing keeps its ties, its device and its trainability; set it up first:\n    \
         let mut model = fabric.setup(model)?;\n    \
         let mut optimizer = fabric.setup_optimizer(&model, config)?;",
        shorten(parameters)
    )]
    NotSetUp {
        /// The module's type.
        module: &'static str,
        /// Paths of its parameters.
        parameters: Vec<String>,
    },
    /// No parameter would ever be updated.
    #[error(
        "an optimizer over {module} would update nothing: none of its {} parameters ({}) is \
         trainable; unfreeze some (`Module::set_require_grad`, before `setup`), or use the module \
         without an optimizer",
        parameters.len(), shorten(parameters)
    )]
    NothingTrainable {
        /// The module's type.
        module: &'static str,
        /// Paths of its parameters.
        parameters: Vec<String>,
    },
    /// The optimizer's configuration is not valid.
    #[error("the optimizer's configuration is not valid: {message}")]
    OptimizerConfig {
        /// Burn's own text.
        message: String,
    },
    /// The optimizer was made for another module.
    #[error(
        "this optimizer was set up for another module, whose parameters it keeps state for: step \
         the module that was given to `setup_optimizer`"
    )]
    OtherModule,
    /// A panic in the middle of an earlier step took the module's parameters.
    #[error(
        "the module's parameters were lost when an earlier step panicked: set the module up again, \
         and load its last checkpoint"
    )]
    Poisoned,
    /// The loss depends on no parameter.
    #[error(
        "the loss carries no gradient: it was computed from no trainable parameter on an autodiff \
         device; compute it with the module that `setup` returned, not with `valid()` or a \
         detached copy"
    )]
    UntrackedLoss,
    /// No gradient belongs to a parameter of the module.
    #[error(
        "the gradients match no parameter: none of {} has one; compute the loss with this module, \
         and pass the gradients of that loss",
        shorten(parameters)
    )]
    NoGradients {
        /// Paths of the trainable parameters.
        parameters: Vec<String>,
    },
}

/// The first few paths, and how many more.
fn shorten(paths: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<String> = paths
        .iter()
        .take(SHOWN)
        .map(|path| format!("`{path}`"))
        .collect();
    let shown = shown.join(", ");
    match paths.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
