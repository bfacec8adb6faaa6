//! `cargo run --release -p llama-plan`: what Llama 3 takes, before a byte of it exists.

use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use burn::tensor::Tensor;
use burn_fabric::prelude::*;
use clap::Parser;
use llama_plan::{Llama, Options, Products, Tried};
use run_common::{exit, parse};

/// Plan what Llama 3 takes to run and to train, before a byte of it exists
#[derive(Debug, Parser)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    exit(run(&parse()))
}

/// How long the tiny model is trained.
const STEPS: usize = 100;

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let options = &arguments.options;
    if options.tiny {
        let mut builder = Fabric::builder().seed(0).precision(Precision::F32);
        if let Some(device) = &options.device {
            builder = builder.accelerator(device.clone());
        }
        println!("{}", Tried::new(&builder.build()?, STEPS)?);
        return Ok(());
    }
    let (shape, batch, length) = (options.size.shape(), options.batch, options.sequence);
    let t = Instant::now();
    let meta = Meta::build(|device| Llama::new(&shape, length, device))?;
    eprintln!("build {:?}", t.elapsed());
    let t = Instant::now();
    let trace =
        meta.trace(|model: &Llama, device| model.forward(Tensor::zeros([batch, length], device)))?;
    eprintln!("trace {:?} {}", t.elapsed(), trace.operations().len());
    println!("{}", Products::of(&trace, &shape, batch, length));
    drop(trace);
    hwm();
    for _ in 0..3 {
        let t = Instant::now();
        let trace = meta.trace_training(|model: &Llama, device| {
            let tokens = Tensor::zeros([batch, length], device);
            model.loss(tokens.clone(), tokens)
        })?;
        eprintln!("training {:?} {}", t.elapsed(), trace.operations().len());
        println!("{:?} {:?}", trace.memory.peak, trace.memory.kept);
        hwm();
    }
    Ok(())
}
fn hwm() {
    eprintln!(
        "{:?}",
        std::fs::read_to_string("/proc/self/status")
            .unwrap()
            .lines()
            .find(|l| l.starts_with("VmHWM"))
    );
}
