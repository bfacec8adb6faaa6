use burn::nn::Linear;
use burn_fabric::prelude::*;

#[derive(TrainingState)]
struct Training {
    model: Linear,
    history: std::collections::HashMap<String, f64>,
}

fn main() {}
