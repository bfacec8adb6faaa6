//! In which dtypes a model is kept and computed, and what keeps training in them exact enough.

mod loss_scale;
mod norms;

pub use loss_scale::LossScale;
pub(crate) use loss_scale::LossScaler;
pub(crate) use norms::{RealPaths, is_of_a_layer_norm, norms_in_f32};

use std::fmt;
use std::str::FromStr;

use burn::tensor::{DType, FloatDType};
use serde::{Deserialize, Serialize};

/// In which dtypes a Fabric's models are kept, computed and optimised.
///
/// It is the default float dtype of the device, for the whole process: the model is recorded in it on
/// the meta device and allocated in it once, and batches are made in it. A dtype that code names
/// stays what it is.
///
/// Bytes of a parameter, with Adam's or AdamW's two moments, and those of its gradient between
/// [`backward`](crate::Fabric::backward) and [`step`](crate::FabricOptimizer::step):
///
/// | | weight | master weight | moments | together | gradient |
/// |---|---|---|---|---|---|
/// | `f32` | 4 | | 8 | 12 | 4 |
/// | `bf16`, `f16` | 2 | | 4 | 6 | 2 |
/// | `mixed-bf16`, `mixed-f16` | 2 | 4 | 8 | 14 | 4 |
///
/// Burn computes a `LayerNorm` in f32 where its input is f16, so its parameters stay f32 there, and
/// need no master; in bf16 it computes in bf16, and every other norm and the running statistics of
/// batch norm have to be in the dtype of their input.
///
/// A loss in half precision is hardly one: cast what it is computed from,
/// `logits.cast(FloatDType::F32)`.
///
/// ```standalone_crate
/// use burn::nn::LinearConfig;
/// use burn::optim::AdamWConfig;
/// use burn::tensor::{DType, FloatDType, Tensor};
/// use burn_fabric::prelude::*;
///
/// let fabric = Fabric::builder().precision(Precision::MixedBf16).build()?;
/// let meta = fabric.init_module(|device| LinearConfig::new(4, 1).init(device))?;
/// let (mut model, mut optimizer) = fabric.setup_with_optimizer(meta, AdamWConfig::new())?;
/// assert_eq!(model.weight.val().dtype(), DType::BF16);
/// let output = model.forward(Tensor::<2>::ones([2, 4], fabric.device()));
/// let loss = output.cast(FloatDType::F32).powi_scalar(2).mean();
/// let gradients = fabric.backward(loss, &model)?; //                  in f32
/// optimizer.step(1e-3, &mut model, gradients)?; //                    of the f32 weights it keeps
/// assert_eq!(optimizer.master_weights().count(), 2);
/// # Ok::<(), FabricError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    /// All in f32.
    F32,
    /// All in bf16: f32's range with 8 bits of precision. Small updates are lost to rounding.
    Bf16,
    /// All in f16: 11 bits of precision, and nothing above 65,504 or below 6e-8.
    F16,
    /// The model in bf16, the optimizer in f32 over weights of its own in f32.
    MixedBf16,
    /// The same in f16, with the loss scaled so that small gradients are not lost: see
    /// [`LossScale`].
    MixedF16,
}

impl Precision {
    /// All there are.
    pub const ALL: [Self; 5] = [
        Self::F32,
        Self::Bf16,
        Self::F16,
        Self::MixedBf16,
        Self::MixedF16,
    ];

    /// The dtype of a model's float tensors and of batches.
    pub fn float_dtype(self) -> FloatDType {
        match self {
            Self::F32 => FloatDType::F32,
            Self::Bf16 | Self::MixedBf16 => FloatDType::BF16,
            Self::F16 | Self::MixedF16 => FloatDType::F16,
        }
    }

    /// Whether the optimizer keeps weights of its own in f32.
    pub fn is_mixed(self) -> bool {
        matches!(self, Self::MixedBf16 | Self::MixedF16)
    }

    /// Whether layer norms keep their parameters in f32.
    pub(crate) fn has_norms_in_f32(self) -> bool {
        self.float_dtype() == FloatDType::F16
    }

    fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::MixedBf16 => "mixed-bf16",
            Self::MixedF16 => "mixed-f16",
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Precision {
    type Err = UnknownPrecision;

    fn from_str(name: &str) -> Result<Self, UnknownPrecision> {
        let precision = Self::ALL.into_iter().find(|one| one.name() == name);
        precision.ok_or_else(|| UnknownPrecision {
            name: name.to_owned(),
        })
    }
}

/// No precision is called so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no precision is called `{name}`: choose one of {}",
    Precision::ALL.map(Precision::name).join(", ")
)]
pub struct UnknownPrecision {
    /// What was asked for.
    pub name: String,
}

/// Whether a tensor of this dtype is updated through a master weight.
pub(crate) fn is_half(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16)
}
