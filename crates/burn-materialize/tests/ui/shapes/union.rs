//! A union is no module.

use burn_materialize::{Materialize, ResetParameters};

#[derive(Materialize, ResetParameters)]
union Model {
    one: u32,
    other: f32,
}

fn main() {}
