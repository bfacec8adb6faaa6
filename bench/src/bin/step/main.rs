//! What a training step through a Fabric costs beside the same loop in plain Burn: time, and memory
//! at its peak. Both end with the same bits, or the benchmark fails.

mod transformer;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use burn::optim::{AdamWConfig, GradientsAccumulator, GradientsParams};
use burn::tensor::{Device, Tensor, TensorData};
use burn_fabric::burn_materialize::{Pass, Site, Slot, traverse};
use burn_fabric::prelude::*;
use burn_fabric_bench::pairs::Pairs;
use burn_fabric_bench::timed;
use digits::Mlp;
use digits_common::{Batch, Samples};
use peak_alloc::PeakAlloc;
use serde::Serialize;

use crate::transformer::{Transformer, tokens};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The shorter a run, the more pairs: the medians of many say more than a few long ones.
const DIGITS_PAIRS: usize = 101;
const TRANSFORMER_PAIRS: usize = 61;
const ACCUMULATED_PAIRS: usize = 25;
const RATE: f64 = 1e-3;
/// Batches of 32 of the digits, once through them.
const DIGITS_STEPS: usize = 45;
const TRANSFORMER_STEPS: usize = 1;
const SEQUENCES: usize = 4;
const MICRO_BATCHES: usize = 4;

/// How many times as long as plain Burn a step may take.
const TRANSFORMER: f64 = 1.01;
const DIGITS: f64 = 1.05;
/// Or how many microseconds longer, whichever is more.
const DIGITS_US: f64 = 50.0;
const ACCUMULATED: f64 = 1.05;
/// How many times the memory of plain Burn a step may take at its peak.
const MEMORY_RATIO: f64 = 1.01;

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    digits_overhead: f64,
    digits_interval: [f64; 2],
    transformer_overhead: f64,
    interval: [f64; 2],
    us_per_step_extra: f64,
    accumulation_clipping_overhead: f64,
    accumulation_clipping_interval: [f64; 2],
    peak_memory_ratio: f64,
}

fn main() -> Result<ExitCode> {
    let fabric = Fabric::builder()
        .environment([("", ""); 0])
        .seed(1)
        .build()?;
    let digits = digits(&fabric)?;
    let transformer = transformer(&fabric)?;
    let accumulated = accumulated(&fabric)?;
    let peak_memory_ratio = peak_memory(&fabric)?;

    let us_per_step_extra = digits.extra_us() / DIGITS_STEPS as f64;
    println!("workload             Fabric ms/step  times plain Burn (95 % interval)");
    for (name, pairs, steps) in [
        ("digits", &digits, DIGITS_STEPS),
        ("transformer", &transformer, TRANSFORMER_STEPS),
        ("accumulated, clipped", &accumulated, 1),
    ] {
        let ([low, high], ms) = (pairs.interval(), pairs.ours_ms() / steps as f64);
        println!(
            "{name:20} {ms:>14.3}  {:.4} ({low:.4} to {high:.4})",
            pairs.ratio()
        );
    }
    let report = Report {
        bench: "step",
        digits_overhead: digits.ratio(),
        digits_interval: digits.interval(),
        transformer_overhead: transformer.ratio(),
        interval: transformer.interval(),
        us_per_step_extra,
        accumulation_clipping_overhead: accumulated.ratio(),
        accumulation_clipping_interval: accumulated.interval(),
        peak_memory_ratio,
    };
    let goals = [
        (
            report.digits_overhead <= DIGITS || us_per_step_extra <= DIGITS_US,
            "digits: at most 1.05 times plain Burn, or 50 microseconds a step",
        ),
        (
            report.transformer_overhead <= TRANSFORMER,
            "transformer: at most 1.01 times plain Burn",
        ),
        (
            report.accumulation_clipping_overhead <= ACCUMULATED,
            "accumulation and clipping: at most 1.05 times plain Burn",
        ),
        (
            peak_memory_ratio <= MEMORY_RATIO,
            "memory: at most 1.01 times plain Burn",
        ),
    ];
    for (_, goal) in goals.iter().filter(|(reached, _)| !reached) {
        eprintln!("missed: {goal}");
    }
    println!("{}", serde_json::to_string(&report)?);
    Ok(match goals.iter().all(|(reached, _)| *reached) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// A module that was set up, and a plain one with the same weights in memory of its own.
fn both<M: Materialize>(
    fabric: &Fabric,
    new: impl FnOnce(&Device) -> M,
) -> Result<(FabricModule<M>, M)> {
    let meta = fabric.init_module(new)?;
    Ok((fabric.setup(&meta)?, fabric.setup(&meta)?.into_inner()?))
}

/// The examples' loop, on batches that are there already.
fn digits(fabric: &Fabric) -> Result<Pairs> {
    let samples = Samples::load()?;
    let device = fabric.device();
    let batches: Vec<Batch> = samples
        .batches(32, 0, 0, device)
        .take(DIGITS_STEPS)
        .collect();
    let loss = |model: &Mlp, step: usize| model.loss(batches[step].clone());
    pairs(
        fabric,
        ("digits", DIGITS_PAIRS),
        Mlp::new,
        loss,
        DIGITS_STEPS,
    )
}

fn transformer(fabric: &Fabric) -> Result<Pairs> {
    let batches = token_batches(fabric, TRANSFORMER_STEPS);
    let loss = |model: &Transformer, step: usize| model.loss(batches[step].clone());
    pairs(
        fabric,
        ("transformer", TRANSFORMER_PAIRS),
        Transformer::new,
        loss,
        TRANSFORMER_STEPS,
    )
}

fn token_batches(fabric: &Fabric, count: usize) -> Vec<Tensor<2, burn::tensor::Int>> {
    let batches = 0..count;
    batches
        .map(|step| tokens(step, SEQUENCES, fabric.device()))
        .collect()
}

/// `steps` steps with nothing extra on, against the same in plain Burn.
fn pairs<M: Materialize>(
    fabric: &Fabric,
    (name, count): (&str, usize),
    new: impl FnOnce(&Device) -> M,
    loss: impl Fn(&M, usize) -> Tensor<1>,
    steps: usize,
) -> Result<Pairs> {
    let (mut model, plain) = both(fabric, new)?;
    let mut optimizer = fabric.setup_optimizer(&model, AdamWConfig::new())?;
    let mut plain_optimizer = AdamWConfig::new().init();
    let mut plain = Some(plain);
    let mut failed = None;
    let ours = || {
        let mut train = || -> Result<(), FabricError> {
            for step in 0..steps {
                let loss = loss(&model, step);
                let gradients = fabric.backward(loss, &model)?;
                optimizer.step(RATE, &mut model, gradients)?;
            }
            Ok(())
        };
        let (result, time) = timed(&mut train);
        failed = failed.take().or(result.err());
        time
    };
    let theirs = || {
        timed(|| {
            for step in 0..steps {
                plain = plain.take().map(|plain| {
                    let loss = loss(&plain, step);
                    let gradients = GradientsParams::from_grads(loss.backward(), &plain);
                    plain_optimizer.step(RATE, plain, gradients)
                });
            }
        })
        .1
    };
    let pairs = Pairs::measure(name, count, ours, theirs);
    if let Some(error) = failed {
        return Err(error.into());
    }
    if let Some(plain) = &plain {
        same_bits(model.module()?, plain)?;
    }
    Ok(pairs)
}

/// One step from several micro-batches, clipped by the global norm, against Burn's accumulator,
/// which sums and does not clip.
fn accumulated(fabric: &Fabric) -> Result<Pairs> {
    let batches = token_batches(fabric, MICRO_BATCHES);
    let (mut model, plain) = both(fabric, Transformer::new)?;
    let mut optimizer = fabric.setup_optimizer(&model, AdamWConfig::new())?;
    let mut plain_optimizer = AdamWConfig::new().init();
    let mut plain = Some(plain);
    let mut failed = None;
    let ours = || {
        let mut train = || -> Result<(), FabricError> {
            let mut accumulation = fabric.accumulate(MICRO_BATCHES)?;
            for (batch, place) in accumulation.groups(&batches) {
                let gradients = fabric.backward(model.loss(batch.clone()), &model)?;
                if let Some(mut gradients) = accumulation.add(place, &model, gradients)? {
                    // So low that every gradient is scaled.
                    fabric.clip_gradients(&model, &mut gradients, Clip::Norm(1e-3))?;
                    optimizer.step(RATE, &mut model, gradients)?;
                }
            }
            Ok(())
        };
        let (result, time) = timed(&mut train);
        failed = failed.take().or(result.err());
        time
    };
    let theirs = || {
        timed(|| {
            plain = plain.take().map(|plain| {
                let mut accumulator = GradientsAccumulator::new();
                for batch in &batches {
                    let loss = plain.loss(batch.clone());
                    let gradients = GradientsParams::from_grads(loss.backward(), &plain);
                    accumulator.accumulate(&plain, gradients);
                }
                plain_optimizer.step(RATE, plain, accumulator.grads())
            });
        })
        .1
    };
    let pairs = Pairs::measure("accumulated, clipped", ACCUMULATED_PAIRS, ours, theirs);
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(pairs),
    }
}

/// Peak memory of a step of the transformer, ours by plain Burn's. The first step, which allocates
/// the optimizer's state, does not count.
fn peak_memory(fabric: &Fabric) -> Result<f64> {
    let batches = token_batches(fabric, 2);
    let meta = fabric.init_module(Transformer::new)?;
    let ours = {
        let mut model = fabric.setup(&meta)?;
        let mut optimizer = fabric.setup_optimizer(&model, AdamWConfig::new())?;
        for batch in &batches {
            MEMORY.reset_peak_usage();
            let gradients = fabric.backward(model.loss(batch.clone()), &model)?;
            optimizer.step(RATE, &mut model, gradients)?;
        }
        MEMORY.peak_usage_as_mb()
    };
    let theirs = {
        let mut model = fabric.setup(&meta)?.into_inner()?;
        let mut optimizer = AdamWConfig::new().init();
        for batch in &batches {
            MEMORY.reset_peak_usage();
            let loss = model.loss(batch.clone());
            let gradients = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(RATE, model, gradients);
        }
        MEMORY.peak_usage_as_mb()
    };
    println!("peak of a step: {ours:.1} MiB, in plain Burn {theirs:.1} MiB");
    Ok(f64::from(ours) / f64::from(theirs))
}

fn same_bits<M: Materialize>(ours: &M, theirs: &M) -> Result<()> {
    struct Bits(Vec<(String, Option<TensorData>)>);
    impl Pass for Bits {
        fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
            let data = burn_meta::read(slot.tensor());
            self.0.push((site.path().to_owned(), data.ok()));
        }
    }
    let bits = |module: &M| {
        let mut bits = Bits(Vec::new());
        traverse(module.clone(), &mut bits);
        bits.0
    };
    for ((path, ours), (_, theirs)) in bits(ours).into_iter().zip(bits(theirs)) {
        ensure!(
            ours.is_some() && ours == theirs,
            "`{path}` is not the same bits"
        );
    }
    Ok(())
}
