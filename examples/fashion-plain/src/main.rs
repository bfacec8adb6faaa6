//! `cargo run --release -p fashion-plain`: the example `fashion` in plain Burn.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use burn::tensor::Device;
use clap::Parser;
use fashion_common::{Options, write_results};
use fashion_plain::{Cnn, train};
use run_common::{Output, digest, exit, parse, plain_device};
use serde::de::IgnoredAny;

/// Train a convolutional network on Fashion-MNIST with plain Burn
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Where to train: auto or flex
    #[arg(long, default_value = "auto", value_parser = plain_device)]
    device: Device,
    /// The folder for metrics, curves and weights; created where it is missing
    #[arg(long, value_name = "DIR", default_value = "runs/fashion-plain")]
    out: PathBuf,
}

fn main() -> ExitCode {
    exit(run(&parse()))
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let options = &arguments.options;
    // The table for a Fabric may be there: the file is the same for both examples.
    let (_, settings) = options.settings::<IgnoredAny>()?;
    let data = options.read_data()?;
    let output = Output::create(&arguments.out)?;
    println!("Settings:\n{settings}\n");

    let start = Instant::now();
    let device = arguments.device.clone().autodiff();
    let seed = options.seed.unwrap_or(0);
    device.seed(seed);
    let model = Cnn::new(settings.dropout, &device);
    println!(
        "A model on {:?}, in {:.1?}:\n{model}\n",
        arguments.device,
        start.elapsed()
    );

    let workers = usize::from(options.workers);
    let (model, journal) = train(&device, model, data, &settings, seed, workers)?;

    println!();
    write_results(&output, &journal, &model)?;
    println!("weights (SHA-256): {}", digest(&model));
    if let Some(last) = journal.epochs().last() {
        println!("test accuracy: {:.4}", last.test_accuracy);
    }
    Ok(())
}
