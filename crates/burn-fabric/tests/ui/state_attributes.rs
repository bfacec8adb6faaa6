use burn_fabric::prelude::*;

#[derive(TrainingState)]
struct Training {
    #[state(serde, skip)]
    both: u64,
    #[state(ignore)]
    unknown: u64,
}

#[derive(TrainingState)]
struct Tuple(u64);

#[derive(TrainingState)]
enum Phase {
    Warm(u64),
}

fn main() {}
