//! `cargo run --release -p fashion`: a training that can be interrupted and resumed.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use burn_fabric::prelude::*;
use clap::Parser;
use digits_common::{Output, digest, parse};
use fashion::{
    Cnn, Ended, Training, checkpoints, remove_results, remove_run, resume_from, test_loader, train,
};
use fashion_common::{Options, write_results};

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
    match run(&parse()) {
        Ok(code) => code,
        Err(error) => {
            // In one line: what lists several problems has one a line.
            let text = error.to_string();
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            eprintln!("error: {}", lines.join(" "));
            ExitCode::FAILURE
        }
    }
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
    match &arguments.resume {
        None => remove_run(&arguments.out)?,
        Some(folder) => {
            let folder = folder.as_ref().unwrap_or(&arguments.out);
            let loaded = training.resume(&fabric, &resume_from(folder))?;
            remove_results(&arguments.out)?;
            println!("After step {}: {loaded}\n", training.steps());
        }
    }

    let checkpoints = checkpoints(&arguments.out);
    let interrupt = Interrupt::watch()?;
    let ended = train(&fabric, &mut training, &test, &checkpoints, &interrupt)?;

    println!();
    if let Ended::Interrupted(folder) = ended {
        let (step, folder) = (training.steps(), folder.display());
        println!("interrupted after step {step}, and saved in {folder}");
        println!(
            "to go on: the same command with --resume {}",
            arguments.out.display()
        );
        return Ok(Interrupt::EXIT_CODE.into());
    }
    write_results(&output, &training.journal, &*training.model)?;
    println!("weights (SHA-256): {}", digest(&*training.model));
    if let Some(last) = training.journal.epochs().last() {
        println!("test accuracy: {:.4}", last.test_accuracy);
    }
    Ok(ExitCode::SUCCESS)
}
