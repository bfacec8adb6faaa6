//! How long it takes to summarise a module of 100,000 tensors: to go through it and to print it,
//! folded.

use std::hint::black_box;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::nn::{LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::tensor::Device;
use burn_fabric_bench::{median, timed};
use burn_materialize::{Materialize, Meta, ResetParameters};
use serde::Serialize;

const BLOCKS: usize = 5_000;
const TENSORS: usize = 100_000;
const WARM_UP: usize = 3;
const TURNS: usize = 21;
/// What it may take. It takes longer: about 70 ms where the dry run of Llama 3 8B takes 13 ms. The
/// traversal takes a copy of the module apart and puts it together again, and each parameter lies
/// elsewhere in memory: a visit by reference is what is left to try.
const GOAL_MS: f64 = 10.0;

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Model {
    blocks: Vec<Block>,
}

/// Twenty tensors.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Block {
    attention_norm: LayerNorm,
    attention: Layers,
    feed_forward_norm: LayerNorm,
    feed_forward: Layers,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Layers {
    first: Linear,
    second: Linear,
    third: Linear,
    fourth: Linear,
}

impl Model {
    fn new(device: &Device) -> Self {
        let linear = || LinearConfig::new(64, 64).init(device);
        let layers = || Layers {
            first: linear(),
            second: linear(),
            third: linear(),
            fourth: linear(),
        };
        let block = |_| Block {
            attention_norm: LayerNormConfig::new(64).init(device),
            attention: layers(),
            feed_forward_norm: LayerNormConfig::new(64).init(device),
            feed_forward: layers(),
        };
        Self {
            blocks: (0..BLOCKS).map(block).collect(),
        }
    }
}

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    tensors: usize,
    ms: f64,
}

fn main() -> Result<ExitCode> {
    let meta = Meta::build(Model::new)?;
    let summary = meta.summary();
    let tensors = summary.tensors();
    ensure!(tensors == TENSORS, "{tensors} tensors, expected {TENSORS}");
    println!("{summary}");

    let built = milliseconds(|| meta.summary());
    let ms = milliseconds(|| meta.summary().to_string());
    let unfolded = milliseconds(|| meta.summary().unfolded().to_string());
    println!("built in {built:.2} ms, with its text {ms:.2} ms, unfolded {unfolded:.2} ms");

    let report = Report {
        bench: "summary",
        tensors,
        ms,
    };
    if ms >= GOAL_MS {
        eprintln!("missed: less than {GOAL_MS} ms");
    }
    println!("{}", serde_json::to_string(&report)?);
    Ok(match ms < GOAL_MS {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The median, after turns that do not count.
fn milliseconds<T>(mut work: impl FnMut() -> T) -> f64 {
    let turns = (0..WARM_UP + TURNS).map(|_| {
        let (result, time) = timed(&mut work);
        black_box(result);
        time.as_secs_f64() * 1e3
    });
    median(turns.skip(WARM_UP).collect())
}
