//! A moving average of the weights, kept up by the loop's own points.

use burn_materialize::Materialize;

use super::seen::AfterStep;
use super::{Callback, CallbackResult, Flow};
use crate::checkpoint::{Loading, Saving};
use crate::ema::MovingAverage;
use crate::error::FabricError;
use crate::module::FabricModule;

type ModuleOf<S, M> = Box<dyn Fn(&S) -> &FabricModule<M> + Send>;

/// Keeps a [`MovingAverage`] of the weights of one module of the state, updated after each step that
/// was not left out.
///
/// ```
/// use burn::nn::{Linear, LinearConfig};
/// use burn::optim::SgdConfig;
/// use burn::tensor::Tensor;
/// use burn_fabric::prelude::*;
/// use burn_fabric::AfterStep;
///
/// struct Training {
///     model: FabricModule<Linear>,
///     optimizer: FabricOptimizer,
/// }
///
/// let fabric = Fabric::builder().build()?;
/// let meta = fabric.init_module(|device| LinearConfig::new(4, 1).init(device))?;
/// let (model, optimizer) = fabric.setup_with_optimizer(meta, SgdConfig::new())?;
/// let mut training = Training { model, optimizer };
/// let averaging = ModelAveraging::new(&training, 0.9, |training| &training.model)?;
/// let mut callbacks = Callbacks::new().with(averaging);
/// for step in 1..=3 {
///     let loss = training.model.forward(Tensor::<2>::ones([2, 4], fabric.device())).mean();
///     let gradients = fabric.backward(loss, &training.model)?;
///     let report = training.optimizer.step(0.1, &mut training.model, gradients)?;
///     callbacks.after_step(&mut training, AfterStep::new(step, &report))?;
/// }
///
/// // Evaluation with the averaged weights; the model trains on with its own.
/// let averaging: &ModelAveraging<Training, Linear> = callbacks.get().expect("it was added");
/// let averaged: Linear = averaging.module(&training)?;
/// let x = Tensor::<2>::ones([2, 4], &fabric.inference_device());
/// let mean: f32 = averaged.forward(x).mean().into_scalar();
/// # assert!(mean.is_finite());
/// # assert_ne!(averaged.weight.to_data(), training.model.weight.to_data());
/// # Ok::<(), FabricError>(())
/// ```
pub struct ModelAveraging<S, M> {
    average: MovingAverage,
    module_of: ModuleOf<S, M>,
}

impl<S: 'static, M: Materialize> ModelAveraging<S, M> {
    /// Start from the weights as they are; `module_of` takes the module out of the state.
    ///
    /// # Errors
    /// As [`MovingAverage::new`].
    pub fn new(
        state: &S,
        decay: f64,
        module_of: impl Fn(&S) -> &FabricModule<M> + Send + 'static,
    ) -> Result<Self, FabricError> {
        Ok(Self {
            average: MovingAverage::new(module_of(state), decay)?,
            module_of: Box::new(module_of),
        })
    }

    /// A copy of the state's module with the averaged weights, for inference.
    ///
    /// # Errors
    /// As [`MovingAverage::module`].
    pub fn module(&self, state: &S) -> Result<M, FabricError> {
        self.average.module((self.module_of)(state))
    }

    /// The average itself.
    pub fn average(&self) -> &MovingAverage {
        &self.average
    }
}

impl<S: 'static, M: Materialize + 'static> Callback<S> for ModelAveraging<S, M> {
    fn after_step(&mut self, state: &mut S, seen: &AfterStep<'_>) -> CallbackResult {
        if seen.report.updated > 0 {
            self.average.update((self.module_of)(state))?;
        }
        Ok(Flow::Continue)
    }

    fn save_state(&self, saving: &mut Saving) {
        saving.part("average", &self.average);
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        loading.part("average", &mut self.average);
    }
}

impl<S, M> std::fmt::Debug for ModelAveraging<S, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("ModelAveraging");
        debug
            .field("average", &self.average)
            .finish_non_exhaustive()
    }
}
