//! One recorded operation in a form that is small, can be kept and can be written down.

use std::borrow::Cow;

use burn::tensor::DType;
use serde::{Deserialize, Serialize};

/// A tensor of a trace: what it is, and no value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedTensor {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its dtype.
    pub dtype: DType,
}

impl TracedTensor {
    /// How many elements it has.
    pub fn elements(&self) -> u64 {
        product(self.shape.iter().map(|&size| size as u64))
    }

    /// How many bytes its elements take.
    pub fn bytes(&self) -> u64 {
        self.elements().saturating_mul(self.dtype.size() as u64)
    }
}

/// A product that stays at the most there can be: shapes on the meta device are of any size.
pub(super) fn product(factors: impl IntoIterator<Item = u64>) -> u64 {
    factors.into_iter().fold(1, u64::saturating_mul)
}

/// What an operation does, roughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// A product of matrices, a linear layer's included.
    Product,
    /// A convolution of any kind, or one of its gradients.
    Convolution,
    /// Scaled dot-product attention in one operation.
    Attention,
    /// A norm or softmax in one operation.
    Normalization,
    /// One result for each element, of one or more tensors.
    Elementwise,
    /// Fewer results than elements: sums, means, largest values, running sums.
    Reduction,
    /// A pooling or an interpolation.
    Pooling,
    /// Elements chosen or written by index.
    Indexing,
    /// A sort, or the largest few.
    Sort,
    /// Elements copied as they are, or converted.
    Copy,
    /// Another view of the same elements. A backend may have to copy them all the same.
    View,
    /// A new tensor: zeros, ones, a value, data, a random draw.
    Creation,
    /// A loss in one operation.
    Loss,
    /// Values exchanged between devices.
    Collective,
    /// What its cost is, nobody knows here.
    Uncounted,
}

impl std::fmt::Display for OperationKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Product => "product",
            Self::Convolution => "convolution",
            Self::Attention => "attention",
            Self::Normalization => "normalization",
            Self::Elementwise => "elementwise",
            Self::Reduction => "reduction",
            Self::Pooling => "pooling",
            Self::Indexing => "indexing",
            Self::Sort => "sort",
            Self::Copy => "copy",
            Self::View => "view",
            Self::Creation => "creation",
            Self::Loss => "loss",
            Self::Collective => "collective",
            Self::Uncounted => "uncounted",
        })
    }
}

/// What an operation, or many, cost.
///
/// - `flops`: a multiplication and an addition are two. Elementwise operations are one an element of
///   the result, whatever the function; a fused one counts the operations of its formula (softmax
///   five, layer norm seven with its bias, GELU five). A sum over n elements is n. Comparisons count,
///   copies, conversions, views and random draws do not.
/// - `products`: the part of it in matrix products, convolutions and the two products of
///   attention, without biases. It is what PyTorch's `FlopCounterMode` counts.
/// - `moved`: every input and every output once, in bytes; views move nothing, and what is chosen
///   by index is read where it is chosen.
///
/// ```
/// use burn_meta::Cost;
///
/// let one = Cost { flops: 12, products: 10, moved: 64 };
/// assert_eq!((one + one).flops, 24);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Floating-point operations, integer ones included where that is what a tensor holds.
    pub flops: u64,
    /// Those of matrix products and convolutions.
    pub products: u64,
    /// Bytes read and written.
    pub moved: u64,
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            flops: self.flops.saturating_add(other.flops),
            products: self.products.saturating_add(other.products),
            moved: self.moved.saturating_add(other.moved),
        }
    }
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), std::ops::Add::add)
    }
}

/// One recorded operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Its name, as Burn's representation has it: `matmul`, `conv2d_weight_backward`.
    pub name: Cow<'static, str>,
    /// What it does.
    pub kind: OperationKind,
    /// The tensors it reads, by their place in the trace's list.
    pub inputs: Vec<u32>,
    /// The tensors it makes.
    pub outputs: Vec<u32>,
    /// What it costs.
    pub cost: Cost,
}
