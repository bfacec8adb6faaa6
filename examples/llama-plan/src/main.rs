//! `cargo run --release -p llama-plan`: what Llama 3 takes, before a byte of it exists.

use std::error::Error;
use std::process::ExitCode;

use burn_fabric::prelude::*;
use clap::Parser;
use llama_plan::{Options, Report, Tried, Watch};
use run_common::{Output, exit, parse};

/// Plan what Llama 3 takes to run and to train with AdamW, before a byte of it exists
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

/// How long the tiny model is trained.
const STEPS: usize = 100;

fn main() -> ExitCode {
    exit(run(&parse()))
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let watch = Watch::start();
    let options = &arguments.options;
    if options.tiny {
        let mut builder = Fabric::builder().seed(0).precision(Precision::F32);
        if let Some(device) = &options.device {
            builder = builder.accelerator(device.clone());
        }
        println!("{}", Tried::new(&builder.build()?, STEPS)?);
        return Ok(());
    }
    let folder = options.pictures.as_deref();
    let pictures = folder.map(Output::create).transpose()?;
    let report = Report::new(options)?;
    match options.json {
        true => println!("{}", serde_json::to_string_pretty(&report)?),
        false => println!("{report}\nplanned {}", watch.taken()),
    }
    if let Some(pictures) = pictures {
        report.draw(&pictures)?;
    }
    Ok(())
}
