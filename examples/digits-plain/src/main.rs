//! `cargo run --release -p digits-plain`: the example `digits` in plain Burn.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use burn::tensor::Device;
use clap::Parser;
use digits_common::{Options, Samples, Split, write_results};
use digits_plain::{Mlp, train};
use run_common::{Output, digest, exit, parse, plain_device};

/// Train a small model on 8x8 digits with plain Burn
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Where to train: auto or flex
    #[arg(long, default_value = "auto", value_parser = plain_device)]
    device: Device,
    /// The folder for metrics, picture and weights; created where it is missing
    #[arg(long, default_value = "runs/digits-plain")]
    out: PathBuf,
}

fn main() -> ExitCode {
    exit(run(&parse()))
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let output = Output::create(&arguments.out)?;
    let data = Split::new(&Samples::load()?, arguments.options.seed);

    let start = Instant::now();
    let device = arguments.device.clone().autodiff();
    device.seed(arguments.options.seed);
    let model = Mlp::new(&device);
    println!(
        "A model on {:?}, in {:.1?}:\n{model}\n",
        arguments.device,
        start.elapsed()
    );

    let (model, epochs) = train(&device, model, &data, &arguments.options);

    println!();
    write_results(&output, &epochs, &model)?;
    println!("weights (SHA-256): {}", digest(&model));
    if let Some(last) = epochs.last() {
        println!("test accuracy: {:.3}", last.test_accuracy);
    }
    Ok(())
}
