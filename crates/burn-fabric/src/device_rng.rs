//! The generator of a device, which nobody can read.

use burn::tensor::Device;

/// Seeds the generator of a device anew for each step, from the Fabric's seed and the number of the
/// step: what dropout, noise and `Tensor::random` draw in a step then follows from these two, and a
/// resume finds it again.
///
/// Burn's devices have one generator each, for the whole process, that can be seeded and not read.
/// What other threads draw meanwhile is drawn from it as well, in whatever order they come.
///
/// ```
/// use burn::tensor::{Distribution, Tensor};
/// use burn_fabric::prelude::*;
///
/// let fabric = Fabric::builder().seed(7).build()?;
/// let draw = || Tensor::<1>::random([4], Distribution::Default, fabric.device()).into_data();
/// let mut rng = fabric.device_rng();
/// rng.begin_step(); // before each forward pass
/// let first = draw();
/// rng.begin_step();
/// assert_ne!(draw(), first);
///
/// let mut again = fabric.device_rng();
/// again.begin_step();
/// assert_eq!(draw(), first);
/// # Ok::<(), FabricError>(())
/// ```
#[derive(Debug)]
pub struct DeviceRng {
    device: Device,
    seed: u64,
    steps: u64,
}

impl DeviceRng {
    /// `device` without autodiff.
    pub(crate) fn new(device: Device, seed: u64) -> Self {
        Self {
            device,
            seed,
            steps: 0,
        }
    }

    /// Seed the device for the next step.
    pub fn begin_step(&mut self) {
        self.device.seed(mixed(self.seed, self.steps));
        self.steps = self.steps.wrapping_add(1);
    }

    /// How many steps were begun.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// What they are seeded from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn go_to(&mut self, seed: u64, steps: u64) {
        (self.seed, self.steps) = (seed, steps);
    }
}

/// One seed of two: SplitMix64 over their distance, after Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators" (2014). A later version has to find the same.
fn mixed(seed: u64, step: u64) -> u64 {
    let mix = |x: u64| {
        let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    };
    mix(mix(seed).wrapping_add(step.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
}

#[cfg(test)]
mod tests {
    use super::mixed;

    #[test]
    fn the_seeds_of_steps_stay_what_they_are() {
        let seeds = [mixed(0, 0), mixed(0, 1), mixed(42, 1000)];
        assert_eq!(seeds, GOLDEN);
    }

    const GOLDEN: [u64; 3] = [
        0xE220_A839_7B1D_CDAF,
        0x6E78_9E6A_A1B9_65F4,
        0xD810_B893_B111_893A,
    ];
}
