//! The recipe of one tensor: the backward slice of a recording.

use std::collections::BTreeSet;

use burn::backend::ir::{
    BaseOperationIr, FloatOperationIr, FullOpIr, NumericOperationIr, OperationIr, RandomOpIr,
    ScalarIr, TensorIr,
};
use burn::tensor::{DType, Distribution, Shape};
use burn_capture::TensorId;

use crate::error::RecipeError;
use crate::generator;
use crate::record::Recording;

/// How one tensor is made: the recorded operations it depends on, first to last.
#[derive(Clone, Debug)]
pub struct Recipe<'r> {
    pub(crate) recording: &'r Recording,
    /// Scope and place of each operation, in the order they were recorded.
    pub(crate) steps: Vec<(usize, usize)>,
    root: &'r TensorIr,
}

/// What a recipe amounts to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RecipeKind {
    /// Every element zero (also memory that the constructor left uninitialised: see [`Recipe`]).
    Zeros,
    /// Every element one.
    Ones,
    /// Every element the same value.
    Full(ScalarIr),
    /// One random draw.
    Random(Distribution),
    /// Data the constructor supplied.
    Constant,
    /// A graph of so many operations.
    Graph(usize),
}

impl std::fmt::Display for RecipeKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Zeros => write!(f, "zeros"),
            Self::Ones => write!(f, "ones"),
            Self::Full(ScalarIr::Float(value)) => write!(f, "full({value})"),
            Self::Full(ScalarIr::Int(value)) => write!(f, "full({value})"),
            Self::Full(ScalarIr::UInt(value)) => write!(f, "full({value})"),
            Self::Full(ScalarIr::Bool(value)) => write!(f, "full({value})"),
            Self::Random(Distribution::Default) => write!(f, "uniform(0, 1)"),
            Self::Random(Distribution::Uniform(low, high)) => {
                write!(f, "uniform({low:.4}, {high:.4})")
            }
            Self::Random(Distribution::Normal(mean, std)) => {
                write!(f, "normal({mean:.4}, {std:.4})")
            }
            Self::Random(Distribution::Bernoulli(p)) => write!(f, "bernoulli({p:.4})"),
            Self::Constant => write!(f, "constant"),
            Self::Graph(operations) => write!(f, "graph of {operations} operations"),
        }
    }
}

impl<'r> Recipe<'r> {
    pub(crate) fn slice(recording: &'r Recording, tensor: TensorId) -> Result<Self, RecipeError> {
        let unrecorded = |tensor| RecipeError::Unrecorded { tensor };
        let (_, _, producer) = recording.producer(tensor).ok_or(unrecorded(tensor))?;
        let root = producer
            .outputs()
            .find(|out| out.id == tensor)
            .ok_or(unrecorded(tensor))?;
        // Places order operations as they ran: within a scope by index, and a later scope only
        // ever reads its own tensors.
        let mut places = BTreeSet::new();
        let mut wanted = vec![tensor];
        while let Some(tensor) = wanted.pop() {
            let (scope, index, operation) = recording.producer(tensor).ok_or(unrecorded(tensor))?;
            if places.insert((scope, index)) {
                check_supported(operation)?;
                wanted.extend(operation.inputs().map(|input| input.id));
            }
        }
        Ok(Self {
            recording,
            steps: places.into_iter().collect(),
            root,
        })
    }

    /// The tensor's id.
    pub fn tensor(&self) -> TensorId {
        self.root.id
    }

    /// The tensor's shape.
    pub fn shape(&self) -> &Shape {
        &self.root.shape
    }

    /// The tensor's dtype.
    pub fn dtype(&self) -> DType {
        self.root.dtype
    }

    /// The random draws it depends on, in the order they were recorded.
    pub fn draws(&self) -> impl Iterator<Item = TensorId> {
        self.operations()
            .filter_map(random_of)
            .map(|random| random.out.id)
    }

    /// What it amounts to.
    pub fn kind(&self) -> RecipeKind {
        let &[(scope, index)] = self.steps.as_slice() else {
            return RecipeKind::Graph(self.steps.len());
        };
        let operation = self.recording.operation(scope, index);
        match (operation, full_of(operation), random_of(operation)) {
            (OperationIr::BaseFloat(base) | OperationIr::BaseInt(base), ..)
            | (OperationIr::BaseBool(base), ..) => match base {
                BaseOperationIr::Zeros(_) | BaseOperationIr::Empty(_) => RecipeKind::Zeros,
                BaseOperationIr::Ones(_) => RecipeKind::Ones,
                _ => RecipeKind::Graph(1),
            },
            (_, Some(full), _) => RecipeKind::Full(full.value),
            (_, _, Some(random)) => RecipeKind::Random(random.distribution),
            (OperationIr::Init(_), ..) => RecipeKind::Constant,
            _ => RecipeKind::Graph(1),
        }
    }

    /// Find what would make the evaluation fail, without evaluating.
    ///
    /// # Errors
    /// [`RecipeError::Draw`] for a distribution that is not defined.
    pub fn check(&self) -> Result<(), RecipeError> {
        for random in self.operations().filter_map(random_of) {
            let shape = random.out.shape.clone();
            generator::check(random.distribution, random.out.dtype).map_err(|source| {
                RecipeError::Draw {
                    shape,
                    source: Box::new(source),
                }
            })?;
        }
        Ok(())
    }

    pub(crate) fn operations(&self) -> impl Iterator<Item = &'r OperationIr> {
        self.steps
            .iter()
            .map(|&(scope, index)| self.recording.operation(scope, index))
    }
}

pub(crate) fn random_of(operation: &OperationIr) -> Option<&RandomOpIr> {
    match operation {
        OperationIr::Float(_, FloatOperationIr::Random(random))
        | OperationIr::NumericInt(_, NumericOperationIr::IntRandom(random))
        | OperationIr::NumericFloat(_, NumericOperationIr::IntRandom(random)) => Some(random),
        _ => None,
    }
}

pub(crate) fn full_of(operation: &OperationIr) -> Option<&FullOpIr> {
    match operation {
        OperationIr::NumericFloat(_, NumericOperationIr::Full(full))
        | OperationIr::NumericInt(_, NumericOperationIr::Full(full)) => Some(full),
        _ => None,
    }
}

/// Refuse what no interpreter can run before anything is allocated.
fn check_supported(operation: &OperationIr) -> Result<(), RecipeError> {
    let name = match operation {
        OperationIr::Custom(custom) => format!("custom operation `{}`", custom.id),
        OperationIr::Distributed(_) => "all-reduce".to_owned(),
        OperationIr::Float(_, FloatOperationIr::Quantize(_)) => "quantize".to_owned(),
        OperationIr::Float(_, FloatOperationIr::Dequantize(_)) => "dequantize".to_owned(),
        _ => return Ok(()),
    };
    Err(RecipeError::Unsupported { operation: name })
}

/// The input and output of an int-to-int cast, which Burn's interpreter cannot run.
pub(crate) fn int_cast_of(operation: &OperationIr) -> Option<(&TensorIr, &TensorIr)> {
    match operation {
        OperationIr::BaseInt(BaseOperationIr::Cast(cast)) => Some((&cast.input, &cast.out)),
        _ => None,
    }
}
