//! The same fills compiled for several instruction sets, chosen at run time.
//!
//! The samplers are plain loops; only the width of the vectors the compiler makes of them differs.
//! The bits do not: no instruction used here rounds differently from its scalar counterpart, and
//! the compiler never contracts a multiplication and an addition to a fused one by itself, not even
//! with AVX-512, which has the fused instructions.

use super::{
    key::DrawKey,
    sampler::{Sampler, fill_groups},
};

/// An instruction set the fills are compiled for; which ones there are depends on the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InstructionSet {
    /// What every processor of the target has.
    Baseline,
    /// x86-64 with AVX2: vectors of 256 bits.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ and VL: vectors of 512 bits.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl InstructionSet {
    /// The sets this processor has, the fastest last.
    pub fn available() -> Vec<Self> {
        let all = [
            Self::Baseline,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512,
        ];
        all.into_iter().filter(|set| set.is_available()).collect()
    }

    /// The fastest set this processor has.
    pub fn fastest() -> Self {
        Self::available().pop().unwrap_or(Self::Baseline)
    }

    fn is_available(self) -> bool {
        match self {
            Self::Baseline => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
        }
    }

    /// [`fill_groups`] with these instructions, or with the baseline's if the processor lacks them.
    pub(super) fn fill_groups<const N: usize, S: Sampler<N>>(
        self,
        sampler: &S,
        key: &DrawKey,
        first: u64,
        out: &mut [S::Stored],
    ) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 if self.is_available() => {
                // SAFETY: the function is unsafe to call only on a processor without the feature it
                // enables, and `is_available` has just found that feature.
                unsafe { fill_groups_avx2(sampler, key, first, out) }
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 if self.is_available() => {
                // SAFETY: the function is unsafe to call only on a processor without the features
                // it enables, and `is_available` has just found each of them.
                unsafe { fill_groups_avx512(sampler, key, first, out) }
            }
            _ => fill_groups(sampler, key, first, out),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_groups_avx2<const N: usize, S: Sampler<N>>(
    sampler: &S,
    key: &DrawKey,
    first: u64,
    out: &mut [S::Stored],
) {
    fill_groups(sampler, key, first, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn fill_groups_avx512<const N: usize, S: Sampler<N>>(
    sampler: &S,
    key: &DrawKey,
    first: u64,
    out: &mut [S::Stored],
) {
    fill_groups(sampler, key, first, out);
}
