//! What can go wrong when a tensor is filled.

use burn::tensor::{DType, Shape};

/// Why a tensor could not be filled.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GeneratorError {
    /// The bounds of a uniform distribution are not usable for the dtype.
    #[error(
        "Distribution::Uniform({low}, {high}) cannot fill a tensor of dtype {}: expected finite \
         bounds with low < high after their conversion to the dtype, and high - low finite",
        .dtype.name()
    )]
    InvalidUniform {
        /// The lower bound found.
        low: f64,
        /// The upper bound found.
        high: f64,
        /// The dtype to fill.
        dtype: DType,
    },

    /// The parameters of a normal distribution are not usable for the dtype.
    #[error(
        "Distribution::Normal({mean}, {std}) cannot fill a tensor of dtype {}: expected a finite \
         mean and a finite standard deviation >= 0 after their conversion to the dtype",
        .dtype.name()
    )]
    InvalidNormal {
        /// The mean found.
        mean: f64,
        /// The standard deviation found.
        std: f64,
        /// The dtype to fill.
        dtype: DType,
    },

    /// The parameter of a Bernoulli distribution is no probability.
    #[error("Distribution::Bernoulli({probability}): expected 0 <= probability <= 1")]
    InvalidBernoulli {
        /// The probability found.
        probability: f64,
    },

    /// The dtype has no random fill.
    #[error(
        "a tensor of dtype {} cannot be filled with random values: expected a floating-point or \
         an integer dtype",
        .dtype.name()
    )]
    UnsupportedDType {
        /// The dtype found.
        dtype: DType,
    },

    /// The tensor is larger than any address space.
    #[error(
        "a tensor of shape {shape:?} and dtype {} is too large: expected at most {} bytes",
        .dtype.name(),
        isize::MAX
    )]
    TooManyElements {
        /// The shape found.
        shape: Shape,
        /// The dtype found.
        dtype: DType,
    },

    /// The allocator refused the memory.
    #[error("out of memory: the allocator refused {bytes} bytes for the values of a tensor")]
    OutOfMemory {
        /// Size of the refused allocation in bytes.
        bytes: usize,
    },
}
