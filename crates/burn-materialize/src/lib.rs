//! stub docs
mod containers;
mod leaves;
mod materialize;
mod reset;
mod site;
mod slot;
mod traversal;
pub use materialize::Materialize;
pub use reset::{InitPlan, InitialValue, ResetParameters};
pub use site::{Role, Site};
pub use slot::Slot;
pub use traversal::{Pass, Traversal, traverse};
