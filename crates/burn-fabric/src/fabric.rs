//! The facade.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use burn_materialize::{DefaultDTypes, DeviceMemory, Draws, Materialize, Meta, Weights};

use crate::accelerator::Candidates;
use crate::backward::{BackwardTarget, Unscale, backward};
use crate::builder::FabricBuilder;
use crate::config::Settings;
use crate::data::{DataSource, FabricDataLoader};
use crate::device_rng::DeviceRng;
use crate::error::FabricError;
use crate::gradients::{Accumulation, Clip, Clipped, clip};
use crate::module::FabricModule;
use crate::optimizer::{FabricOptimizer, Mixed, OptimizerConfig, OptimizerTarget};
use crate::parameters::{HasParameters, Resolved, look_for_parameters};
use crate::plan::{Optimizer, Plan, PlanRequest, check_needs, half_precision, training_needs};
use crate::precision::{LossScale, LossScaler, Precision, RealPaths, norms_in_f32};
use crate::setup::SetUp;
use crate::span;

/// Builds modules on the meta device, sets them up on its own, and steps them.
///
/// Its `Display` is a table of the settings and where each comes from. See the
/// [crate's page](crate) for a whole program.
#[derive(Debug)]
pub struct Fabric {
    device: Device,
    settings: Settings,
    candidates: Candidates,
    /// Of its losses, where they are scaled.
    scaler: Option<Arc<LossScaler>>,
    /// How many modules have drawn from the seed.
    modules: AtomicU64,
}

impl Fabric {
    /// Start configuring.
    pub fn builder() -> FabricBuilder {
        FabricBuilder::default()
    }

    /// `device` without autodiff.
    pub(crate) fn new(device: Device, settings: Settings, candidates: Candidates) -> Self {
        if settings.seed_everything {
            device.seed(settings.seed);
        }
        let device = device.autodiff();
        let scaler = LossScaler::new(settings.loss_scale, settings.loss_scale_interval);
        let is_scaled = settings.precision == Some(Precision::MixedF16);
        Self {
            device: match settings.gradient_checkpointing {
                true => device.gradient_checkpointing(),
                false => device,
            },
            scaler: is_scaled.then(|| Arc::new(scaler)),
            settings,
            candidates,
            modules: AtomicU64::new(0),
        }
    }

    /// Every accelerator that is compiled in and that this machine has, each opened to learn what
    /// it is; and of the others, why there is none. Its `Display` is a table.
    ///
    /// ```
    /// use burn_fabric::prelude::*;
    ///
    /// println!("{}", Fabric::devices());
    /// # assert!(Fabric::devices().to_string().contains("cuda"));
    /// ```
    pub fn devices() -> Candidates {
        Candidates::all()
    }

    /// What [`Accelerator::Auto`](crate::Accelerator::Auto) tried, up to the one it chose, with what
    /// stands against the others; empty where an accelerator was named.
    pub fn candidates(&self) -> &Candidates {
        &self.candidates
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

    /// Where the scale of its losses stands, under
    /// [`Precision::MixedF16`](crate::Precision::MixedF16).
    pub fn loss_scale(&self) -> Option<LossScale> {
        self.scaler.as_ref().map(|scaler| scaler.now())
    }

    /// The seed of the next module. The first gets the Fabric's own; each later one another, so
    /// that two modules of one shape start apart.
    fn next_seed(&self) -> u64 {
        // Odd, so that the first 2^64 modules all differ: 2^64 divided by the golden ratio.
        const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;
        let module = self.modules.fetch_add(1, Ordering::Relaxed);
        self.settings.seed.wrapping_add(module.wrapping_mul(STRIDE))
    }

    /// Build a module for nothing, with the default dtypes of this Fabric's device.
    ///
    /// The n-th module of a Fabric draws from a seed of its own, which follows from the Fabric's
    /// and n. What counts is each call of this, and each [`setup`](Fabric::setup) of a plain module;
    /// the set-up of a `Meta` has been counted here.
    ///
    /// # Errors
    /// [`FabricError::Materialize`] when the constructor cannot be recorded.
    pub fn init_module<M: Materialize>(
        &self,
        constructor: impl FnOnce(&Device) -> M,
    ) -> Result<Meta<M>, FabricError> {
        let has_norms_in_f32 = self.has_norms_in_f32();
        let meta = Meta::build_for(&self.inference_device(), |device| {
            let module = constructor(device);
            match has_norms_in_f32 {
                true => norms_in_f32(module, &|_, _| true),
                false => module,
            }
        })?;
        let meta = meta.with_rng(self.settings.init_rng);
        Ok(meta.with_seed(self.next_seed()))
    }

    /// Allocate a module on this Fabric's device and make it trainable: a [`Meta`] or a reference to
    /// one, or a plain Burn module, lazy or real.
    ///
    /// # Errors
    /// [`FabricError::Materialize`] with all problems, before anything is allocated. Give a
    /// reference to keep the `Meta` then.
    pub fn setup<S: SetUp>(&self, module: S) -> Result<FabricModule<S::Module>, FabricError> {
        self.set_up(module, None)
    }

    /// The same with a checkpoint: what it has is loaded straight to the device and never
    /// initialised, the rest gets its initial value.
    /// [`load_report`](FabricModule::load_report) says which is which.
    ///
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn_fabric::burn_materialize::{SaveOptions, save};
    /// use burn_fabric::prelude::*;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("model.safetensors");
    /// let fabric = Fabric::builder().build()?;
    /// let trained = fabric.setup(LinearConfig::new(4, 1).init(&fabric.inference_device()))?;
    /// save(trained.module()?, &path, &SaveOptions::new())?;
    ///
    /// let meta = fabric.init_module(|device| LinearConfig::new(4, 1).init(device))?;
    /// let model = fabric.setup_with(meta, &Weights::open(&path)?)?;
    /// assert_eq!(model.load_report().map(|report| report.loaded.len()), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`setup`](Fabric::setup); and [`FabricError::Materialize`] for whatever does not fit
    /// between file and module, found before anything is allocated.
    pub fn setup_with<S: SetUp>(
        &self,
        module: S,
        weights: &Weights,
    ) -> Result<FabricModule<S::Module>, FabricError> {
        self.set_up(module, Some(weights))
    }

    fn set_up<S: SetUp>(
        &self,
        module: S,
        weights: Option<&Weights>,
    ) -> Result<FabricModule<S::Module>, FabricError> {
        let _span = span::setup::<S::Module>(weights.is_some());
        let seed = if S::DRAWS { self.next_seed() } else { 0 };
        let rng = self.settings.init_rng;
        let draws = Draws { seed, rng };
        let has_norms_in_f32 = self.has_norms_in_f32();
        let mut real = RealPaths::default();
        if has_norms_in_f32 {
            module.look(&mut real);
        }
        let mut realized = module.set_up(&self.device, draws, weights)?;
        if has_norms_in_f32 {
            // Of a module that was built elsewhere; what was real is its owner's.
            realized.module = norms_in_f32(realized.module, &|path, _| !real.0.contains(path));
        }
        Ok(FabricModule::new(realized, has_norms_in_f32))
    }

    fn has_norms_in_f32(&self) -> bool {
        let precision = self.settings.precision;
        precision.is_some_and(Precision::has_norms_in_f32)
    }

    fn has_masters(&self) -> bool {
        self.settings.precision.is_some_and(Precision::is_mixed)
    }

    /// Ask what a module on the meta device takes here: with this Fabric's precision, gradient
    /// checkpointing and accumulation, against its device's memory.
    ///
    /// ```
    /// use burn::nn::{Linear, LinearConfig};
    /// use burn::optim::AdamWConfig;
    /// use burn::tensor::Tensor;
    /// use burn_fabric::prelude::*;
    ///
    /// let fabric = Fabric::builder().build()?;
    /// let meta = fabric.init_module(|device| LinearConfig::new(512, 512).init(device))?;
    /// let request = fabric.plan(&meta).batch(32);
    /// let plan = request.training(AdamWConfig::new(), |linear: &Linear, device, batch| {
    ///     linear.forward(Tensor::<2>::zeros([batch, 512], device)).mean()
    /// })?;
    /// assert!(plan.fits());
    /// println!("{plan}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plan<'m, M: Materialize>(&self, meta: &'m Meta<M>) -> PlanRequest<'m, M> {
        let device = self.inference_device();
        // A device that cannot be opened says nothing.
        let memory = DeviceMemory::of(&device)
            .ok()
            .and_then(|memory| memory.total);
        let mut request = Plan::of(meta)
            .dtypes(DefaultDTypes::of(&device))
            .half_precision(half_precision(&device))
            .gradient_checkpointing(self.settings.gradient_checkpointing)
            .accumulate(self.settings.accumulate);
        if let Some(precision) = self.settings.precision {
            request = request.precision(precision);
        }
        match memory {
            Some(memory) => request.budget(memory),
            None => request,
        }
    }

    /// Set a module up together with an optimizer over all of it. The optimizer's configuration is
    /// checked before anything is allocated, and so is whether the device can hold both, with the
    /// gradients.
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
    /// As [`setup`](Fabric::setup) and [`setup_optimizer`](Fabric::setup_optimizer), and
    /// [`FabricError::DoesNotFit`].
    pub fn setup_with_optimizer<S: SetUp>(
        &self,
        module: S,
        config: impl OptimizerConfig,
    ) -> Result<(FabricModule<S::Module>, FabricOptimizer), FabricError> {
        let groups = config.into_groups();
        let parameters = look_for_parameters(|pass| module.look(pass));
        let half = half_precision(&self.device);
        let mut optimizer = Optimizer::new(&groups, &Resolved::of_one(parameters), half)?;
        let masters = self.has_masters();
        let needs = training_needs(&self.device, &mut optimizer, masters, |pass| {
            module.look(pass)
        });
        check_needs(&self.device, needs)?;
        let module = self.setup(module)?;
        let optimizer = self.setup_optimizer(&module, groups)?;
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
        let mixed = Mixed {
            masters: self.has_masters(),
            scaler: self.scaler.clone(),
            last_turn: AtomicU64::new(u64::MAX),
        };
        FabricOptimizer::new(target, config, self.settings.missing_gradients, mixed)
    }

    /// Set up a loader whose batches are made on this Fabric's device: over a dataset with its batcher,
    /// in an order that follows from the Fabric's seed and the epoch, or over a loader of Burn's.
    ///
    /// ```
    /// use burn::data::dataloader::batcher::Batcher;
    /// use burn::data::dataset::InMemDataset;
    /// use burn::tensor::{Device, Tensor};
    /// use burn_fabric::prelude::*;
    ///
    /// struct Stack;
    ///
    /// impl Batcher<f32, Tensor<1>> for Stack {
    ///     fn batch(&self, items: Vec<f32>, device: &Device) -> Tensor<1> {
    ///         Tensor::from_floats(items.as_slice(), device)
    ///     }
    /// }
    ///
    /// let fabric = Fabric::builder().seed(42).build()?;
    /// let dataset = InMemDataset::new((0..10).map(|n| n as f32).collect());
    /// let loader = LoaderOverDataset::new(dataset, Stack).batch_size(4).shuffle().workers(2);
    /// let loader = fabric.setup_dataloader(loader)?;
    /// assert_eq!(loader.num_batches(), Some(3));
    /// for epoch in loader.epoch()..2 {
    ///     for batch in loader.iter() {
    ///         let batch = batch?;
    ///         // ... and `loader.position()` goes into a checkpoint.
    ///     }
    ///     assert_eq!(loader.epoch(), epoch + 1);
    /// }
    /// # Ok::<(), FabricError>(())
    /// ```
    ///
    /// # Errors
    /// [`FabricError::DataSettings`] with all that is wrong.
    pub fn setup_dataloader<S: DataSource>(
        &self,
        source: S,
    ) -> Result<FabricDataLoader<S::Batch>, FabricError> {
        source.set_up(&self.device, self.settings.seed)
    }

    /// What seeds the device's generator anew for each step, so that a resume draws the same.
    pub fn device_rng(&self) -> DeviceRng {
        DeviceRng::new(self.inference_device(), self.settings.seed)
    }

    /// Compute the gradients of `loss` with respect to the parameters of `module`: in the parameters'
    /// own dtypes, and under a mixed [`Precision`](crate::Precision) in f32, of the loss itself
    /// however it is scaled on the way.
    ///
    /// # Errors
    /// [`FabricError::UntrackedLoss`] for a loss that no parameter went into,
    /// [`FabricError::NoGradients`] for one that none of this module's did,
    /// [`FabricError::Backward`] for one whose graph an earlier backward walked,
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
        let _span = span::backward();
        let scale = self.scaler.as_ref().map(|scaler| scaler.begin());
        let in_f32 = self.settings.precision.is_some_and(Precision::is_mixed);
        backward(loss, modules, &Unscale { scale, in_f32 })
    }

    /// Gradients summed over groups of `micro_batches` batches, for one step a group; as many as
    /// the settings say with `fabric.settings().accumulate`.
    ///
    /// # Errors
    /// [`FabricError::Settings`] for none.
    pub fn accumulate(&self, micro_batches: usize) -> Result<Accumulation, FabricError> {
        Accumulation::new(micro_batches)
    }

    /// Clip `gradients` of the parameters of a module, between `backward` and `step`, and return
    /// their global norm. A NaN or an infinity is refused, or the step skipped, as the settings say.
    ///
    /// The norm is summed in chunks of a fixed size, in one order: the same gradients give the same
    /// bits. A tie counts once. Without a clip, gradients are only measured and checked; as the
    /// settings say with `fabric.settings().clip`.
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
    /// [`FabricError::NoGradients`], [`FabricError::GradientShape`], [`FabricError::Settings`] for a bound that is not above 0; the
    /// gradients are as they were.
    pub fn clip_gradients<P: HasParameters>(
        &self,
        of: &P,
        gradients: &mut GradientsParams,
        clip_to: impl Into<Option<Clip>>,
    ) -> Result<Clipped, FabricError> {
        let _span = span::clip();
        let clip_to = clip_to.into();
        clip_to.map_or(Ok(()), Clip::check)?;
        let selected = of.parameters().selected()?;
        // Where the loss is scaled they are no surprise: the step leaves itself out.
        let non_finite = self.settings.non_finite_gradients;
        let non_finite = self.scaler.is_none().then_some(non_finite);
        clip(&selected, gradients, clip_to, non_finite)
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
        let _span = span::evaluate();
        Ok(evaluation(&module.inference()?, &self.inference_device()))
    }
}

impl fmt::Display for Fabric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(f)
    }
}
