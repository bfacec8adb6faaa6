//! What it costs to go through Fashion-MNIST in batches, with workers and without: our loader, whose
//! order is the same with any number of them, against Burn's. One dataset, one batcher, one epoch.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use burn::data::dataloader::DataLoaderBuilder;
use burn::data::dataset::Dataset;
use burn_fabric::prelude::*;
use burn_fabric_bench::pairs::Pairs;
use burn_fabric_bench::timed;
use fashion_common::{Batch, Normalised, SIDE, Samples};
use serde::Serialize;
use test_assets::FASHION;

const BATCH: usize = 64;
const PAIRS: usize = 41;
/// The last line is of what the examples take.
const WORKERS: [usize; 3] = [0, 4, 2];
const SEED: u64 = 1;
/// How many times as long as Burn's an epoch of ours may take.
const RATIO: f64 = 1.05;

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    workers: usize,
    ours_ms: f64,
    burn_ms: f64,
    ratio: f64,
    interval: [f64; 2],
}

fn main() -> Result<ExitCode> {
    let fabric = Fabric::builder()
        .environment([("", ""); 0])
        .accelerator(Accelerator::Flex)
        .seed(SEED)
        .build()?;
    let samples = Samples::read(&FASHION.fetched()?, "train", None)?;
    let mut passed = true;
    for workers in WORKERS {
        let pairs = epochs(&fabric, &samples, workers)?;
        let report = Report {
            bench: "data",
            workers,
            ours_ms: pairs.ours_ms(),
            burn_ms: pairs.theirs_ms(),
            ratio: pairs.ratio(),
            interval: pairs.interval(),
        };
        if report.ratio > RATIO {
            eprintln!("data missed with {workers} workers: at most {RATIO} times Burn's loader");
            passed = false;
        }
        println!("{}", serde_json::to_string(&report)?);
    }
    Ok(match passed {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Epochs of ours and of Burn's, each from the first batch asked for to the last one dropped.
fn epochs(fabric: &Fabric, samples: &Samples, workers: usize) -> Result<Pairs> {
    let ours = LoaderOverDataset::new(samples.clone(), Normalised)
        .batch_size(BATCH)
        .shuffle()
        .workers(workers);
    let ours = fabric.setup_dataloader(ours)?;
    let burn = DataLoaderBuilder::new(Normalised)
        .batch_size(BATCH)
        .shuffle(SEED)
        .num_workers(workers)
        .set_device(fabric.device().clone())
        .build(samples.clone());
    let (mut our_items, mut burn_items) = (Ok(0), Ok(0));
    let pairs = Pairs::measure(
        &format!("{workers} workers"),
        PAIRS,
        || {
            let (items, time) = timed(|| count(ours.iter()));
            our_items = items;
            time
        },
        || {
            let (items, time) = timed(|| count(burn.iter()));
            burn_items = items;
            time
        },
    );
    let (ours, burn) = (our_items?, burn_items?);
    let items = samples.len();
    ensure!(
        ours == items && burn == items,
        "{ours} items of ours and {burn} of Burn's, of {items}"
    );
    Ok(pairs)
}

/// Take every batch; how many items they have.
fn count<E>(batches: impl Iterator<Item = Result<Batch, E>>) -> Result<usize>
where
    anyhow::Error: From<E>,
{
    let mut items = 0;
    for batch in batches {
        let Batch { images, labels } = batch?;
        let [count, channels, rows, columns] = images.dims();
        ensure!([channels, rows, columns] == [1, SIDE, SIDE] && labels.dims() == [count]);
        items += count;
    }
    Ok(items)
}
