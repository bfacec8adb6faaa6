//! What can go wrong between a recorded module and a real one.

use burn::tensor::{DType, Device, Shape};
use burn_meta::{ByteCount, RecipeError, RecordError};
use burn_weights::CheckpointError;

use crate::inventory::State;
use crate::pattern::InvalidPattern;

/// Why a module was not built, materialised or reset. What the caller had is as it was.
#[derive(Debug, thiserror::Error)]
pub enum MaterializeError {
    /// The constructor could not be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A file of weights is not sound, or cannot be read or written.
    #[error(transparent)]
    Checkpoint(Box<CheckpointError>),
    /// A text that was given as a pattern over paths is none.
    #[error(transparent)]
    Pattern(#[from] InvalidPattern),
    /// A text that was given to rename by is no regular expression.
    #[error("`{rule}` is no regular expression to rename by: {message}")]
    Rename {
        /// The text.
        rule: String,
        /// What is wrong with it.
        message: String,
    },
    /// A file has a NaN or an infinity where finite values are required.
    #[error(
        "`{path}` would get a NaN or an infinity: `{name}` of the file has one at element {index}; \
         nothing was changed; mend the file, or load without `require_finite`"
    )]
    NotFinite {
        /// The tensor's path.
        path: String,
        /// The tensor's name in the file.
        name: String,
        /// The first such element of what was to be loaded, row by row.
        index: usize,
    },
    /// A file has an integer that the module's dtype cannot hold.
    #[error(
        "`{path}` cannot hold {value} in {dtype:?}, which `{name}` of the file has; nothing was \
         changed; load with `DTypePolicy::File`, or declare a wider dtype"
    )]
    TooLargeFor {
        /// The tensor's path.
        path: String,
        /// The tensor's name in the file.
        name: String,
        /// The integer.
        value: i128,
        /// The module's dtype.
        dtype: DType,
    },
    /// The plan has problems; nothing was allocated.
    #[error("{0}")]
    Refused(Problems),
    /// A tensor could not be produced, though the plan was sound.
    #[error(
        "`{path}` could not be produced: {source}; nothing was changed, and what had been \
         allocated is given back"
    )]
    Produce {
        /// The tensor's path.
        path: String,
        /// Why.
        source: Box<RecipeError>,
    },
    /// The device failed to hold a tensor, though it had said nothing against it.
    #[error(
        "`{path}` ({}) could not be allocated on {device:?}: {message}; nothing was changed, and \
         what had been allocated is given back; free memory on the device, materialise on another, \
         or choose a dtype of fewer bytes",
        ByteCount(*bytes)
    )]
    NotAllocated {
        /// The tensor's path.
        path: String,
        /// Its bytes.
        bytes: u64,
        /// The device.
        device: Box<Device>,
        /// The device's own text.
        message: String,
    },
}

impl From<CheckpointError> for MaterializeError {
    fn from(error: CheckpointError) -> Self {
        Self::Checkpoint(Box::new(error))
    }
}

/// All problems of a plan, found before anything is allocated.
#[derive(Clone, Debug)]
pub struct Problems(pub Vec<Problem>);

impl std::fmt::Display for Problems {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.as_slice() {
            [problem] => write!(f, "{problem}"),
            problems => {
                write!(f, "{} problems, and nothing was allocated:", problems.len())?;
                problems
                    .iter()
                    .enumerate()
                    .try_for_each(|(i, problem)| write!(f, "\n  {}. {problem}", i + 1))
            }
        }
    }
}

/// One reason to refuse a plan.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// Nothing says how a tensor is made.
    #[error(
        "`{path}` ({module}) has no source of values: nothing was recorded for it and no hook \
         declares it; build it inside `Meta::build`, or declare it in `reset_parameters`"
    )]
    NoSource {
        /// The tensor's path.
        path: String,
        /// The type that declares it.
        module: String,
    },
    /// Its recipe cannot be evaluated.
    #[error("`{path}` cannot be made: {source}")]
    Recipe {
        /// The tensor's path.
        path: String,
        /// Why.
        source: Box<RecipeError>,
    },
    /// A declared value has another shape.
    #[error(
        "`{path}` has shape {expected}, but the value declared for it has {found}: declare a \
         tensor of the parameter's own shape"
    )]
    Shape {
        /// The tensor's path.
        path: String,
        /// The module's shape.
        expected: Shape,
        /// The declared shape.
        found: Shape,
    },
    /// A declared value has another dtype.
    #[error(
        "`{path}` has dtype {expected:?}, but the value declared for it has {found:?}: cast the \
         declared value to the parameter's dtype"
    )]
    DType {
        /// The tensor's path.
        path: String,
        /// The module's dtype.
        expected: DType,
        /// The declared dtype.
        found: DType,
    },
    /// The device has no such dtype.
    #[error(
        "`{path}` has dtype {dtype:?}, which {device:?} does not support: choose another dtype or \
         device"
    )]
    Unsupported {
        /// The tensor's path.
        path: String,
        /// Its dtype.
        dtype: DType,
        /// The device.
        device: Device,
    },
    /// A tensor is larger than any buffer of the device.
    #[error(
        "`{path}` takes {} in one piece, and the largest buffer of {device:?} has {}: split the \
         layer, choose a dtype of fewer bytes, or a device or graphics API with larger buffers",
        ByteCount(*bytes), ByteCount(*largest)
    )]
    TensorTooLarge {
        /// The tensor's path.
        path: String,
        /// Its bytes.
        bytes: u64,
        /// The bytes of the largest buffer.
        largest: u64,
        /// The device.
        device: Device,
    },
    /// All tensors together are larger than the device's memory.
    #[error(
        "{tensors} tensors take {} together, and {device:?} has {} (the largest is `{largest}`): \
         materialise on a larger device, choose a dtype of fewer bytes, or only a part \
         (`materialize_where`)",
        ByteCount(*bytes), ByteCount(*memory)
    )]
    ModuleTooLarge {
        /// How many tensors; a tie is one.
        tensors: usize,
        /// Their bytes.
        bytes: u64,
        /// The device's bytes.
        memory: u64,
        /// The device.
        device: Device,
        /// The path of the largest one.
        largest: String,
    },
    /// The device cannot be opened.
    #[error(
        "{device:?} cannot be opened: {message}; choose a device that this machine has, or install \
         its driver"
    )]
    NoDevice {
        /// The device.
        device: Device,
        /// Burn's own text.
        message: String,
    },
    /// A value was declared on a device that records nothing.
    #[error(
        "the value declared for `{path}` is not on the plan's device: make it on `plan.device()`, \
         where it is recorded instead of allocated"
    )]
    DeclaredElsewhere {
        /// The tensor's path.
        path: String,
    },
    /// An initialiser cannot do what is asked of it.
    #[error(
        "the initialiser declared for `{path}` does not apply there: {message}; choose another one, \
         or declare weight and bias apart in `reset_parameters`"
    )]
    Initializer {
        /// The path of the parameter or layer.
        path: String,
        /// Burn's own text.
        message: String,
    },
    /// An initialiser is declared where nothing takes one.
    #[error(
        "the initialiser declared for `{path}` would be ignored: no parameter in it takes one \
         (norms and buffers have fixed initial values); remove it, or declare the value with \
         `plan.value` in `reset_parameters`"
    )]
    InitializerIgnored {
        /// The path of the field.
        path: String,
    },
    /// A hook declares something the module does not have.
    #[error("a hook declares `{path}`, which the module does not have{hint}: correct the name")]
    UnknownPath {
        /// The declared path.
        path: String,
        /// The nearest path of the module, in words.
        hint: String,
    },
    /// One parameter id stands over two different tensors.
    #[error(
        "one parameter id stands over two different tensors, at {paths:?}: an optimizer would mix \
         them up; give the second a new id (`Param::initialized(ParamId::new(), …)`), or share \
         the tensor"
    )]
    OneIdTwoTensors {
        /// Where.
        paths: Vec<String>,
    },
    /// A tensor on the meta device that no pass reaches.
    #[error(
        "`{path}` ({module}) hides a tensor on the meta device where neither Burn's mapper nor a \
         derive reaches it: derive `Materialize` for the type, make the tensor a parameter, or \
         build it after materialising"
    )]
    Hidden {
        /// The path of the module or parameter.
        path: String,
        /// The type that declares it.
        module: String,
    },
    /// A file lacks a parameter or a running state.
    #[error(
        "`{path}` is missing from the file{hint}: rename the file's tensors (`rename`), or let it \
         have its initial value (`allow_missing`)"
    )]
    Missing {
        /// The tensor's path.
        path: String,
        /// The nearest name of the file, in words.
        hint: String,
    },
    /// A file has a tensor that the module lacks.
    #[error(
        "`{name}` of the file has no place in the module{hint}: rename it (`rename`), or leave it \
         out (`allow_unexpected`)"
    )]
    Unexpected {
        /// The tensor's name, after renaming.
        name: String,
        /// The nearest path of the module, in words.
        hint: String,
    },
    /// A file and a module have no name in common.
    #[error(
        "nothing of the file has a place in the module, which has, for instance, {module:?}, where \
         the file has {file:?}: rename the file's tensors (`rename`, `strip_prefix`), or is it \
         another model's?"
    )]
    NothingMatched {
        /// Some paths of the module.
        module: Vec<String>,
        /// Some names of the file, after renaming.
        file: Vec<String>,
    },
    /// A tensor of a file has another shape.
    #[error(
        "`{path}` takes `{name}` of the file in shape {expected:?}, and it has {found:?} there{hint}"
    )]
    FileShape {
        /// The tensor's path.
        path: String,
        /// Its name in the file.
        name: String,
        /// The shape that the file should have, in its layout.
        expected: Vec<usize>,
        /// The shape that it has.
        found: Vec<usize>,
        /// What it looks like, in words.
        hint: &'static str,
    },
    /// A tensor of a file is of another kind.
    #[error(
        "`{path}` holds {expected}, and `{name}` of the file has {found:?}: kinds are not converted \
         into one another; convert the file, or leave the tensor out"
    )]
    FileKind {
        /// The tensor's path.
        path: String,
        /// Its name in the file.
        name: String,
        /// The module's kind.
        expected: &'static str,
        /// The file's dtype.
        found: DType,
    },
    /// A tensor that is wanted has a dtype that Burn lacks.
    #[error(
        "`{path}` takes `{name}` of the file, whose dtype {dtype} Burn lacks: convert the file \
         first"
    )]
    ForeignDType {
        /// The tensor's path.
        path: String,
        /// Its name in the file.
        name: String,
        /// The dtype's name there.
        dtype: String,
    },
    /// The file has two values for one tie.
    #[error(
        "{paths:?} are one parameter, and the file has two values for it, {names:?}: leave one out \
         of the file's (`except`), or untie the module"
    )]
    TieDiffers {
        /// Paths of the tie.
        paths: Vec<String>,
        /// Their names in the file.
        names: Vec<String>,
    },
    /// Nothing shows whether linear weights are transposed.
    #[error(
        "whether the file holds linear weights as Burn or as PyTorch does cannot be told from it: \
         say it (`layout(Layout::PyTorch)` or `layout(Layout::Burn)`)"
    )]
    LayoutUnknown,
    /// Rules make one name of two.
    #[error("{names:?} of the file are both `{to}` after renaming: make the rules narrower")]
    RenamedTogether {
        /// The names in the file.
        names: Vec<String>,
        /// What they become.
        to: String,
    },
    /// A tensor that is to be saved has no value.
    #[error("`{path}` is {state} and has no value to save: materialise or set up the module first")]
    NothingToSave {
        /// The tensor's path.
        path: String,
        /// What it is.
        state: State,
    },
    /// A filter selects nothing.
    #[error("no tensor's path matches the filter; the module has, for instance, {examples:?}")]
    NothingSelected {
        /// Some of the paths there are.
        examples: Vec<String>,
    },
    /// A constructor for a reset builds another module.
    #[error(
        "the constructor given for the reset builds another module: {difference}; pass the one \
         the module was built with"
    )]
    OtherModule {
        /// The first difference.
        difference: String,
    },
}
