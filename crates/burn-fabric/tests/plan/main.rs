//! Plans: what a run takes, before it runs.

mod display;
mod model;
mod plans;
mod refusals;
