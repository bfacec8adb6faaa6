//! Configuring a Fabric.

use std::path::PathBuf;

use burn::tensor::FloatDType;
use burn_materialize::InitRng;

use crate::accelerator::{Accelerator, Candidates};
use crate::config::{FabricConfig, Layers, MissingGradients, Origin};
use crate::error::FabricError;
use crate::fabric::Fabric;
use crate::gradients::{Clip, NonFinite};
use crate::precision::Precision;

/// Configures a [`Fabric`]: from code, from the environment, from a file, in this order of
/// precedence.
///
/// ```
/// use burn_fabric::prelude::*;
///
/// let fabric = Fabric::builder()
///     .environment([("BURN_FABRIC_SEED", "7"), ("BURN_FABRIC_ACCUMULATE", "4")])
///     .seed(42)
///     .build()?;
/// assert_eq!((fabric.settings().seed, fabric.settings().accumulate), (42, 4));
/// println!("{fabric}");
/// # Ok::<(), FabricError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct FabricBuilder {
    file: Option<PathBuf>,
    config: FabricConfig,
    environment: Option<Vec<(String, String)>>,
    code: FabricConfig,
}

impl FabricBuilder {
    /// The device to set modules up on; [`Accelerator::Auto`] unless said.
    pub fn accelerator(mut self, accelerator: Accelerator) -> Self {
        self.code.accelerator = Some(accelerator);
        self
    }

    /// The seed of all initial values; 0 unless said.
    pub fn seed(mut self, seed: u64) -> Self {
        self.code.seed = Some(seed);
        self
    }

    /// The seed of everything: of initial values, of the order of items, of
    /// [`DeviceRng`](crate::DeviceRng), and of the device's own generator, which is seeded when the
    /// Fabric is built. That one is the process's: another Fabric or thread may draw from it.
    pub fn seed_everything(mut self, seed: u64) -> Self {
        self.code.seed_everything = Some(seed);
        self
    }

    /// The generator of all initial values; [`InitRng::Portable`] unless said.
    pub fn init_rng(mut self, rng: InitRng) -> Self {
        self.code.init_rng = Some(rng);
        self
    }

    /// In which dtypes models are kept, computed and optimised.
    ///
    /// Burn fixes it for the whole process with the first tensor on the device.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.code.precision = Some(precision);
        self
    }

    /// Compute activations again in the backward pass instead of keeping them all: less memory, more
    /// time. It is a property of the device that [`Fabric::device`] gives, and of every parameter,
    /// buffer and batch made there; Burn lets no two kinds meet.
    pub fn gradient_checkpointing(mut self, on: bool) -> Self {
        self.code.gradient_checkpointing = Some(on);
        self
    }

    /// What the loss is multiplied by at first under [`Precision::MixedF16`], a power of two; 32,768
    /// unless said. See [`LossScale`](crate::LossScale).
    pub fn loss_scale(mut self, scale: f64) -> Self {
        self.code.loss_scale = Some(scale);
        self
    }

    /// After how many steps in a row that is doubled; 2000 unless said.
    pub fn loss_scale_interval(mut self, steps: u32) -> Self {
        self.code.loss_scale_interval = Some(steps);
        self
    }

    /// The dtype of float tensors that name none, without the rest of a
    /// [`precision`](FabricBuilder::precision); the device's own default unless said.
    ///
    /// Burn fixes it for the whole process with the first tensor on the device.
    pub fn float_dtype(mut self, dtype: FloatDType) -> Self {
        self.code.float_dtype = Some(dtype);
        self
    }

    /// How many micro-batches make one step, for
    /// [`Fabric::accumulate`] to be told; 1 unless said.
    pub fn accumulate(mut self, micro_batches: usize) -> Self {
        self.code.accumulate = Some(micro_batches);
        self
    }

    /// How gradients are clipped, for [`Fabric::clip_gradients`] to be told; not at all unless
    /// said.
    pub fn clip(mut self, clip: Clip) -> Self {
        (self.code.clip_norm, self.code.clip_value) = match clip {
            Clip::Norm(bound) => (Some(bound), None),
            Clip::Value(bound) => (None, Some(bound)),
        };
        self
    }

    /// What clipping does about a NaN or an infinity; it refuses unless said.
    pub fn non_finite_gradients(mut self, non_finite: NonFinite) -> Self {
        self.code.non_finite_gradients = Some(non_finite);
        self
    }

    /// What a step does about parameters without a gradient; it reports unless said.
    pub fn missing_gradients(mut self, missing: MissingGradients) -> Self {
        self.code.missing_gradients = Some(missing);
        self
    }

    /// A file with settings for what neither code nor the environment says, TOML or JSON.
    pub fn config_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// Settings read already, from a file of your own, say; they count a little more than those of
    /// [`config_file`](FabricBuilder::config_file).
    pub fn config(mut self, config: FabricConfig) -> Self {
        self.config = config;
        self
    }

    /// Variables to read instead of the process's environment, as names and values; none, to leave
    /// the environment out.
    pub fn environment<N: Into<String>, V: Into<String>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = variables.into_iter();
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        self.environment = Some(variables.collect());
        self
    }

    /// Resolve the settings and open the device.
    ///
    /// # Errors
    /// [`FabricError::Settings`] with everything that is wrong with them,
    /// [`FabricError::ConfigFile`] and [`FabricError::ConfigSyntax`] for the file,
    /// [`FabricError::NotCompiled`], [`FabricError::NoSuchDevice`], [`FabricError::DeviceFails`],
    /// [`FabricError::NoAccelerator`] and [`FabricError::MetaAccelerator`] for the device,
    /// [`FabricError::UnsupportedDType`] and [`FabricError::DefaultDType`] for its default dtype or
    /// the precision.
    pub fn build(self) -> Result<Fabric, FabricError> {
        let mut settings = self.layers()?.resolve()?;
        let float_dtype = settings.float_dtype;
        if settings.accelerator != Accelerator::Auto {
            let device = settings.accelerator.open(float_dtype)?;
            return Ok(Fabric::new(device, settings, Candidates::default()));
        }
        let (chosen, device, tried) = Candidates::best(float_dtype)?;
        settings.explain(
            "accelerator",
            &chosen.to_string(),
            "auto: the best that works here",
        );
        Ok(Fabric::new(device, settings, tried))
    }

    /// Read every layer; what is wrong in one is told with what is wrong in the others.
    fn layers(self) -> Result<Layers, FabricError> {
        let mut layers = Layers::default();
        let mut problems = Vec::new();
        let mut add = |origin, config: Result<FabricConfig, FabricError>| {
            match config {
                Ok(config) => layers.0.push((origin, config)),
                Err(FabricError::Settings { problems: found }) => problems.extend(found),
                Err(error) => return Err(error),
            }
            Ok(())
        };
        if let Some(path) = self.file {
            let config = FabricConfig::from_file(&path);
            add(Origin::File(path), config)?;
        }
        add(Origin::Config, Ok(self.config))?;
        let environment = match self.environment {
            Some(variables) => FabricConfig::from_variables(variables),
            None => FabricConfig::from_env(),
        };
        add(Origin::Environment, environment)?;
        add(Origin::Code, Ok(self.code))?;
        if problems.is_empty() {
            return Ok(layers);
        }
        // What could be read may be out of range as well.
        if let Err(FabricError::Settings { problems: found }) = layers.resolve() {
            problems.extend(found);
        }
        Err(FabricError::Settings { problems })
    }
}
