//! `cargo run --release -p learner`: a Fabric's model in Burn's Learner, and back.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use burn_fabric::prelude::*;
use clap::Parser;
use digits_common::{Options, Samples, Split};
use learner::{Mlp, learn, one_more_epoch, training};
use run_common::{Output, exit, parse};

/// Train a model that burn-fabric set up in Burn's own Learner, and go on with it in a Fabric loop
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// The folder for Burn's checkpoints, metrics and log; created where it is missing
    #[arg(long, default_value = "runs/learner")]
    out: PathBuf,
}

fn main() -> ExitCode {
    exit(run(&parse()))
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let Arguments { options, out } = arguments;
    let output = Output::create(out)?;
    let data = Split::new(&Samples::load()?, options.seed);
    let fabric = Fabric::builder().seed(options.seed).build()?;

    let meta = fabric.init_module(Mlp::new)?;
    println!("{}\n", meta.summary());
    let model = fabric.setup(meta)?;

    // Burn's, with its dashboard where this is a terminal.
    let learned = learn(training(&data, options, output.folder()), model)?;
    let checkpoints = output.folder().join("checkpoint");
    println!("Burn's checkpoints are in {}", checkpoints.display());
    if let Some(reason) = learned.stopped {
        println!("stopped: {reason}");
        return Ok(());
    }

    // And back: a plain module, off autodiff, which `setup` makes trainable again.
    let mut model = fabric.setup(learned.model)?;
    let scores = one_more_epoch(&fabric, &mut model, &data.train)?;
    let (accuracy, loss) = (scores.accuracy(), scores.loss());
    println!(
        "one more epoch in a Fabric loop, by Burn's metrics: accuracy {accuracy:.2} %, loss {loss:.4}"
    );
    let accuracy = fabric.evaluate(&model, |model, device| {
        data.test.accuracy(device, |images| model.forward(images))
    })?;
    println!("test accuracy: {accuracy:.3}");
    Ok(())
}
