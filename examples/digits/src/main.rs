//! `cargo run --release -p digits`: from the meta device to a trained model.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use burn::optim::AdamWConfig;
use burn_fabric::prelude::*;
use clap::Parser;
use digits::{Mlp, train};
use digits_common::{Options, Samples, Split, write_results};
use run_common::{Output, digest, exit, parse};

/// Train a small model on 8x8 digits with burn-fabric
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Where to train: auto, flex; wgpu, libtorch or cuda in a build with the feature of that name;
    /// also one of several, as in cuda:1 [default: BURN_FABRIC_ACCELERATOR, else auto]
    #[arg(long)]
    device: Option<Accelerator>,
    /// What the model is kept and computed in: f32, bf16, f16, mixed-bf16 or mixed-f16
    /// [default: BURN_FABRIC_PRECISION, else f32]
    #[arg(long)]
    precision: Option<Precision>,
    /// The folder for metrics, picture and weights; created where it is missing
    #[arg(long, default_value = "runs/digits")]
    out: PathBuf,
}

fn main() -> ExitCode {
    exit(run(&parse()))
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let output = Output::create(&arguments.out)?;
    let data = Split::new(&Samples::load()?, arguments.options.seed);
    let mut builder = Fabric::builder().seed(arguments.options.seed);
    if let Some(device) = &arguments.device {
        builder = builder.accelerator(device.clone());
    }
    if let Some(precision) = arguments.precision {
        builder = builder.precision(precision);
    }
    let fabric = builder.build()?;
    println!("Settings:\n{fabric}\n");

    // Built on the meta device: everything is known of the model, and nothing of it exists.
    let start = Instant::now();
    let model = fabric.init_module(Mlp::new)?;
    let (time, summary) = (start.elapsed(), model.summary());
    let allocated = summary.allocated_bytes();
    println!(
        "A model on the meta device, in {time:.1?}, {allocated} bytes allocated:\n{summary}\n"
    );

    // A raw Burn module is lazy: an optimizer over it would step parameters that do not exist.
    let raw = Mlp::new(fabric.device());
    if let Err(error) = fabric.setup_optimizer(&raw, AdamWConfig::new()) {
        println!("An optimizer over a model that was not set up is refused:\n{error}\n");
    }

    let start = Instant::now();
    let mut model = fabric.setup(model)?;
    let (time, summary, device) = (start.elapsed(), model.summary()?, fabric.inference_device());
    println!("The model set up on {device:?}, in {time:.1?}:\n{summary}\n");

    let epochs = train(&fabric, &mut model, &data, &arguments.options)?;

    println!();
    write_results(&output, &epochs, &*model)?;
    println!("weights (SHA-256): {}", digest(&*model));
    if let Some(last) = epochs.last() {
        println!("test accuracy: {:.3}", last.test_accuracy);
    }
    Ok(())
}
