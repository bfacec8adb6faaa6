//! How long initial values take: 268 million parameters from the meta device to memory, and every
//! value summed; against PyTorch from its meta device, and against eager Burn.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use burn::module::{Initializer, Module};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use burn_fabric::prelude::{Accelerator, Fabric};
use burn_fabric_bench::memory::{peak_resident_bytes, reset_peak, resident_mib};
use burn_fabric_bench::peer::Peer;
use burn_fabric_bench::{median, timed};
use burn_materialize::{Materialize, Meta, ResetParameters};
use serde::Serialize;

const LAYERS: usize = 16;
const WIDTH: usize = 4096;
const PARAMETERS: usize = LAYERS * WIDTH * (WIDTH + 1);
const BYTES: f64 = (PARAMETERS * size_of::<f32>()) as f64;
const STD: f64 = 0.02;
/// Runs of each, in turn, after one that does not count.
const TURNS: usize = 7;
/// Peak resident memory over the bytes of the tensors.
const PEAK: f64 = 1.03;

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Layers {
    layers: Vec<Linear>,
}

impl Layers {
    fn new(distribution: Distribution, device: &Device) -> Self {
        let config = LinearConfig::new(WIDTH, WIDTH);
        let config = match distribution {
            Distribution::Uniform => config,
            Distribution::Normal => config.with_initializer(Initializer::Normal {
                mean: 0.0,
                std: STD,
            }),
        };
        Self {
            layers: (0..LAYERS).map(|_| config.init(device)).collect(),
        }
    }

    fn sum(&self) -> f32 {
        fn sum<const D: usize>(tensor: Tensor<D>) -> f32 {
            tensor.sum().into_scalar()
        }
        let layers = self.layers.iter();
        let sums = layers.map(|layer| {
            let bias = layer.bias.as_ref().map_or(0.0, |bias| sum(bias.val()));
            sum(layer.weight.val()) + bias
        });
        sums.sum()
    }
}

#[derive(Clone, Copy)]
enum Distribution {
    Uniform,
    Normal,
}

impl Distribution {
    fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Normal => "normal",
        }
    }

    fn bench(self) -> &'static str {
        match self {
            Self::Uniform => "init",
            Self::Normal => "init-normal",
        }
    }

    /// How many times faster than PyTorch and than eager Burn it has to be.
    fn goals(self) -> [f64; 2] {
        match self {
            Self::Uniform => [3.0, 5.0],
            Self::Normal => [2.0, 4.0],
        }
    }
}

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    threads: usize,
    torch_threads: Option<f64>,
    ours_ms: f64,
    torch_ms: Option<f64>,
    burn_ms: f64,
    vs_torch: Option<f64>,
    vs_burn: f64,
    peak_over_bytes: f64,
}

fn main() -> Result<ExitCode> {
    let mut peer = Peer::start(include_str!("peer.py"))
        .map_err(|error| eprintln!("no PyTorch to compare with: {error:#}"))
        .ok();
    for accelerator in std::env::args().skip(1) {
        time_on(&accelerator)?;
    }
    let mut passed = true;
    for distribution in [Distribution::Normal, Distribution::Uniform] {
        let report = measure(distribution, &mut peer)?;
        passed &= judge(&report, distribution);
        println!("{}", serde_json::to_string(&report)?);
    }
    Ok(match passed {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// The time of one model after another on a device, from the meta device to the sum of every value.
fn time_on(accelerator: &str) -> Result<()> {
    let accelerator: Accelerator = accelerator.parse()?;
    let fabric = Fabric::builder().accelerator(accelerator.clone()).build()?;
    let device = fabric.inference_device();
    for distribution in [Distribution::Normal, Distribution::Uniform] {
        let mut times = Vec::new();
        for turn in 0..=TURNS {
            let meta = Meta::build_for(&device, |device| Layers::new(distribution, device))?;
            let (real, to_real) = timed(|| meta.materialize(&device));
            let layers = real?;
            let (sum, to_sum) = timed(|| layers.sum());
            check(&layers, sum)?;
            if turn > 0 {
                times.push([to_real, to_sum].map(|time| time.as_secs_f64() * 1e3));
            }
        }
        let of = |part: usize| median(times.iter().map(|times| times[part]).collect());
        println!(
            "{} on {accelerator}: {:.0} ms to be real, {:.0} ms to be summed",
            distribution.bench(),
            of(0),
            of(1)
        );
    }
    Ok(())
}

fn measure(distribution: Distribution, peer: &mut Option<Peer>) -> Result<Report> {
    let device = Device::flex();
    let peak_over_bytes = peak(distribution)?;
    let (mut ours, mut torch, mut burn) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..=TURNS {
        let meta = Meta::build_for(&device, |device| Layers::new(distribution, device))?;
        let (result, our_time) = timed(|| {
            let layers = meta.materialize(&device)?;
            let sum = layers.sum();
            Ok((layers, sum))
        });
        let (layers, sum) = result.map_err(|error: burn_materialize::MaterializeError| error)?;
        check(&layers, sum)?;
        drop(layers);
        let peer_ms = peer.as_mut().map(|peer| peer.ask(distribution.name()));
        let peer_ms = peer_ms.transpose()?;
        let ((layers, sum), burn_time) = timed(|| {
            let layers = Layers::new(distribution, &device);
            let sum = layers.sum();
            (layers, sum)
        });
        check(&layers, sum)?;
        drop(layers);
        if turn > 0 {
            ours.push(our_time.as_secs_f64() * 1e3);
            torch.extend(peer_ms);
            burn.push(burn_time.as_secs_f64() * 1e3);
        }
    }
    let (ours_ms, burn_ms) = (median(ours), median(burn));
    let torch_ms = (!torch.is_empty()).then(|| median(torch));
    let torch_threads = peer.as_mut().map(|peer| peer.ask("threads")).transpose()?;
    Ok(Report {
        bench: distribution.bench(),
        threads: rayon::current_num_threads(),
        torch_threads,
        ours_ms,
        torch_ms,
        burn_ms,
        vs_torch: torch_ms.map(|torch_ms| torch_ms / ours_ms),
        vs_burn: burn_ms / ours_ms,
        peak_over_bytes,
    })
}

/// The most memory that the process occupied while a module was made real, less what it did before,
/// over the bytes of its tensors.
fn peak(distribution: Distribution) -> Result<f64> {
    let device = Device::flex();
    let meta = Meta::build_for(&device, |device| Layers::new(distribution, device))?;
    let before = resident_mib()? * f64::from(1 << 20);
    reset_peak()?;
    let layers = meta.materialize(&device)?;
    let peak = peak_resident_bytes()? - before;
    drop(layers);
    Ok(peak / BYTES)
}

/// That values were really drawn: their sum is near zero for so many, and not zero.
fn check(layers: &Layers, sum: f32) -> Result<()> {
    ensure!(layers.num_params() == PARAMETERS, "parameters are missing");
    // The standard deviation of the sum is at most 0.02 * sqrt(2.7e8), 330.
    ensure!(sum != 0.0 && sum.abs() < 3_000.0, "the values sum to {sum}");
    Ok(())
}

fn judge(report: &Report, distribution: Distribution) -> bool {
    let [torch, burn] = distribution.goals();
    let goals = [
        (
            report.vs_torch.is_none_or(|ratio| ratio >= torch),
            format!("at least {torch} times faster than PyTorch"),
        ),
        (
            report.vs_burn >= burn,
            format!("at least {burn} times faster than eager Burn"),
        ),
        (
            report.peak_over_bytes <= PEAK,
            format!("at most {PEAK} times the bytes of the tensors at the peak"),
        ),
    ];
    for (holds, goal) in &goals {
        if !holds {
            eprintln!("{} missed: {goal}", report.bench);
        }
    }
    goals.iter().all(|(holds, _)| *holds)
}
