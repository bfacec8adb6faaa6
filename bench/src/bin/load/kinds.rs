//! Loading into memory, from each kind of file, with everything read that was loaded.

use anyhow::{Result, ensure};
use burn::tensor::Device;
use burn_fabric_bench::layers::{BYTES, Layers};
use burn_fabric_bench::memory::{peak_resident_bytes, reset_peak, resident_mib};
use burn_fabric_bench::timed;
use burn_materialize::Meta;
use serde_json::json;

use crate::source::{Reading, Source};
use crate::turns::{Medians, Torch, in_turn};

/// From a module without memory to all of it read, each in turn.
pub fn measure(source: &Source<'_>, reading: Reading, torch: &mut Torch) -> Result<Medians<1>> {
    in_turn(
        || ours(source, reading).map(|ms| [ms]),
        || burn(source, reading).map(|ms| [ms]),
        || {
            if !source.is_pytorch() {
                return Ok(None);
            }
            let ms = torch.ask(source.request(Some(reading)))?;
            torch.ask(json!({"do": "drop"}))?;
            Ok(ms.map(|ms| [ms]))
        },
    )
}

/// One load of ours, in milliseconds.
fn ours(source: &Source<'_>, reading: Reading) -> Result<f64> {
    let device = Device::flex();
    let meta = Meta::build_for(&device, Layers::new)?;
    let load = || {
        let layers = source.ours(&meta, &device)?;
        let sum = read(&layers, reading)?;
        anyhow::Ok((layers, sum))
    };
    let (result, time) = timed(load);
    let (layers, sum) = result?;
    check(&layers, sum, source.our_sum(reading))?;
    Ok(time.as_secs_f64() * 1e3)
}

/// One of burn-store's.
fn burn(source: &Source<'_>, reading: Reading) -> Result<f64> {
    let lazy = Layers::new(&Device::flex());
    let load = || {
        let layers = source.burn(lazy)?;
        let sum = read(&layers, reading)?;
        anyhow::Ok((layers, sum))
    };
    let (result, time) = timed(load);
    let (layers, sum) = result?;
    check(&layers, sum, source.burn_sum(reading))?;
    Ok(time.as_secs_f64() * 1e3)
}

fn read(layers: &Layers, reading: Reading) -> Result<f64> {
    match reading {
        Reading::Pages => layers.pages(),
        Reading::All => Ok(layers.sum()),
    }
}

/// That every value is there: sums of them are exact.
pub fn check(layers: &Layers, sum: f64, expected: f64) -> Result<()> {
    ensure!(sum == expected, "the values sum to {sum}, not {expected}");
    let layer = layers.layers.first();
    ensure!(layer.is_some_and(|layer| layer.bias.is_some()));
    Ok(())
}

/// The most memory that was resident during a load of ours and of burn-store's, less what was
/// before, over the bytes of the tensors.
pub fn peaks(source: &Source<'_>) -> Result<[f64; 2]> {
    let over_bytes = |load: &dyn Fn(&Source<'_>, Reading) -> Result<f64>| {
        let before = resident_mib()? * f64::from(1 << 20);
        reset_peak()?;
        load(source, Reading::Pages)?;
        anyhow::Ok((peak_resident_bytes()? - before) / BYTES as f64)
    };
    Ok([over_bytes(&ours)?, over_bytes(&burn)?])
}
