//! The facade.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use burn_materialize::{Materialize, Meta, is_meta_device};

use crate::accelerator::Accelerator;
use crate::backward::{BackwardTarget, check_gradients, track};
use crate::config::{FabricConfig, Layers, MissingGradients, Origin, Settings};
use crate::error::FabricError;
use crate::gradients::{Accumulation, Clip, Clipped, NonFinite, clip};
use crate::module::FabricModule;
use crate::optimizer::{FabricOptimizer, OptimizerConfig, OptimizerTarget};
use crate::parameters::HasParameters;
use crate::setup::SetUp;

/// Builds modules on the meta device, sets them up on its own, and steps them.
///
/// Its `Display` is a table of the settings and where each comes from. See the
/// [crate's page](crate) for a whole program.
#[derive(Debug)]
pub struct Fabric {
    device: Device,
    settings: Settings,
    /// How many modules have drawn from the seed.
    modules: AtomicU64,
}

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
/// assert_eq!((fabric.seed(), fabric.settings().accumulate), (42, 4));
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

    /// How many micro-batches make one step, for [`Fabric::accumulation`]; 1 unless said.
    pub fn accumulate(mut self, micro_batches: usize) -> Self {
        self.code.accumulate = Some(micro_batches);
        self
    }

    /// How gradients are clipped, for [`Fabric::clip`]; not at all unless said.
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
    /// [`FabricError::MetaAccelerator`] for a device that computes nothing.
    pub fn build(self) -> Result<Fabric, FabricError> {
        let mut settings = self.layers()?.resolve()?;
        let device = settings.accelerator.device();
        if is_meta_device(&device) {
            return Err(FabricError::MetaAccelerator {
                device: format!("{device:?}"),
            });
        }
        if matches!(settings.accelerator, Accelerator::Auto) {
            let reason = "auto: the only kind of device compiled in";
            settings.explain("accelerator", "flex", reason);
        }
        Ok(Fabric {
            device: device.autodiff(),
            settings,
            modules: AtomicU64::new(0),
        })
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

impl Fabric {
    /// Start configuring.
    pub fn builder() -> FabricBuilder {
        FabricBuilder::default()
    }

    /// The device for training batches, autodiff on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The same device without autodiff, for evaluation.
    pub fn inference_device(&self) -> Device {
        self.device.clone().without_autodiff()
    }

    /// What was resolved; its `Display` says why.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The seed of all initial values.
    pub fn seed(&self) -> u64 {
        self.settings.seed
    }

    /// The seed of the next module. The first gets the Fabric's own; each later one another, so
    /// that two modules of one shape start apart.
    fn next_seed(&self) -> u64 {
        // Odd, so that the first 2^64 modules all differ: 2^64 divided by the golden ratio.
        const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;
        let module = self.modules.fetch_add(1, Ordering::Relaxed);
        self.seed().wrapping_add(module.wrapping_mul(STRIDE))
    }

    /// Build a module for nothing, with the default dtypes of this Fabric's device.
    ///
    /// The n-th module of a Fabric draws from a seed of its own, which follows from the Fabric's
    /// and n.
    ///
    /// # Errors
    /// [`FabricError::Materialize`] when the constructor cannot be recorded.
    pub fn init_module<M: Materialize>(
        &self,
        constructor: impl FnOnce(&Device) -> M,
    ) -> Result<Meta<M>, FabricError> {
        let meta = Meta::build_for(&self.inference_device(), constructor)?;
        Ok(meta.with_seed(self.next_seed()))
    }

    /// Allocate a module on this Fabric's device and make it trainable: a [`Meta`] or a reference to
    /// one, or a plain Burn module, lazy or real.
    ///
    /// # Errors
    /// [`FabricError::Materialize`] with all problems, before anything is allocated. Give a
    /// reference to keep the `Meta` then.
    pub fn setup<S: SetUp>(&self, module: S) -> Result<FabricModule<S::Module>, FabricError> {
        let realized = module.set_up(&self.inference_device(), self.next_seed())?;
        Ok(FabricModule::new(realized))
    }

    /// Set a module up together with an optimizer over all of it.
    ///
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn::optim::AdamWConfig;
    /// use burn_fabric::prelude::*;
    ///
    /// let fabric = Fabric::builder().build()?;
    /// let meta = fabric.init_module(|device| LinearConfig::new(4, 1).init(device))?;
    /// let (model, optimizer) = fabric.setup_with_optimizer(meta, AdamWConfig::new())?;
    /// assert_eq!(optimizer.paths().count(), 2);
    /// # Ok::<(), FabricError>(())
    /// ```
    ///
    /// # Errors
    /// As [`setup`](Fabric::setup) and [`setup_optimizer`](Fabric::setup_optimizer).
    pub fn setup_with_optimizer<S: SetUp>(
        &self,
        module: S,
        config: impl OptimizerConfig,
    ) -> Result<(FabricModule<S::Module>, FabricOptimizer), FabricError> {
        let module = self.setup(module)?;
        let optimizer = self.setup_optimizer(&module, config)?;
        Ok((module, optimizer))
    }

    /// Make an optimizer for a module that [`setup`](Fabric::setup) returned, or for
    /// [`Parameters`](crate::Parameters) of one or several, from any configuration of burn-optim or
    /// [`ParameterGroups`](crate::ParameterGroups).
    ///
    /// # Errors
    /// [`FabricError::NotReal`] or [`FabricError::NotSetUp`] over a raw module,
    /// [`FabricError::NothingTrainable`], [`FabricError::Overlap`], [`FabricError::Patterns`],
    /// [`FabricError::SharedId`], [`FabricError::OptimizerConfig`], [`FabricError::Rank`],
    /// [`FabricError::Poisoned`].
    pub fn setup_optimizer<T: OptimizerTarget>(
        &self,
        target: &T,
        config: impl OptimizerConfig,
    ) -> Result<FabricOptimizer, FabricError> {
        FabricOptimizer::new(target, config, self.settings.missing_gradients)
    }

    /// Compute the gradients of `loss` with respect to the parameters of `module`.
    ///
    /// # Errors
    /// [`FabricError::UntrackedLoss`] for a loss that no parameter went into,
    /// [`FabricError::NoGradients`] for one that none of this module's did,
    /// [`FabricError::Poisoned`].
    pub fn backward<M: Materialize, const D: usize>(
        &self,
        loss: Tensor<D>,
        module: &FabricModule<M>,
    ) -> Result<GradientsParams, FabricError> {
        self.backward_joint(loss, module)
    }

    /// The same for several modules at once: `fabric.backward_joint(loss, (&encoder, &decoder))`.
    ///
    /// # Errors
    /// As [`backward`](Fabric::backward), and [`FabricError::SharedId`].
    pub fn backward_joint<const D: usize>(
        &self,
        loss: Tensor<D>,
        modules: impl BackwardTarget,
    ) -> Result<GradientsParams, FabricError> {
        let parameters = modules.parameters();
        let selected = parameters.selected()?;
        let mut gradients = track(&loss)?;
        drop(loss);
        let gradients = modules.gradients(&mut gradients);
        check_gradients(gradients, &selected)
    }

    /// Gradients summed over groups of `micro_batches` batches, for one step a group.
    ///
    /// # Errors
    /// [`FabricError::Settings`] for none.
    pub fn accumulate(&self, micro_batches: usize) -> Result<Accumulation, FabricError> {
        Accumulation::new(micro_batches)
    }

    /// The same for as many as the settings say.
    pub fn accumulation(&self) -> Accumulation {
        Accumulation::of(self.settings.accumulate)
    }

    /// Clip `gradients` of the parameters of a module, between `backward` and `step`, and return
    /// their global norm. A NaN or an infinity is refused, or the step skipped, as the settings say.
    ///
    /// The norm is summed in chunks of a fixed size, in one order: the same gradients give the same
    /// bits. A tie counts once. Without a clip, gradients are only measured and checked.
    ///
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn::optim::SgdConfig;
    /// use burn::tensor::Tensor;
    /// use burn_fabric::prelude::*;
    ///
    /// let fabric = Fabric::builder().build()?;
    /// let mut model = fabric.setup(LinearConfig::new(4, 1).init(&fabric.inference_device()))?;
    /// let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new())?;
    /// let loss = model.forward(Tensor::<2>::ones([2, 4], fabric.device())).sum();
    /// let mut gradients = fabric.backward(loss, &model)?;
    /// let clipped = fabric.clip_gradients(&model, &mut gradients, Clip::Norm(1.0))?;
    /// if !clipped.is_skipped() {
    ///     optimizer.step(1e-3, &mut model, gradients)?;
    /// }
    /// assert!((clipped.norm - 20f64.sqrt()).abs() < 1e-6); // four weights and a bias, 2 each
    /// # Ok::<(), FabricError>(())
    /// ```
    ///
    /// # Errors
    /// [`FabricError::NonFiniteGradients`] with the parameters' paths,
    /// [`FabricError::NoGradients`], [`FabricError::Settings`] for a bound that is not above 0; the
    /// gradients are as they were.
    pub fn clip_gradients<P: HasParameters>(
        &self,
        of: &P,
        gradients: &mut GradientsParams,
        clip_to: impl Into<Option<Clip>>,
    ) -> Result<Clipped, FabricError> {
        let clip_to = clip_to.into();
        clip_to.map_or(Ok(()), Clip::check)?;
        let parameters = of.parameters();
        let non_finite = self.settings.non_finite_gradients;
        clip(&parameters.selected()?, gradients, clip_to, non_finite)
    }

    /// How the settings say that gradients are clipped, for
    /// [`clip_gradients`](Fabric::clip_gradients).
    pub fn clip(&self) -> Option<Clip> {
        self.settings.clip
    }

    /// Run `evaluation` with a copy of the module for inference (no autodiff, training flags off)
    /// and the device for its batches.
    ///
    /// The module itself is untouched, so nothing needs restoring afterwards, however `evaluation`
    /// ends.
    ///
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn::tensor::Tensor;
    /// use burn_fabric::prelude::*;
    ///
    /// let fabric = Fabric::builder().build()?;
    /// let model = fabric.setup(LinearConfig::new(4, 1).init(&fabric.inference_device()))?;
    /// let mean: f32 = fabric.evaluate(&model, |model, device| {
    ///     model.forward(Tensor::<2>::ones([2, 4], device)).mean().into_scalar()
    /// })?;
    /// # assert!(mean.is_finite());
    /// # Ok::<(), FabricError>(())
    /// ```
    ///
    /// # Errors
    /// [`FabricError::Poisoned`] after a step panicked.
    pub fn evaluate<M: Materialize, T>(
        &self,
        module: &FabricModule<M>,
        evaluation: impl FnOnce(&M, &Device) -> T,
    ) -> Result<T, FabricError> {
        Ok(evaluation(&module.inference()?, &self.inference_device()))
    }
}

impl fmt::Display for Fabric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(f)
    }
}
