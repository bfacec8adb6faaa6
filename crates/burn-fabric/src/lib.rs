//! A facade over Burn that trains what exists, and leaves the training loop yours.
//!
//! Build a module on the meta device for zero bytes, look at it, [set it up](Fabric::setup) on a
//! device, and optimise it; an optimizer over parameters that do not exist yet is refused.
//!
//! ```
//! use burn::module::Module;
//! use burn::nn::{Linear, LinearConfig};
//! use burn::optim::AdamWConfig;
//! use burn::tensor::{Device, Tensor};
//! use burn_fabric::prelude::*;
//!
//! #[derive(Module, Materialize, ResetParameters, Debug)]
//! struct Mlp {
//!     hidden: Linear,
//!     output: Linear,
//! }
//!
//! impl Mlp {
//!     fn new(device: &Device) -> Self {
//!         Self {
//!             hidden: LinearConfig::new(4, 16).init(device),
//!             output: LinearConfig::new(16, 1).init(device),
//!         }
//!     }
//!     fn forward(&self, x: Tensor<2>) -> Tensor<2> {
//!         self.output.forward(self.hidden.forward(x).tanh())
//!     }
//! }
//!
//! let fabric = Fabric::builder().accelerator(Accelerator::Auto).seed(42).build()?;
//! let meta = fabric.init_module(Mlp::new)?; // Meta<Mlp>: zero bytes
//! println!("{}", meta.summary());
//! let mut model = fabric.setup(meta)?; // allocated on the device, trainable
//! let mut optimizer = fabric.setup_optimizer(&model, AdamWConfig::new())?;
//! for _ in 0..3 {
//!     let x = Tensor::<2>::ones([8, 4], fabric.device());
//!     let loss = model.forward(x).powi_scalar(2).mean();
//!     let grads = fabric.backward(loss, &model)?;
//!     optimizer.step(1e-3, &mut model, grads)?;
//! }
//! let mlp: Mlp = model.into_inner()?; // plain Burn again
//! # Ok::<(), burn_fabric::FabricError>(())
//! ```

// The derive names this crate from outside; this lets it be used inside as well.
extern crate self as burn_fabric;

mod accelerator;
mod backward;
mod builder;
mod callback;
mod change;
mod checkpoint;
mod config;
mod data;
mod device_rng;
mod ema;
mod error;
mod fabric;
mod gradients;
mod interrupt;
mod logging;
mod module;
mod optimizer;
mod parameters;
mod pattern;
#[cfg(feature = "pictures")]
mod pictures;
mod plan;
mod precision;
mod registry;
mod setup;
mod span;

pub use accelerator::{Accelerator, Candidate, Candidates, LibTorchKind, UnknownAccelerator};
pub use backward::BackwardTarget;
pub use builder::FabricBuilder;
pub use burn_materialize;
pub use burn_materialize::InitRng;
pub use burn_materialize_derive::TrainingState;
pub use callback::{
    AfterStep, BeforeStep, Callback, CallbackResult, Callbacks, EarlyStopping, EpochBegin,
    EpochEnd, Evaluation, Exception, Flow, ModelAveraging, OnError, Point, Saved,
};
pub use change::ModuleChange;
pub use checkpoint::{
    Better, Checkpoints, LoadOptions, LoadedState, Loading, OptimizerMatch, PendingSave,
    SavedState, Saving, StateProblem, TrainingState,
};
pub use config::{FabricConfig, MissingGradients, Origin, SettingProblem, Settings};
pub use data::{
    Batches, DataPosition, DataSource, FabricDataLoader, LoaderOverDataset, ReadyLoader, Sampling,
};
pub use device_rng::DeviceRng;
pub use ema::MovingAverage;
pub use error::{FabricError, ShapeMismatch};
pub use fabric::Fabric;
pub use gradients::{Accumulation, Clip, Clipped, MicroBatch, MicroBatches, NonFinite};
pub use interrupt::Interrupt;
#[cfg(feature = "pictures")]
pub use logging::CurvesLogger;
#[cfg(feature = "tensorboard")]
pub use logging::TensorBoardLogger;
pub use logging::{
    CsvLogger, JsonLinesLogger, Logger, LoggerError, LoggerProblem, Loggers, TrainingProgress,
};
pub use module::FabricModule;
pub use optimizer::{
    Custom, FabricOptimizer, OptimizerConfig, OptimizerTarget, ParameterGroup, ParameterGroups,
    SingleOptimizer, StepReport, StepTarget,
};
pub use parameters::{HasParameters, Parameters};
pub use pattern::PatternProblem;
#[cfg(feature = "pictures")]
pub use pictures::{MemoryPicture, ModulesPicture, PictureError};
pub use plan::{Change, Help, Plan, PlanError, PlanMemory, PlanRequest, Stage, TrainingNeeds};
pub use precision::{LossScale, Precision, UnknownPrecision};
pub use setup::SetUp;

/// What most programs import, next to Burn's own prelude.
pub mod prelude {
    pub use crate::{
        Accelerator, AfterStep, Better, Callback, CallbackResult, Callbacks, Checkpoints, Clip,
        CsvLogger, DataPosition, DeviceRng, EarlyStopping, Evaluation, Fabric, FabricConfig,
        FabricDataLoader, FabricError, FabricModule, FabricOptimizer, Flow, InitRng, Interrupt,
        JsonLinesLogger, LoadOptions, LoaderOverDataset, Logger, Loggers, ModelAveraging,
        ParameterGroup, ParameterGroups, Precision, ReadyLoader, Sampling, SavedState,
        TrainingState,
    };
    pub use burn_materialize::{
        DTypePolicy, InitPlan, Layout, LoadReport, Materialize, Meta, Progress, ResetParameters,
        SaveOptions, Summary, Weights,
    };
}
