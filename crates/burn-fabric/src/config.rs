//! A Fabric's settings as files and the environment hold them.

mod by_name;
mod environment;
mod file;
mod float_dtype;
mod problem;
mod settings;

pub use problem::SettingProblem;
pub use settings::{Origin, Settings};

pub(crate) use settings::Layers;

use burn::tensor::FloatDType;
use burn_materialize::InitRng;
use serde::{Deserialize, Serialize};

use crate::accelerator::Accelerator;
use crate::gradients::NonFinite;
use crate::precision::Precision;

/// Settings of a Fabric that can be written to a file; what is `None` is left to others.
///
/// TOML and JSON; the names of the fields are the keys. The environment has the same settings in
/// capitals, `BURN_FABRIC_SEED` for `seed`. What code says wins over the environment, and that over
/// a file.
///
/// ```
/// use burn_fabric::FabricConfig;
///
/// let config = FabricConfig::from_toml("seed = 42\nclip_norm = 1.0")?;
/// assert_eq!(config.seed, Some(42));
/// assert_eq!(FabricConfig::from_json(&config.to_json()?)?, config);
///
/// let error = FabricConfig::from_toml("sed = 42").unwrap_err();
/// assert!(error.to_string().contains("`seed`"));
/// # Ok::<(), burn_fabric::FabricError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FabricConfig {
    /// The device: one of [`Accelerator::NAMES`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accelerator: Option<Accelerator>,
    /// The seed of all initial values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The same, and of the device's own generator, which is seeded when the Fabric is built.
    /// Not together with another `seed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed_everything: Option<u64>,
    /// The generator of initial values: `portable` or `device`.
    #[serde(skip_serializing_if = "Option::is_none", with = "by_name")]
    pub init_rng: Option<InitRng>,
    /// In which dtypes models are kept and optimised: `f32`, `bf16`, `f16`, `mixed-bf16`,
    /// `mixed-f16`. Not together with `float_dtype`.
    #[serde(skip_serializing_if = "Option::is_none", with = "by_name")]
    pub precision: Option<Precision>,
    /// Whether the backward pass computes activations again instead of keeping them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gradient_checkpointing: Option<bool>,
    /// What the loss is multiplied by at first under `mixed-f16`, a power of two of at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_scale: Option<f64>,
    /// After how many steps in a row it is doubled, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_scale_interval: Option<u32>,
    /// The dtype of float tensors that name none: `f32`, `f16`, `bf16`, `f64`, `flex32`.
    #[serde(skip_serializing_if = "Option::is_none", with = "float_dtype")]
    pub float_dtype: Option<FloatDType>,
    /// How many micro-batches make one step, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accumulate: Option<usize>,
    /// The greatest global norm of gradients, above 0. Not together with `clip_value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip_norm: Option<f64>,
    /// The greatest magnitude of a gradient's element, above 0. Not together with `clip_norm`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip_value: Option<f64>,
    /// What clipping does about a NaN or an infinity: `refuse` or `skip`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub non_finite_gradients: Option<NonFinite>,
    /// What a step does about parameters without a gradient: `report` or `refuse`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_gradients: Option<MissingGradients>,
}

/// What a step does where some, not all, of its parameters have no gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MissingGradients {
    /// Update the others, and name them in the step's report.
    #[default]
    Report,
    /// Return an error that names them.
    Refuse,
}

impl std::fmt::Display for MissingGradients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Report => "report",
            Self::Refuse => "refuse",
        })
    }
}

impl FabricConfig {
    /// The keys there are.
    pub const KEYS: &[&str] = &[
        "accelerator",
        "seed",
        "seed_everything",
        "init_rng",
        "precision",
        "float_dtype",
        "gradient_checkpointing",
        "loss_scale",
        "loss_scale_interval",
        "accumulate",
        "clip_norm",
        "clip_value",
        "non_finite_gradients",
        "missing_gradients",
    ];
}
