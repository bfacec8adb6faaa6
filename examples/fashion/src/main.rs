//! `cargo run --release -p fashion`: a training that can be interrupted and resumed.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use burn_fabric::prelude::*;
use clap::Parser;
use fashion::{Cnn, Training, run_folder, test_loader, train};
use fashion_common::{Options, write_results};
use run_common::{Ended, Output, digest, exit, parse};

/// Train a convolutional network on Fashion-MNIST with burn-fabric
///
/// Ctrl-C or SIGTERM finishes the step, saves everything and exits with 75; the same command with
/// --resume goes on, and ends with the same bits as a run that was never interrupted.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
    /// Where to train: auto, flex; wgpu, libtorch or cuda in a build with the feature of that name;
    /// also one of several, as in cuda:1 [default: BURN_FABRIC_ACCELERATOR, else auto]
    #[arg(long)]
    device: Option<Accelerator>,
    /// What the model is kept and computed in: f32, bf16, f16, mixed-bf16 or mixed-f16
    /// [default: BURN_FABRIC_PRECISION, else the file's, else f32]
    #[arg(long)]
    precision: Option<Precision>,
    /// The folder for checkpoints, metrics, curves and weights; created where it is missing
    #[arg(long, value_name = "DIR", default_value = "runs/fashion")]
    out: PathBuf,
    /// Go on from the latest checkpoint in the folder of --out, or in another run's, or from one
    /// checkpoint
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    resume: Option<Option<PathBuf>>,
}

fn main() -> ExitCode {
    exit(run(&parse()))
}

fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let options = &arguments.options;
    let (config, settings) = options.settings::<FabricConfig>()?;
    let data = options.read_data()?;
    let output = Output::create(&arguments.out)?;
    let mut builder = Fabric::builder().config(config);
    if let Some(seed) = options.seed {
        builder = builder.seed(seed);
    }
    if let Some(device) = &arguments.device {
        builder = builder.accelerator(device.clone());
    }
    if let Some(precision) = arguments.precision {
        builder = builder.precision(precision);
    }
    let fabric = builder.build()?;
    println!("Settings:\n{fabric}\n{settings}\n");

    // Built on the meta device: everything is known of the model, and nothing of it exists.
    let start = Instant::now();
    let model = fabric.init_module(|device| Cnn::new(settings.dropout, device))?;
    let (time, summary) = (start.elapsed(), model.summary());
    let allocated = summary.allocated_bytes();
    println!(
        "A model on the meta device, in {time:.1?}, {allocated} bytes allocated:\n{summary}\n"
    );

    let workers = usize::from(options.workers);
    let model = fabric.setup(model)?;
    let mut training = Training::new(&fabric, model, data.train, settings, workers)?;
    let test = test_loader(&fabric, data.test, workers)?;
    let run = run_folder(&arguments.out);
    match &arguments.resume {
        None => run.remove_run()?,
        Some(folder) => {
            let folder = run.resume_from(folder.as_deref());
            let loaded = training.resume(&fabric, &folder)?;
            run.remove_results()?;
            println!("After step {}: {loaded}\n", training.steps());
        }
    }

    let interrupt = Interrupt::watch()?;
    let ended = train(&fabric, &mut training, &test, run.checkpoints(), &interrupt)?;

    println!();
    if let Ended::Interrupted(folder) = ended {
        return Ok(run.interrupted(training.steps(), &folder));
    }
    write_results(&output, &training.journal, &*training.model)?;
    println!("weights (SHA-256): {}", digest(&*training.model));
    if let Some(last) = training.journal.epochs().last() {
        println!("test accuracy: {:.4}", last.test_accuracy);
    }
    Ok(ExitCode::SUCCESS)
}
