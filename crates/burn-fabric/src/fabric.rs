//! The facade.

use std::sync::atomic::{AtomicU64, Ordering};

use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use burn_materialize::{Materialize, Meta, Realize, is_meta_device};

use crate::accelerator::Accelerator;
use crate::error::FabricError;
use crate::module::FabricModule;
use crate::optimizer::{FabricOptimizer, OptimizerConfig, OptimizerTarget};

/// Builds modules on the meta device, sets them up on its own, and steps them.
///
/// See the [crate's page](crate) for a whole program.
#[derive(Debug)]
pub struct Fabric {
    device: Device,
    seed: u64,
    /// How many modules have drawn from the seed.
    modules: AtomicU64,
}

/// Configures a [`Fabric`].
#[derive(Clone, Debug, Default)]
pub struct FabricBuilder {
    accelerator: Accelerator,
    seed: u64,
}

impl FabricBuilder {
    /// The device to set modules up on; [`Accelerator::Auto`] unless said.
    pub fn accelerator(mut self, accelerator: Accelerator) -> Self {
        self.accelerator = accelerator;
        self
    }

    /// The seed of all initial values; 0 unless said.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Open the device.
    ///
    /// # Errors
    /// [`FabricError::MetaAccelerator`] for a device that computes nothing.
    pub fn build(self) -> Result<Fabric, FabricError> {
        let device = self.accelerator.device();
        if is_meta_device(&device) {
            return Err(FabricError::MetaAccelerator {
                device: format!("{device:?}"),
            });
        }
        let device = device.autodiff();
        Ok(Fabric {
            device,
            seed: self.seed,
            modules: AtomicU64::new(0),
        })
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

    /// The seed of all initial values.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The seed of the next module. The first gets the Fabric's own; each later one another, so
    /// that two modules of one shape start apart.
    fn next_seed(&self) -> u64 {
        // Odd, so that the first 2^64 modules all differ: 2^64 divided by the golden ratio.
        const STRIDE: u64 = 0x9E37_79B9_7F4A_7C15;
        let module = self.modules.fetch_add(1, Ordering::Relaxed);
        self.seed.wrapping_add(module.wrapping_mul(STRIDE))
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
    pub fn setup<R: Realize>(&self, module: R) -> Result<FabricModule<R::Module>, FabricError> {
        let realized = module.realize(&self.inference_device(), self.next_seed())?;
        Ok(FabricModule::new(realized))
    }

    /// Make an optimizer for a module that [`setup`](Fabric::setup) returned, from any
    /// configuration of burn-optim.
    ///
    /// # Errors
    /// [`FabricError::NotReal`] or [`FabricError::NotSetUp`] over a raw module,
    /// [`FabricError::NothingTrainable`], [`FabricError::OptimizerConfig`],
    /// [`FabricError::Poisoned`].
    pub fn setup_optimizer<T: OptimizerTarget>(
        &self,
        module: &T,
        config: impl OptimizerConfig,
    ) -> Result<FabricOptimizer, FabricError> {
        FabricOptimizer::new(module, config)
    }

    /// Compute the gradients of `loss` with respect to the parameters of `module`.
    ///
    /// # Errors
    /// [`FabricError::UntrackedLoss`] for a loss that no parameter went into,
    /// [`FabricError::Poisoned`].
    pub fn backward<M: Materialize, const D: usize>(
        &self,
        loss: Tensor<D>,
        module: &FabricModule<M>,
    ) -> Result<GradientsParams, FabricError> {
        let module = module.module()?;
        if !loss.is_autodiff() {
            return Err(FabricError::UntrackedLoss);
        }
        Ok(GradientsParams::from_grads(loss.backward(), module))
    }
}
