//! What can go wrong between a recorded module and a real one.

use burn::tensor::{DType, Device, Shape};
use burn_meta::{ByteCount, RecipeError, RecordError};

/// Why a module was not built, materialised or reset. What the caller had is as it was.
#[derive(Debug, thiserror::Error)]
pub enum MaterializeError {
    /// The constructor could not be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
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
