//! Filling a whole tensor.

use std::marker::PhantomData;

use burn::tensor::{Bytes, DType, Distribution, Element, Shape, TensorData, bf16, f16};
use bytemuck::Zeroable;
use rayon::prelude::*;

use super::{
    bernoulli::Bernoulli,
    error::GeneratorError,
    integer::{Integer, NormalInteger, UniformInteger, WholeRange32, WholeRange64},
    key::DrawKey,
    normal::{NormalF32, NormalF64},
    rounding::{Bf16, F16, Format, Rounded},
    sampler::{PER_GROUP_32, PER_GROUP_64, PER_GROUP_128, Sampler},
    simd::InstructionSet,
    uniform::{UniformF32, UniformF64},
};

/// Elements a thread fills at a time: a multiple of every group size, large enough to hide the cost
/// of handing out work and small enough to balance it.
const CHUNK: usize = 1 << 16;

/// Makes the values of a tensor of the given shape, in row-major order.
///
/// The first `k` values do not depend on the shape as long as there are `k`. The work is shared
/// among the threads of the current rayon pool.
///
/// The distributions mean what they mean in Burn:
///
/// - `Default`: `[0, 1)` for floats, the whole range of the type for integers.
/// - `Uniform(low, high)`: `[low, high)`. The bounds are converted to the dtype first: rounded to
///   `f32` for floats of at most 32 bits, cut toward zero for integers. As on Burn's host backends
///   equal bounds are refused (there with a panic).
/// - `Normal(mean, std)`: for integers the `f64` value cut toward zero, and the nearest end of the
///   type's range for values outside it, where Burn panics.
/// - `Bernoulli(p)`: 1 with probability `p` (rounded up to a multiple of 2^-32), else 0.
///
/// `f16` and `bf16` values are the `f32` values rounded to nearest, so that a rounded uniform value
/// may equal `high`, as in Burn. `Flex32` values are `f32` values.
///
/// # Errors
///
/// [`GeneratorError`] if the distribution's parameters are not usable for the dtype, if the dtype
/// is boolean or quantised, or if there is no memory for the values.
///
/// ```
/// use burn::tensor::{DType, Distribution, Shape};
/// use burn_meta::generator::{DrawKey, fill};
///
/// let key = DrawKey::new(42, "encoder.weight", 0);
/// let data = fill(&key, Distribution::Normal(0.0, 0.02), DType::F32, Shape::new([512, 64]))?;
/// assert_eq!(data.shape(), &Shape::new([512, 64]));
/// let again = fill(&key, Distribution::Normal(0.0, 0.02), DType::F32, Shape::new([512, 64]))?;
/// assert_eq!(data, again);
/// # Ok::<(), burn_meta::generator::GeneratorError>(())
/// ```
pub fn fill(
    key: &DrawKey,
    distribution: Distribution,
    dtype: DType,
    shape: Shape,
) -> Result<TensorData, GeneratorError> {
    fill_with(InstructionSet::fastest(), key, distribution, dtype, shape)
}

/// [`fill`] with a chosen instruction set, to compare them; the bits are the same.
///
/// A set the processor lacks runs as the baseline.
///
/// # Errors
///
/// As [`fill`].
pub fn fill_with(
    set: InstructionSet,
    key: &DrawKey,
    distribution: Distribution,
    dtype: DType,
    shape: Shape,
) -> Result<TensorData, GeneratorError> {
    let target = Target {
        set,
        key,
        dtype,
        shape,
    };
    match dtype {
        DType::F32 | DType::Flex32 => target.fill_f32(distribution),
        DType::F16 => target.fill_half::<F16>(distribution, f16::ONE.to_bits()),
        DType::BF16 => target.fill_half::<Bf16>(distribution, bf16::ONE.to_bits()),
        DType::F64 => target.fill_f64(distribution),
        DType::I8 => target.fill_narrow::<i8>(distribution, 1),
        DType::I16 => target.fill_narrow::<i16>(distribution, 1),
        DType::I32 => target.fill_narrow::<i32>(distribution, 1),
        DType::U8 => target.fill_narrow::<u8>(distribution, 1),
        DType::U16 => target.fill_narrow::<u16>(distribution, 1),
        DType::U32 => target.fill_narrow::<u32>(distribution, 1),
        DType::I64 => target.fill_wide::<i64>(distribution, 1),
        DType::U64 => target.fill_wide::<u64>(distribution, 1),
        DType::Bool(_) | DType::QFloat(_) => Err(GeneratorError::UnsupportedDType { dtype }),
    }
}

/// Finds what [`fill`] would refuse about the distribution and the dtype, without making values.
///
/// # Errors
///
/// As [`fill`], but for the two that depend on the shape.
///
/// ```
/// use burn::tensor::{DType, Distribution};
/// use burn_meta::generator::check;
///
/// assert!(check(Distribution::Uniform(0.0, 1.0), DType::BF16).is_ok());
/// assert!(check(Distribution::Uniform(1.0, 0.0), DType::BF16).is_err());
/// ```
pub fn check(distribution: Distribution, dtype: DType) -> Result<(), GeneratorError> {
    // An empty tensor passes through every check and draws nothing from any key.
    fill(
        &DrawKey::new(0, "", 0),
        distribution,
        dtype,
        Shape::new([0]),
    )
    .map(drop)
}

/// The tensor to fill and the stream to fill it from.
struct Target<'a> {
    set: InstructionSet,
    key: &'a DrawKey,
    dtype: DType,
    shape: Shape,
}

impl Target<'_> {
    fn fill_f32(self, distribution: Distribution) -> Result<TensorData, GeneratorError> {
        match distribution {
            Distribution::Default => self.uniform(UniformF32::new(0.0, 1.0), 0.0, 1.0),
            Distribution::Uniform(low, high) => self.uniform(UniformF32::new(low, high), low, high),
            Distribution::Normal(mean, std) => self.normal(NormalF32::new(mean, std), mean, std),
            Distribution::Bernoulli(probability) => self.bernoulli(probability, 1f32),
        }
    }

    fn fill_half<F: Format>(
        self,
        distribution: Distribution,
        one: u16,
    ) -> Result<TensorData, GeneratorError> {
        let uniform = |low, high| UniformF32::new(low, high).map(Rounded::<_, F>::new);
        match distribution {
            Distribution::Default => self.uniform(uniform(0.0, 1.0), 0.0, 1.0),
            Distribution::Uniform(low, high) => self.uniform(uniform(low, high), low, high),
            Distribution::Normal(mean, std) => self.normal(
                NormalF32::new(mean, std).map(Rounded::<_, F>::new),
                mean,
                std,
            ),
            Distribution::Bernoulli(probability) => self.bernoulli(probability, one),
        }
    }

    fn fill_f64(self, distribution: Distribution) -> Result<TensorData, GeneratorError> {
        match distribution {
            Distribution::Default => self.uniform(UniformF64::new(0.0, 1.0), 0.0, 1.0),
            Distribution::Uniform(low, high) => self.uniform(UniformF64::new(low, high), low, high),
            Distribution::Normal(mean, std) => self.normal(NormalF64::new(mean, std), mean, std),
            Distribution::Bernoulli(probability) => self.bernoulli(probability, 1f64),
        }
    }

    /// Integers of at most 32 bits.
    fn fill_narrow<T: Integer>(
        self,
        distribution: Distribution,
        one: T,
    ) -> Result<TensorData, GeneratorError> {
        match distribution {
            Distribution::Default => self.run::<PER_GROUP_32, _>(WholeRange32::<T>(PhantomData)),
            Distribution::Uniform(low, high) => {
                self.uniform::<PER_GROUP_64, _>(UniformInteger::<T>::new(low, high), low, high)
            }
            Distribution::Normal(mean, std) => self.normal_integer::<T>(mean, std),
            Distribution::Bernoulli(probability) => self.bernoulli(probability, one),
        }
    }

    /// Integers of 64 bits.
    fn fill_wide<T: Integer>(
        self,
        distribution: Distribution,
        one: T,
    ) -> Result<TensorData, GeneratorError> {
        match distribution {
            Distribution::Default => self.run::<PER_GROUP_64, _>(WholeRange64::<T>(PhantomData)),
            Distribution::Uniform(low, high) => {
                self.uniform::<PER_GROUP_128, _>(UniformInteger::<T>::new(low, high), low, high)
            }
            Distribution::Normal(mean, std) => self.normal_integer::<T>(mean, std),
            Distribution::Bernoulli(probability) => self.bernoulli(probability, one),
        }
    }

    fn uniform<const N: usize, S: Sampler<N>>(
        self,
        sampler: Option<S>,
        low: f64,
        high: f64,
    ) -> Result<TensorData, GeneratorError> {
        let dtype = self.dtype;
        self.run(sampler.ok_or(GeneratorError::InvalidUniform { low, high, dtype })?)
    }

    fn normal<const N: usize, S: Sampler<N>>(
        self,
        sampler: Option<S>,
        mean: f64,
        std: f64,
    ) -> Result<TensorData, GeneratorError> {
        let dtype = self.dtype;
        self.run(sampler.ok_or(GeneratorError::InvalidNormal { mean, std, dtype })?)
    }

    fn normal_integer<T: Integer>(self, mean: f64, std: f64) -> Result<TensorData, GeneratorError> {
        self.normal(
            NormalF64::new(mean, std).map(NormalInteger::<T>::new),
            mean,
            std,
        )
    }

    fn bernoulli<T: Element>(self, probability: f64, one: T) -> Result<TensorData, GeneratorError> {
        let sampler = Bernoulli::new(probability, one);
        self.run(sampler.ok_or(GeneratorError::InvalidBernoulli { probability })?)
    }

    fn run<const N: usize, S: Sampler<N>>(self, sampler: S) -> Result<TensorData, GeneratorError> {
        let Self {
            set,
            key,
            dtype,
            shape,
        } = self;
        let mut values = zeroed::<S::Stored>(&shape, dtype)?;
        let fill_chunk = |(index, chunk): (usize, &mut [S::Stored])| {
            set.fill_groups(&sampler, key, (index * (CHUNK / N)) as u64, chunk);
        };
        if values.len() <= CHUNK {
            // Not worth waking other threads.
            fill_chunk((0, &mut values));
        } else {
            values
                .par_chunks_mut(CHUNK)
                .enumerate()
                .for_each(fill_chunk);
        }
        // By bytes: a vector of the half types themselves could not come zeroed from the system.
        Ok(TensorData::from_bytes(
            Bytes::from_elems(values),
            shape,
            dtype,
        ))
    }
}

/// Zeros for every element of the shape; untouched until written where the system can do that, so
/// that the threads that fill it share the page faults as well.
///
/// These are most of what a fill takes, in small pages: about 220 ms of 330 for a gibibyte on two
/// cores. Asking Linux for pages of 2 MiB (`MADV_HUGEPAGE`) made it 112 ms on memory that the machine
/// really had, and 470 ms in a virtual machine whose host takes back large pages that were free for
/// two seconds; asking to fault a chunk at once (`MADV_POPULATE_WRITE`), 200 ms. Neither is worth
/// `unsafe` code; who knows his machine has `GLIBC_TUNABLES=glibc.malloc.hugetlb=1` for the former.
fn zeroed<T: Zeroable>(shape: &Shape, dtype: DType) -> Result<Vec<T>, GeneratorError> {
    let too_many = || GeneratorError::TooManyElements {
        shape: shape.clone(),
        dtype,
    };
    let len = shape
        .iter()
        .try_fold(1usize, |product, &dim| product.checked_mul(dim));
    let len = len.ok_or_else(too_many)?;
    let bytes = len
        .checked_mul(size_of::<T>())
        .filter(|&bytes| bytes <= isize::MAX as usize);
    let bytes = bytes.ok_or_else(too_many)?;

    // `vec!` would abort the process when the allocator refuses.
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| GeneratorError::OutOfMemory { bytes })
}
