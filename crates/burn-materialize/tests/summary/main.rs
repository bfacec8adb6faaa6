//! Summaries: what is folded, how it fits, what a trace adds.

mod folding;
mod models;
mod property;
mod traced;
mod width;
