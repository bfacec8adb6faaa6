//! How long it takes to build 70.55 billion parameters on the meta device, against PyTorch's; and
//! what was recorded is enough to make two of the layers real.

mod llama;

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use burn::tensor::Device;
use burn_fabric_bench::memory::resident_mib;
use burn_fabric_bench::peer::Peer;
use burn_fabric_bench::{median, timed};
use burn_materialize::Meta;
use serde::Serialize;

use crate::llama::{LAYERS, Layer, Llama, PARAMETERS};

const TURNS: usize = 5;
const WARM_UP: usize = 2;
const BUILDS: usize = 5;
/// How many times faster than the peer it has to be.
const RATIO: f64 = 50.0;
/// How much memory a held module may take.
const GROWTH_MIB: f64 = 32.0;

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    params: usize,
    recipes: usize,
    ours_ms: f64,
    peer: Option<&'static str>,
    peer_ms: Option<f64>,
    ratio: Option<f64>,
    rss_growth_mib: f64,
}

fn main() -> Result<ExitCode> {
    // The very first build of the process, so that everything it sets up counts.
    let before = resident_mib()?;
    let meta = Meta::build(Llama::new)?;
    let rss_growth_mib = resident_mib()? - before;
    check_recording(&meta)?;

    let peer = start_peer()
        .map_err(|error| eprintln!("no peer to compare with: {error:#}"))
        .ok();
    let (ours_ms, peer_ms) = measure(peer)?;
    for layer in [0, LAYERS - 1] {
        check_layer(&materialize_layer(&meta, layer)?).with_context(|| format!("layer {layer}"))?;
        println!(
            "layer {layer} was made real, and holds what a linear layer and a norm start with"
        );
    }

    let ratio = peer_ms.map(|peer_ms| peer_ms / ours_ms);
    let report = Report {
        bench: "meta-build",
        params: meta.summary().parameters(),
        recipes: meta.recipes().len(),
        ours_ms,
        peer: peer_ms.map(|_| "torch-2.9-meta"),
        peer_ms,
        ratio,
        rss_growth_mib,
    };
    let fast = ratio.is_none_or(|ratio| ratio >= RATIO);
    let small = rss_growth_mib < GROWTH_MIB;
    if !fast {
        eprintln!("missed: at least {RATIO} times faster than the peer");
    }
    if !small {
        eprintln!("missed: less than {GROWTH_MIB} MiB of memory");
    }
    println!("{}", serde_json::to_string(&report)?);
    Ok(match fast && small {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn check_recording(meta: &Meta<Llama>) -> Result<()> {
    let parameters = meta.summary().parameters();
    ensure!(
        parameters == PARAMETERS,
        "{parameters} parameters, expected {PARAMETERS}"
    );
    let inventory = meta.inventory();
    let recipes = meta.recipes();
    ensure!(
        recipes.len() == inventory.len(),
        "as many recipes as tensors"
    );
    for entry in &inventory {
        let kind = recipes.kind(&entry.path);
        kind.with_context(|| format!("`{}` has no recipe", entry.path))??;
    }
    Ok(())
}

fn start_peer() -> Result<Peer> {
    let mut peer = Peer::start(include_str!("peer.py"))?;
    let parameters = peer.ask("parameters")?;
    ensure!(
        parameters == PARAMETERS as f64,
        "the peer builds {parameters} parameters"
    );
    Ok(peer)
}

/// Medians in milliseconds, ours and the peer's. They take turns, since the machine may be slower at
/// one time than at another; each turn begins with builds that do not count, since the other's have
/// emptied the caches.
fn measure(mut peer: Option<Peer>) -> Result<(f64, Option<f64>)> {
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    for _ in 0..TURNS {
        for build in 0..WARM_UP + BUILDS {
            let (meta, time) = timed(|| Meta::build(Llama::new));
            drop(meta?);
            if build >= WARM_UP {
                ours.push(time.as_secs_f64() * 1e3);
            }
        }
        let Some(peer) = &mut peer else { continue };
        for build in 0..WARM_UP + BUILDS {
            let milliseconds = peer.ask("build")?;
            if build >= WARM_UP {
                theirs.push(milliseconds);
            }
        }
    }
    Ok((median(ours), (!theirs.is_empty()).then(|| median(theirs))))
}

/// One layer, real, out of the recorded module; everything else stays as it is.
fn materialize_layer(meta: &Meta<Llama>, layer: usize) -> Result<Layer> {
    let device = Device::flex();
    let path = format!("layers.{layer}.");
    let partial = meta.materialize_where(&device, |tensor| tensor.starts_with(&path))?;
    let bytes = partial.summary().allocated_bytes();
    let layer = partial.map(|mut llama, _| llama.layers.swap_remove(layer))?;
    ensure!(
        layer.summary().bytes() == bytes,
        "more than the layer was allocated"
    );
    Ok(layer.materialize(&device)?)
}

fn check_layer(layer: &Layer) -> Result<()> {
    for norm in layer.norms() {
        let gamma = norm.gamma.val().into_data();
        ensure!(
            gamma.as_slice::<f32>()?.iter().all(|&gamma| gamma == 1.0),
            "gamma is not one"
        );
    }
    for linear in layer.linears() {
        let [d_input, _] = linear.weight.dims();
        let data = linear.weight.val().into_data();
        check_uniform(data.as_slice()?, 1.0 / (d_input as f64).sqrt())?;
    }
    Ok(())
}

/// Whether values look drawn uniformly between `-bound` and `bound`.
fn check_uniform(values: &[f32], bound: f64) -> Result<()> {
    // Comparisons with NaN are false.
    let limit = (bound * (1.0 + 1e-6)) as f32;
    ensure!(
        values.iter().all(|value| value.abs() <= limit),
        "a value is beyond {bound}, or NaN"
    );
    let largest = values
        .iter()
        .fold(0.0_f32, |largest, value| largest.max(value.abs()));
    ensure!(
        f64::from(largest) > 0.999 * bound,
        "no value comes near {bound}"
    );
    let mean = values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64;
    ensure!(
        mean.abs() < 0.001 * bound,
        "the mean is {mean}, far from the middle"
    );
    Ok(())
}
