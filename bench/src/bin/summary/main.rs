//! How long the summary of a module of 100,000 tensors takes, as text, folded. On the meta device the
//! tensors are noted while the module is built, so that is told as well; a module of no `Meta` has to
//! be gone through first.

use std::hint::black_box;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use burn::module::Module;
use burn::nn::{LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::tensor::Device;
use burn_fabric_bench::{median, timed};
use burn_materialize::{Materialize, Meta, ResetParameters, Summary};
use serde::Serialize;

const BLOCKS: usize = 5_000;
const TENSORS: usize = 100_000;
const WARM_UP: usize = 3;
const TURNS: usize = 21;
/// What it may take.
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
    /// The same, each block on its own lines.
    unfolded_ms: f64,
    /// Of the module itself.
    module_ms: f64,
    /// To build the module on the meta device.
    build_ms: f64,
}

fn main() -> Result<ExitCode> {
    let meta = Meta::build(Model::new)?;
    let summary = meta.summary();
    let tensors = summary.tensors();
    ensure!(tensors == TENSORS, "{tensors} tensors, expected {TENSORS}");
    println!("{summary}");

    // On flex, lazy: without memory as well.
    let module = Model::new(&Device::flex());
    let ms = milliseconds(|| meta.summary().to_string());
    let report = Report {
        bench: "summary",
        tensors,
        ms,
        unfolded_ms: milliseconds(|| meta.summary().unfolded().to_string()),
        module_ms: milliseconds(|| Summary::of(&module).to_string()),
        build_ms: milliseconds(|| Meta::build(Model::new)),
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
