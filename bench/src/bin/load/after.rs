//! What a view of a file costs later: the first forward, and the first training step, which copies
//! what it changes.

use anyhow::Result;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Tensor};
use burn_fabric::prelude::*;
use burn_fabric_bench::layers::{Layers, WIDTH};
use burn_fabric_bench::timed;
use burn_materialize::Meta;
use serde_json::{Value, json};

use crate::source::Source;
use crate::turns::{Medians, Torch, in_turn};

const BATCH: usize = 8;
const RATE: f64 = 1e-3;

/// The times of a run: the load with the first use, the first use, the second.
pub type Uses = Medians<3>;

/// Forward twice.
pub fn forward(source: &Source<'_>, torch: &mut Torch) -> Result<Uses> {
    let device = Device::flex();
    let forward = |layers: &Layers| {
        let input = Tensor::ones([BATCH, WIDTH], &device);
        timed(|| layers.forward(input)).1.as_secs_f64() * 1e3
    };
    let uses = |(layers, load): (Result<Layers>, f64)| {
        let layers = layers?;
        let (first, again) = (forward(&layers), forward(&layers));
        Ok([load + first, first, again])
    };
    in_turn(
        || {
            let meta = Meta::build_for(&device, Layers::new)?;
            uses(timed_ms(|| source.ours(&meta, &device)))
        },
        || {
            let lazy = Layers::new(&device);
            uses(timed_ms(|| source.burn(lazy)))
        },
        || torch_uses(source, torch, &json!({"do": "forward", "batch": BATCH})),
    )
}

/// Two steps of SGD: the first moves the parameters out of the file.
pub fn step(source: &Source<'_>, torch: &mut Torch) -> Result<Uses> {
    let fabric = Fabric::builder()
        .environment([("", ""); 0])
        .accelerator(Accelerator::Flex)
        .seed(1)
        .build()?;
    let loss = |layers: &Layers| {
        let input = Tensor::ones([BATCH, WIDTH], fabric.device());
        layers.forward(input).mean()
    };
    let ours = || {
        let meta = fabric.init_module(Layers::new)?;
        let (model, load) = timed_ms(|| anyhow::Ok(fabric.setup_with(meta, &source.weights()?)?));
        let mut model = model?;
        let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new())?;
        let mut step = || {
            let gradients = fabric.backward(loss(&model), &model)?;
            anyhow::Ok(optimizer.step(RATE, &mut model, gradients)?)
        };
        let ((first, first_ms), (again, again_ms)) = (timed_ms(&mut step), timed_ms(&mut step));
        first.and(again)?;
        Ok([load + first_ms, first_ms, again_ms])
    };
    let burn = || {
        let lazy = Layers::new(fabric.device());
        let (layers, load) = timed_ms(|| source.burn(lazy));
        let layers = layers?;
        let mut optimizer = SgdConfig::new().init();
        let mut step = |layers: Layers| {
            let gradients = GradientsParams::from_grads(loss(&layers).backward(), &layers);
            optimizer.step(RATE, layers, gradients)
        };
        let (layers, first) = timed_ms(|| step(layers));
        let (_layers, again) = timed_ms(|| step(layers));
        Ok([load + first, first, again])
    };
    let request = json!({"do": "step", "batch": BATCH});
    in_turn(ours, burn, || torch_uses(source, torch, &request))
}

fn torch_uses(source: &Source<'_>, torch: &mut Torch, usage: &Value) -> Result<Option<[f64; 3]>> {
    let load = torch.ask(source.request(None))?;
    let first = torch.ask(usage.clone())?;
    let again = torch.ask(usage.clone())?;
    torch.ask(json!({"do": "drop"}))?;
    let times = load.zip(first).zip(again);
    Ok(times.map(|((load, first), again)| [load + first, first, again]))
}

fn timed_ms<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let (result, time) = timed(work);
    (result, time.as_secs_f64() * 1e3)
}
