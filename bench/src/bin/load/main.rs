//! How long it takes to load 16 linear layers of 4096 by 4096: from the meta device to memory, from
//! a safetensors file in PyTorch's layout that is in the page cache, and the first value of every
//! page read, so that a map does not win by not loading. Against burn-store and PyTorch.

mod after;
mod devices;
mod files;
mod kinds;
mod saving;
mod source;
mod turns;

use std::process::ExitCode;

use anyhow::Result;
use burn_materialize::Layout;

use crate::files::Files;
use crate::source::{Reading, Source};
use crate::turns::{Row, Torch};

/// How many times faster than burn-store every kind of load has to be, and the one that is named
/// last.
const EACH_VS_BURN: f64 = 3.0;
const VS_BURN: f64 = 30.0;
const VS_TORCH: f64 = 1.0;
/// Peak resident memory over the bytes of the tensors.
const PEAK: f64 = 1.05;

fn main() -> Result<ExitCode> {
    let mut torch = Torch::start();
    let files = Files::make()?;
    let mut passed = true;
    for accelerator in std::env::args().skip(1).filter(|device| device != "flex") {
        passed &= on_device(&files, &accelerator, &mut torch)?;
    }
    passed &= saving(&files, &mut torch)?;
    passed &= after(&files, &mut torch)?;
    passed &= kinds(&files, &mut torch)?;
    passed &= load(&files, &mut torch)?;
    Ok(match passed {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn on_device(files: &Files, accelerator: &str, torch: &mut Torch) -> Result<bool> {
    let medians = devices::measure(&Source::pytorch(files), accelerator)?;
    let row = Row::new(format!("load-{accelerator}"), &medians, torch)?;
    let row = row.with_each("sum", &medians, |[_, sum]| *sum);
    row.at_least_times_burn(EACH_VS_BURN).print()
}

fn saving(files: &Files, torch: &mut Torch) -> Result<bool> {
    for (name, layout) in [
        ("load-saving", Layout::PyTorch),
        ("load-saving-burn-layout", Layout::Burn),
    ] {
        let medians = saving::measure(layout, files, torch)?;
        Row::new(name, &medians, torch)?.print()?;
    }
    Ok(true)
}

/// What becomes of a view when it is used.
fn after(files: &Files, torch: &mut Torch) -> Result<bool> {
    let source = Source::pytorch(files);
    for (name, uses) in [
        ("load-forward", after::forward(&source, torch)?),
        ("load-step", after::step(&source, torch)?),
    ] {
        let row = Row::new(name, &uses, torch)?
            .with_each("first", &uses, |[_, first, _]| *first)
            .with_each("again", &uses, |[_, _, again]| *again)
            .with_each("moved", &uses, |[_, first, again]| first - again);
        row.print()?;
    }
    Ok(true)
}

fn kinds(files: &Files, torch: &mut Torch) -> Result<bool> {
    let mut passed = true;
    for (name, source, reading) in [
        ("load-sums", Source::pytorch(files), Reading::All),
        ("load-copy", Source::pytorch(files).copied(), Reading::Pages),
        ("load-shards", Source::shards(files), Reading::Pages),
        (
            "load-burn-layout",
            Source::burn_layout(files),
            Reading::Pages,
        ),
    ] {
        let medians = kinds::measure(&source, reading, torch)?;
        let row = Row::new(name, &medians, torch)?;
        passed &= row.at_least_times_burn(EACH_VS_BURN).print()?;
    }
    Ok(passed)
}

/// The load that has goals of its own.
fn load(files: &Files, torch: &mut Torch) -> Result<bool> {
    let source = Source::pytorch(files);
    let [peak, burn_peak] = kinds::peaks(&source)?;
    let medians = kinds::measure(&source, Reading::Pages, torch)?;
    let row = Row::new("load", &medians, torch)?
        .with("peak_over_bytes", peak)
        .with("burn_peak_over_bytes", burn_peak)
        .at_least_times_burn(VS_BURN)
        .at_least_times_torch(VS_TORCH)
        .goal(
            peak <= PEAK,
            &format!("at most {PEAK} times the bytes of the tensors at the peak"),
        );
    row.print()
}
