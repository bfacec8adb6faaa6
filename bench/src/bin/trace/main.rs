//! How long it takes to build Llama 3 8B on the meta device and to trace its forward pass, with costs
//! and memory, against PyTorch's `FakeTensorMode` with `FlopCounterMode`.

use std::cell::RefCell;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, ensure};
use burn::tensor::{FloatDType, Tensor};
use burn_fabric_bench::memory::peak_resident_bytes;
use burn_fabric_bench::pairs::Pairs;
use burn_fabric_bench::peer::Peer;
use burn_fabric_bench::{median, timed};
use burn_materialize::{DefaultDTypes, Meta, Trace};
use llama_plan::text::grouped;
use llama_plan::{Llama, Products, Shape};
use serde::Serialize;

const SHAPE: Shape = Shape::B8;
const BATCH: usize = 1;
const LENGTH: usize = 8192;
const PAIRS: usize = 15;
const FORWARDS: usize = 5;
/// How many times faster than the peer it has to be.
const RATIO: f64 = 20.0;

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    ours_ms: f64,
    torch_ms: Option<f64>,
    ratio: Option<f64>,
    peak_mib: f64,
}

fn main() -> Result<ExitCode> {
    let trace = build_and_trace()?;
    let products = Products::of(&trace, &SHAPE, BATCH, LENGTH);
    println!("Llama 3 8B in bf16, {BATCH} x {LENGTH}: FLOPs of the products\n{products}");
    check(&trace, &products)?;
    drop(trace);

    let peer = start_peer(&products)
        .map_err(|error| eprintln!("no peer to compare with: {error:#}"))
        .ok();
    let report = measure(peer)?;
    let is_fast = report.ratio.is_none_or(|ratio| ratio >= RATIO);
    if !is_fast {
        eprintln!("missed: at least {RATIO} times faster than the peer");
    }
    println!("{}", serde_json::to_string(&report)?);
    Ok(match is_fast {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn build_and_trace() -> Result<Trace> {
    let bf16 = DefaultDTypes {
        float: FloatDType::BF16,
        ..DefaultDTypes::default()
    };
    let meta = Meta::build_with(bf16, |device| Llama::new(&SHAPE, LENGTH, device))?;
    Ok(meta.trace(|llama: &Llama, device| llama.forward(Tensor::zeros([BATCH, LENGTH], device)))?)
}

/// See that it is the model, and that there is a peak.
fn check(trace: &Trace, products: &Products) -> Result<()> {
    let bytes = 2 * SHAPE.parameters();
    let memory = &trace.memory;
    ensure!(
        memory.parameters == bytes,
        "{} bytes of parameters, expected {bytes}",
        memory.parameters
    );
    ensure!(memory.peak > bytes, "a pass needs more than its parameters");
    ensure!(
        products.recorded - products.of_rotary_encoding == products.by_hand,
        "without the rotary encoding it is to be the closed formula"
    );
    Ok(())
}

/// The peer, which has to count the same but for the rotary encoding, in which it has no product.
fn start_peer(products: &Products) -> Result<Peer> {
    let mut peer = Peer::start(include_str!("peer.py"))?;
    let parameters = peer.ask("parameters")?;
    ensure!(
        parameters == SHAPE.parameters() as f64,
        "the peer has {parameters} parameters"
    );
    let theirs = peer.ask("products")?;
    println!("  by PyTorch              {}", grouped(theirs as u64));
    let more = products.recorded as f64 - theirs;
    ensure!(
        (0.0..=products.of_rotary_encoding as f64).contains(&more),
        "the peer counts {theirs} FLOPs in products, and {} were recorded here",
        products.recorded
    );
    Ok(peer)
}

fn measure(peer: Option<Peer>) -> Result<Report> {
    // The first failure of either is what is told.
    let failed: RefCell<Option<anyhow::Error>> = RefCell::new(None);
    let or_zero = |time: Result<Duration>| {
        time.unwrap_or_else(|error| {
            failed.borrow_mut().get_or_insert(error);
            Duration::ZERO
        })
    };
    let ours = || {
        let (trace, time) = timed(build_and_trace);
        or_zero(trace.map(|_| time))
    };
    let (ours_ms, torch_ms, ratio) = match peer {
        Some(mut peer) => {
            let mut ask = |request| or_zero(peer.ask(request).map(milliseconds));
            let pairs = Pairs::measure("trace", PAIRS, ours, || ask("build and forward"));
            let forward = (0..FORWARDS).map(|_| ask("forward").as_secs_f64() * 1e3);
            println!(
                "PyTorch's forward alone: {:.1} ms",
                median(forward.collect())
            );
            let ratio = 1.0 / pairs.ratio();
            (pairs.ours_ms(), Some(pairs.theirs_ms()), Some(ratio))
        }
        None => {
            let times = (0..=PAIRS).map(|_| ours().as_secs_f64() * 1e3);
            // The first does not count.
            (median(times.skip(1).collect()), None, None)
        }
    };
    match failed.into_inner() {
        Some(error) => Err(error),
        None => Ok(Report {
            bench: "trace",
            ours_ms,
            torch_ms,
            ratio,
            peak_mib: peak_resident_bytes()? / f64::from(1 << 20),
        }),
    }
}

fn milliseconds(number: f64) -> Duration {
    Duration::from_secs_f64(number / 1e3)
}
