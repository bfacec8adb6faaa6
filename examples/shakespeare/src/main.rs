//! `cargo run --release -p shakespeare`: a transformer that reads Shakespeare, and writes.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use burn_fabric::prelude::*;
use burn_fabric::{CurvesLogger, TensorBoardLogger};
use clap::Parser;
use run_common::{Ended, Output, digest, exit, parse};
use shakespeare::{
    Options, RESULTS, Sampling, ShakespeareError, Texts, Training, Transformer, Windows, check_tie,
    length, run_folder, test_loader, train,
};
use test_assets::SHAKESPEARE;

/// Train a character transformer on Shakespeare's plays and poems with burn-fabric
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
    /// [default: BURN_FABRIC_PRECISION, else f32]
    #[arg(long)]
    precision: Option<Precision>,
    /// The folder for checkpoints, curves, text and weights; created where it is missing
    #[arg(long, value_name = "DIR", default_value = "runs/shakespeare")]
    out: PathBuf,
    /// Go on from the latest checkpoint in the folder of --out, or in another run's, or from one
    /// checkpoint
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    resume: Option<Option<PathBuf>>,
}

fn main() -> ExitCode {
    exit(run(&parse()))
}

fn read(options: &Options) -> Result<Texts, ShakespeareError> {
    Ok(Texts::read(&match &options.data {
        Some(folder) => folder.clone(),
        None => SHAKESPEARE.fetched()?,
    })?)
}

fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let options = &arguments.options;
    let settings = &options.settings;
    settings.check()?;
    let texts = read(options)?;
    let prompt = texts.symbols.encode(&options.prompt)?;
    let context = settings.shape.context;
    let windows = Windows::of(&texts.train, context, "to learn from")?;
    let held_out = Windows::of(&texts.held_out, context, "held out")?.spread(options.test_windows);
    let output = Output::create(&arguments.out)?;
    let mut builder = Fabric::builder()
        .seed(options.seed)
        .accumulate(settings.accumulate as usize)
        .clip(Clip::Norm(settings.clip_norm));
    if let Some(device) = &arguments.device {
        builder = builder.accelerator(device.clone());
    }
    if let Some(precision) = arguments.precision {
        builder = builder.precision(precision);
    }
    let fabric = builder.build()?;
    println!("Settings:\n{fabric}\n{settings}\n");
    let names: Vec<&str> = texts
        .held_out
        .iter()
        .map(|text| text.name.as_str())
        .collect();
    println!(
        "{} texts to learn from, of {} characters; held out: {}, of {}; {} symbols\n",
        texts.train.len(),
        length(&texts.train),
        names.join(", "),
        length(&texts.held_out),
        texts.symbols.count(),
    );

    // Built on the meta device: everything is known of the model, and nothing of it exists.
    let start = Instant::now();
    let symbols = texts.symbols.count();
    let model = fabric.init_module(|device| Transformer::new(symbols, &settings.shape, device))?;
    let (time, summary) = (start.elapsed(), model.summary());
    let allocated = summary.allocated_bytes();
    println!(
        "A model on the meta device, in {time:.1?}, {allocated} bytes allocated:\n{summary}\n"
    );

    let model = fabric.setup(model)?;
    let workers = usize::from(options.workers);
    let mut training = Training::new(&fabric, model, windows, settings.clone(), workers)?;
    let test = test_loader(&fabric, held_out)?;
    let mut loggers = Loggers::new()
        .with(CsvLogger::at(arguments.out.join("metrics.csv")))
        .with(CurvesLogger::at(arguments.out.join("curves")))
        .with(TensorBoardLogger::at(arguments.out.join("tensorboard")));
    let run = run_folder(&arguments.out);
    match &arguments.resume {
        None => {
            run.remove_run()?;
            loggers.resume_at(0);
        }
        Some(folder) => {
            let folder = run.resume_from(folder.as_deref());
            let loaded = training.resume(&fabric, &folder)?;
            run.remove_results()?;
            println!("After step {}: {loaded}\n", training.steps());
            loggers.resume_at(u64::from(training.steps()) + 1);
        }
    }

    let interrupt = Interrupt::watch()?;
    fabric.log_settings(&mut loggers, settings);
    let ended = train(
        &fabric,
        &mut training,
        &test,
        run.checkpoints(),
        &interrupt,
        &mut loggers,
    )?;

    println!();
    if let Ended::Interrupted(folder) = ended {
        return Ok(run.interrupted(u64::from(training.steps()), &folder));
    }

    if let Some(reason) = training.callbacks.stop_reason() {
        println!("ended early, after step {}: {reason}\n", training.steps());
    }

    let sampling = Sampling {
        prompt,
        characters: options.sample,
        temperature: options.temperature,
        seed: options.seed,
    };
    let text = fabric.evaluate(&training.model, |model, device| {
        sampling.draw(model, &texts.symbols, context, device)
    })?;
    if training.journal.left_out() > 0 {
        println!(
            "{} steps left out: their gradients were not finite\n",
            training.journal.left_out()
        );
    }
    println!("Made up, {} characters:\n{text}\n", options.sample);
    check_tie(&training.model)?;
    println!("tie: embedding.weight and head.weight are one tensor");
    let [sample, weights] = RESULTS;
    output.file(sample, |path| Ok(std::fs::write(path, &text)?))?;
    output.file(weights, |path| {
        let options = SaveOptions::new().overwrite(true);
        Ok(training.model.save(path, &options).map(|_| ())?)
    })?;
    println!(
        "{sample} and {weights} are in {}",
        output.folder().display()
    );
    println!("weights (SHA-256): {}", digest(&*training.model));
    if let Some(last) = training.journal.tests().last() {
        println!("test loss: {:.4} nats a character", last.test_loss);
    }
    Ok(ExitCode::SUCCESS)
}
