//! Loading onto other devices, against burn-store.

use anyhow::Result;
use burn_fabric::prelude::{Accelerator, Fabric};
use burn_fabric_bench::layers::Layers;
use burn_fabric_bench::timed;
use burn_materialize::Meta;

use crate::kinds::check;
use crate::source::{Reading, Source};
use crate::turns::{Medians, in_turn};

/// The times of a run on a device: until the device has everything, and to sum every value there.
pub fn measure(source: &Source<'_>, accelerator: &str) -> Result<Medians<2>> {
    let accelerator: Accelerator = accelerator.parse()?;
    let fabric = Fabric::builder().accelerator(accelerator).build()?;
    let device = fabric.inference_device();
    let times = |load: &mut dyn FnMut() -> Result<Layers>| {
        let (layers, to_real) = timed(|| {
            let layers = load()?;
            device.sync()?;
            anyhow::Ok(layers)
        });
        let layers = layers?;
        let (sum, to_sum) = timed(|| layers.sum());
        check(&layers, sum, source.our_sum(Reading::All))?;
        Ok([to_real, to_sum].map(|time| time.as_secs_f64() * 1e3))
    };
    in_turn(
        || {
            let meta = Meta::build_for(&device, Layers::new)?;
            times(&mut || source.ours(&meta, &device))
        },
        || {
            let lazy = Layers::new(&device);
            times(&mut || source.burn(lazy.clone()))
        },
        || Ok(None),
    )
}
