//! Dry runs: shapes, operations, costs, errors.

mod errors;
mod inference;
mod kinds;
mod models;
mod products;
mod training;
