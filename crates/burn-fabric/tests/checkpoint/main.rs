//! Checkpoints of training runs: exact, whole, and refused where they do not fit.

#[path = "../support/mod.rs"]
mod support;

mod exact;
mod files;
mod keeping;
mod killed;
mod parts;
mod refused;
mod run;
