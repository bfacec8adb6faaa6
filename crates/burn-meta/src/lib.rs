//! The meta device: build tensors for nothing, keep how each was made, make it real later.
//!
//! Burn's own capture device records operations with shape and dtype and executes none of them.
//! This crate turns that into a place to *build* on:
//!
//! 1. [`record`] runs a constructor inside a capture scope. Its tensors are handles (an id, a
//!    shape, a dtype); nothing is allocated for them. What comes back beside the constructor's
//!    value is a [`Recording`]: the operations, and the host data the constructor supplied.
//! 2. [`Recording::recipe`] is the backward slice from one tensor: usually one operation, sometimes
//!    a small graph.
//! 3. [`Recipe::evaluate`] produces that tensor on a real device. Random draws come from the
//!    counter-based [`generator`], so a value depends on its key and on nothing else.
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use burn_meta::{DefaultDTypes, DrawKey, record, tensor_id};
//!
//! let device = Device::flex();
//! // 4 TB, and not one byte of it allocated.
//! let ((table, small), recording) = record(DefaultDTypes::of(&device), |meta| {
//!     let table = Tensor::<2>::ones([1_000_000, 1_000_000], meta);
//!     (table, Tensor::<1>::ones([3], meta).mul_scalar(2.0))
//! })?;
//! assert_eq!(table.dims(), [1_000_000, 1_000_000]);
//!
//! let recipe = recording.recipe(tensor_id(&small.into_bridge()).unwrap())?;
//! let key = |_| DrawKey::new(42, "small", 0); // for random draws; this recipe has none
//! let real = Tensor::<1>::from_bridge(recipe.evaluate(key, recipe.dtype(), &device)?);
//! assert_eq!(real.into_data().iter::<f32>().collect::<Vec<_>>(), [2.0, 2.0, 2.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every use of the capture device and of Burn's intermediate representation is in this crate, so
//! that a change upstream touches one place. It knows nothing of modules or of training.

mod byte_count;
mod device;
mod device_draw;
mod error;
mod evaluate;
mod flex_memory;
pub mod generator;
mod memory;
mod recipe;
mod record;
mod tensor;
mod trace;

pub use burn_capture::TensorId;
pub use byte_count::ByteCount;
pub use device::{DefaultDTypes, MetaDevice};
pub use error::{RecipeError, RecordError};
pub use evaluate::{place_data, swapped};
pub use flex_memory::{HalfPrecision, LiveBytes};
pub use generator::DrawKey;
pub use memory::{DeviceMemory, confirm};
pub use recipe::{Recipe, RecipeKind};
pub use record::{Recording, panic_text, record};
pub use tensor::{is_meta_device, read, tensor_id};
pub use trace::{
    Cost, Fault, Mark, MetaGradients, Operation, OperationKind, OperationList, Stopped, Tape,
    TraceScope, Traced, TracedTensor,
};
