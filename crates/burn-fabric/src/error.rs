//! What a Fabric refuses.

mod text;

use std::path::PathBuf;

use burn::data::dataset::DatasetError;
use burn::tensor::{FloatDType, Shape};
use burn_materialize::{ByteCount, MaterializeError};

use crate::accelerator::Candidates;
use crate::callback::Point;
use crate::change::ModuleChange;
use crate::checkpoint::StateProblem;
use crate::config::SettingProblem;
use crate::pattern::PatternProblem;
use crate::plan::TrainingNeeds;
use text::{listed, numbers};
pub(crate) use text::{rates, shorten};

/// Why a Fabric refused. What the caller had is as it was.
#[derive(Debug, thiserror::Error)]
pub enum FabricError {
    /// The module could not be built or materialised.
    #[error(transparent)]
    Materialize(#[from] MaterializeError),
    /// The device has not as much memory as training the module takes.
    #[error(
        "training takes at least {}, and {device} has {}: {needs}; activations come on top. Ask \
         `fabric.plan(&meta)` what would help, or train it on a larger device",
        ByteCount(needs.total()),
        ByteCount(*memory)
    )]
    DoesNotFit {
        /// The device.
        device: String,
        /// What is held at the end of a backward pass.
        needs: TrainingNeeds,
        /// The device's bytes.
        memory: u64,
    },
    /// The accelerator is a device that computes nothing.
    #[error(
        "{device} records operations and computes nothing: choose a real device, and leave the \
         meta device to `init_module`"
    )]
    MetaAccelerator {
        /// The device.
        device: String,
    },
    /// The accelerator is of a kind that this program was built without.
    #[error(
        "`{accelerator}` needs burn-fabric's feature `{feature}`, which this program was built \
         without: turn it on where burn-fabric is depended on (`features = [\"{feature}\"]`)"
    )]
    NotCompiled {
        /// The accelerator's name.
        accelerator: String,
        /// The feature.
        feature: &'static str,
    },
    /// The machine has no such accelerator.
    #[error(
        "this machine has no `{accelerator}`: {}",
        if there.is_empty() { (*help).to_owned() } else { format!("choose one of {}", there.join(", ")) }
    )]
    NoSuchDevice {
        /// The accelerator's name.
        accelerator: String,
        /// Names of the same kind that there are.
        there: Vec<String>,
        /// What brings one, where there is none.
        help: &'static str,
    },
    /// The device is there and does not compute.
    #[error(
        "`{accelerator}` does not work: {message}; check its driver, or choose another \
         (`Fabric::devices()` lists them)"
    )]
    DeviceFails {
        /// The accelerator's name.
        accelerator: String,
        /// Burn's own text.
        message: String,
    },
    /// Nothing that is compiled in works.
    #[error(
        "no accelerator works here: turn on burn-fabric's feature `flex` for a CPU device that \
         always does\n{tried}"
    )]
    NoAccelerator {
        /// What was tried, with what stands against each.
        tried: Candidates,
    },
    /// The device cannot compute in the dtype asked for as its default.
    #[error(
        "{device} does not compute in {}: choose another `float_dtype` or device",
        burn::tensor::DType::from(*dtype).name()
    )]
    UnsupportedDType {
        /// The device.
        device: String,
        /// The dtype.
        dtype: FloatDType,
    },
    /// The process has fixed another default dtype.
    #[error(
        "the default float dtype of {device} is {} for the whole process, and cannot become {}: \
         Burn fixes it with the first tensor made there; build the Fabric before any tensor, and \
         give all Fabrics on one device the same `float_dtype`",
        burn::tensor::DType::from(*fixed).name(),
        burn::tensor::DType::from(*wanted).name()
    )]
    DefaultDType {
        /// The device.
        device: String,
        /// The dtype asked for.
        wanted: FloatDType,
        /// The dtype it has.
        fixed: FloatDType,
    },
    /// A configuration file cannot be read.
    #[error("the configuration `{}` cannot be read: {source}", path.display())]
    ConfigFile {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A configuration is not written in its language.
    #[error("{origin} is not valid {language}: {message}")]
    ConfigSyntax {
        /// The file, or what was parsed.
        origin: String,
        /// TOML or JSON.
        language: &'static str,
        /// Where and what.
        message: String,
    },
    /// Settings from code, environment or files are wrong; all of them are told.
    #[error("{}", listed("settings cannot be used", problems))]
    Settings {
        /// What is wrong.
        problems: Vec<SettingProblem>,
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
        "an optimizer would update nothing: none of the {} parameters it is asked over ({}) is \
         trainable; unfreeze some (`Module::set_require_grad`, before `setup`), or use the module \
         without an optimizer",
        parameters.len(), shorten(parameters)
    )]
    NothingTrainable {
        /// Paths of its parameters.
        parameters: Vec<String>,
    },
    /// Another optimizer holds some of the parameters.
    #[error(
        "another optimizer updates {} already: two would undo each other's steps and count them \
         twice; select disjoint parts (`model.parameters().only([…])`), or drop the other \
         optimizer first",
        shorten(parameters)
    )]
    Overlap {
        /// Paths of the parameters that both would update.
        parameters: Vec<String>,
    },
    /// Patterns over paths of parameters are wrong; all of them are told.
    #[error("{}", listed("patterns cannot be used", problems))]
    Patterns {
        /// What is wrong.
        problems: Vec<PatternProblem>,
    },
    /// Two modules have parameters under one id.
    #[error(
        "two modules have parameters under one id ({}): gradients are handed out by id, so one \
         would be taken for the other; set up a copy with ids of its own, or train the modules \
         with losses and optimizers of their own",
        shorten(paths)
    )]
    SharedId {
        /// Paths of the parameters, by pairs, each with the number of its module.
        paths: Vec<String>,
    },
    /// The optimizer cannot update parameters of such a rank.
    #[error(
        "{optimizer} cannot update parameters of such a rank: {}; give them another optimizer with \
         `ParameterGroups`",
        shorten(parameters)
    )]
    Rank {
        /// The optimizer's configuration.
        optimizer: &'static str,
        /// Paths and shapes of the parameters.
        parameters: Vec<String>,
    },
    /// The optimizer's configuration is not valid; all that is wrong is told.
    #[error("{}", listed("settings of the optimizer cannot be used", problems))]
    OptimizerConfig {
        /// What is wrong.
        problems: Vec<SettingProblem>,
    },
    /// The optimizer was made for another module.
    #[error(
        "this optimizer was set up for another module, whose parameters it keeps state for: step \
         the module, or all the modules, that were given to `setup_optimizer`"
    )]
    OtherModule,
    /// A panic in the middle of an earlier step took the module's parameters.
    #[error(
        "the module's parameters were lost when an earlier step panicked: set the module up again, \
         and load its last checkpoint"
    )]
    Poisoned,
    /// A function of the module would leave it unfit for training.
    #[error("{}", listed("tensors cannot be changed like this", changes))]
    Changed {
        /// What it does to which tensor.
        changes: Vec<ModuleChange>,
    },
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
    /// Some parameters have no gradient, and that was to be refused.
    #[error(
        "{} of the optimizer's parameters have no gradient ({}): the loss does not depend on them; \
         freeze them, leave them out with `model.parameters().only([…])`, or report them only, \
         with `MissingGradients::Report`",
        parameters.len(), shorten(parameters)
    )]
    MissingGradients {
        /// Their paths.
        parameters: Vec<String>,
    },
    /// Gradients hold a NaN or an infinity.
    #[error(
        "the gradients of {} are not finite: lower the rate, look at the loss and the batch, or \
         leave such steps out, with `NonFinite::Skip`",
        shorten(parameters)
    )]
    NonFiniteGradients {
        /// Paths of their parameters.
        parameters: Vec<String>,
    },
    /// Gradients leave f16 although the loss is hardly scaled.
    #[error(
        "the gradients of {} are not finite although the loss is not scaled any more: it is no \
         overflow of f16 that a smaller scale would mend; look at the loss and the batch, lower the \
         rate, or train with `Precision::MixedBf16`",
        shorten(parameters)
    )]
    LossScale {
        /// Paths of their parameters.
        parameters: Vec<String>,
    },
    /// Gradients have other shapes than their parameters.
    #[error(
        "{}",
        listed("gradients have another shape than their parameter", gradients)
    )]
    GradientShape {
        /// Which.
        gradients: Vec<ShapeMismatch>,
    },
    /// Learning rates are no numbers.
    #[error(
        "a step with these learning rates would destroy the parameters ({}): give finite numbers",
        shorten(parameters)
    )]
    RateNotFinite {
        /// Paths of the parameters, each with its rate.
        parameters: Vec<String>,
    },
    /// A loss cannot be differentiated.
    #[error("the gradients of the loss cannot be computed: {message}")]
    Backward {
        /// Burn's own text.
        message: String,
    },
    /// A group of micro-batches was left without its end.
    #[error(
        "gradients of an earlier group of micro-batches still wait: its last batch was left out, \
         or the loop over it ended early; take them with `finish`, and step or drop them"
    )]
    GroupUnfinished,
    /// Gradients cannot count that many times.
    #[error(
        "gradients cannot count {weight} times in a mean: give a positive number, such as the \
         samples of the batch"
    )]
    Weight {
        /// The weight.
        weight: f64,
    },
    /// A loader cannot be made like this; all that is wrong is told.
    #[error("{}", listed("settings of the loader cannot be used", problems))]
    DataSettings {
        /// What is wrong.
        problems: Vec<String>,
    },
    /// An item of a dataset cannot be had.
    #[error("item {index} of the dataset cannot be had: {source}; mend it, or go on without it")]
    Item {
        /// Its place in the dataset.
        index: usize,
        /// The dataset's own error.
        source: DatasetError,
    },
    /// The dataset panicked over an item.
    #[error(
        "the dataset panicked over item {index}: {message}; return an error from `Dataset::get` \
         for what is wrong with an item"
    )]
    ItemPanicked {
        /// Its place in the dataset.
        index: usize,
        /// The panic's text.
        message: String,
    },
    /// The batcher panicked over a batch.
    #[error(
        "the batcher panicked over the batch of items {}: {message}",
        numbers(items)
    )]
    BatcherPanicked {
        /// Their places in the dataset.
        items: Vec<usize>,
        /// The panic's text.
        message: String,
    },
    /// A loader of Burn's gave an error for a batch.
    #[error("the loader has no batch: {source}")]
    Loader {
        /// Its own error.
        source: DatasetError,
    },
    /// A loader of Burn's panicked.
    #[error(
        "the loader panicked: {message}; it may be in any state, so this was the epoch's last batch"
    )]
    LoaderPanicked {
        /// The panic's text.
        message: String,
    },
    /// A position belongs to a loader over other data, or in another order.
    #[error(
        "{}",
        listed("things differ from where the position was taken", differences)
    )]
    OtherData {
        /// Each with what was there and what is here.
        differences: Vec<String>,
    },
    /// A loader of Burn's has an order that cannot be found again.
    #[error(
        "{batch} batches of the epoch are done, and the order of a loader of Burn's is not known: \
         set up a `LoaderOverDataset`, or a `ReadyLoader` with `same_order(true)` where every epoch \
         has the same batches"
    )]
    UnknownOrder {
        /// Batches done.
        batch: usize,
    },
    /// A checkpoint cannot be written, opened or loaded; all that is wrong is told.
    #[error("the checkpoint in {} cannot be {doing}: {}", folder.display(), listed("problems", problems))]
    Checkpoint {
        /// Its folder.
        folder: PathBuf,
        /// What was to be done.
        doing: &'static str,
        /// What is wrong.
        problems: Vec<StateProblem>,
    },
    /// A callback returned an error.
    #[error(
        "the callback `{callback}` failed {point}: {source}; mend it, leave it out, or let such \
         errors only be reported, with `OnError::Report`"
    )]
    Callback {
        /// Its name.
        callback: String,
        /// Where.
        point: Point,
        /// Its own error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A callback panicked.
    #[error(
        "the callback `{callback}` panicked {point}: {message}; it is not called again, since its \
         state may be broken: return an error from it for what can go wrong"
    )]
    CallbackPanicked {
        /// Its name.
        callback: String,
        /// Where.
        point: Point,
        /// The panic's text.
        message: String,
    },
    /// A checkpoint has nothing of a callback that had panicked before it was written.
    #[error(
        "the callback `{callback}` had panicked before this checkpoint was written, which has nothing of \
         it: it starts over as it was made; mend what made it panic, or load an earlier checkpoint"
    )]
    CallbackStartsOver {
        /// Its name.
        callback: String,
    },
    /// What was saved watched another value, or in the other direction.
    #[error(
        "what the checkpoint remembers is of `{found}`, and here `{expected}` is watched: watch the same \
         as before, or let it start over, with `LoadOptions::except`"
    )]
    OtherValueWatched {
        /// The value that was watched and which is better, as `loss, the lower`.
        found: String,
        /// What is watched here.
        expected: String,
    },
    /// No evaluation has the value that is watched.
    #[error(
        "no evaluation so far has a value `{value}`; this one has {}: watch one of these, or give it \
         in `Evaluation::new`",
        if there.is_empty() { "none".to_owned() } else { shorten(there) }
    )]
    NoSuchValue {
        /// The name.
        value: String,
        /// The values of this evaluation.
        there: Vec<String>,
    },
    /// The value that is watched is no number.
    #[error(
        "the value `{value}` is NaN at step {step}: the run has probably diverged; lower the rate, \
         clip gradients, or let it end as a stop, with `EarlyStopping::stop_on_nan`"
    )]
    ValueIsNaN {
        /// Its name.
        value: String,
        /// Steps taken before.
        step: u64,
    },
    /// A loader was sent elsewhere while an iterator was over its batches.
    #[error(
        "the loader has another iterator now, or was sent to another position: take batches from \
         one iterator at a time, the latest"
    )]
    DataIterator,
}

/// A gradient that does not fit its parameter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the gradient of `{path}` has {}, and the parameter the shape {expected}: register gradients as \
     the parameter is shaped",
    match found { Some(found) => format!("the shape {found}"), None => "another rank".to_owned() }
)]
pub struct ShapeMismatch {
    /// The parameter's path.
    pub path: String,
    /// Its shape.
    pub expected: Shape,
    /// The gradient's; unknown where even the rank differs.
    pub found: Option<Shape>,
}
