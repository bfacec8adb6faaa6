//! Batches on the Fabric's device, in an order that a resume finds again.

mod batches;
mod loader;
mod order;
mod source;
mod workers;

pub use batches::Batches;
pub use loader::{DataPosition, FabricDataLoader};
pub use order::Sampling;
pub(crate) use source::caught;
pub use source::{DataSource, LoaderOverDataset, ReadyLoader};
