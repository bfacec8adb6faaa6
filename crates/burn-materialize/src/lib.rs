//! Modules that are built for nothing and made real later.
//!
//! [`Meta::build`] runs a module's constructor on the meta device: shapes, dtypes and recipes, and
//! no memory. [`Meta::materialize`] allocates it on a real device, each tensor with its recorded
//! initial value; [`reset`] gives a real module fresh ones. Two derives carry that:
//! [`Materialize`], the one traversal behind everything, and [`ResetParameters`], which declares
//! how tensors get their initial values.
//!
//! ```text
//!              Meta::build          materialize            realize (Fabric's setup)
//! constructor ------------> Meta<M> ----------> module M ------------------------> trainable M
//!                             | map, materialize_where        ^
//!                             +-> Meta<N>                     | reset: new values, same identity
//! ```

// The derives name this crate from outside; this lets them be used inside as well.
extern crate self as burn_materialize;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod containers;
mod error;
mod fill;
mod init_plan;
mod init_rng;
mod initial_value;
mod inventory;
mod leaves;
mod limits;
mod materialize;
mod meta;
mod nn;
mod pattern;
mod plan;
mod realize;
mod recipes;
mod reset;
mod reset_pass;
mod site;
mod slot;
mod summary;
mod table;
mod tie;
mod trace;
mod train;
mod traversal;
mod weights;

/// The derive of the trait of that name.
///
/// ```
/// use burn::module::{Module, Param};
/// use burn::tensor::Tensor;
/// use burn_materialize::{Materialize, ResetParameters};
///
/// #[derive(Module, Materialize, ResetParameters, Debug)]
/// struct Scale<M> {
///     inner: Option<M>,
///     factor: Param<Tensor<1>>,
///     mask: Tensor<2>,
///     #[module(skip)]
///     cache: Vec<Tensor<2>>,
///     size: usize,
/// }
/// ```
pub use burn_materialize_derive::Materialize;
/// The derive of the trait of that name.
///
/// ```
/// use burn::module::{Initializer, Module, Param};
/// use burn::tensor::{Device, Shape, Tensor};
/// use burn_materialize::{Materialize, ResetParameters};
///
/// #[derive(Module, Materialize, ResetParameters, Debug)]
/// struct Attention {
///     #[reset(initializer = Initializer::Normal { mean: 0.0, std: 0.02 })]
///     query: Param<Tensor<2>>,
///     #[reset(with = causal)]
///     mask: Tensor<2>,
/// }
///
/// fn causal(shape: Shape, device: &Device) -> Tensor<2> {
///     Tensor::ones(shape, device).tril(0)
/// }
/// ```
pub use burn_materialize_derive::ResetParameters;
pub use burn_meta::{
    ByteCount, Cost, DefaultDTypes, DeviceMemory, HalfPrecision, Operation, OperationKind,
    RecipeError, RecipeKind, RecordError, TracedTensor, is_meta_device,
};
pub use burn_weights::{Checkpoint, CheckpointError, WriteFormat, Written};
pub use error::{MaterializeError, Problem, Problems};
pub use init_plan::InitPlan;
pub use init_rng::{Draws, InitRng, UnknownRng};
pub use initial_value::InitialValue;
pub use inventory::{Entry, State, inventory};
pub use materialize::Materialize;
pub use meta::Meta;
pub use pattern::{InvalidPattern, PathPattern};
pub use realize::{Realize, RealizeReport, Realized};
pub use recipes::Recipes;
pub use reset::ResetParameters;
pub use reset_pass::{reset, reset_to_defaults};
pub use site::{Role, Site};
pub use slot::Slot;
pub use summary::{Summary, SummaryCost, SummaryLine, SummaryTensor};
pub use table::Flops;
pub use tie::{detached, retie, retie_as};
pub use trace::{
    ModuleCost, Phase, Reached, Trace, TraceError, TraceMemory, TraceOptions, TraceOutput,
    TracedLeaf, TracedOperation, TracedOutput, TracedOutputs, trace, trace_training,
};
pub use train::valid;
pub use traversal::{Pass, Traversal, traverse};
pub use weights::{
    Absent, Cast, CopyMade, DTypePolicy, Layout, LoadReport, Loaded, LoadedTensor, Progress,
    SaveOptions, SavePlan, TieFilled, Weights, load, save, save_plan,
};
