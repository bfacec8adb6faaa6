//! What is written is read again, by this crate and by others, and nothing is lost when writing fails.

mod differential;
mod failing;
mod replacing;
mod round_trip;
mod shards;
mod written;

#[path = "../support/mod.rs"]
mod support;
