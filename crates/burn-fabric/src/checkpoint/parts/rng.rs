//! Where the device's generator is.

use serde::{Deserialize, Serialize};

use crate::checkpoint::{Kind, Loading, Saving, TrainingState};
use crate::device_rng::DeviceRng;

#[derive(Serialize, Deserialize)]
struct Record {
    seed: u64,
    steps: u64,
}

impl TrainingState for DeviceRng {
    fn save_state(&self, saving: &mut Saving) {
        let (seed, steps) = (self.seed(), self.steps());
        saving.record(Kind::Rng, &Record { seed, steps });
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        if let Some((_, Record { seed, steps })) = loading.take(Kind::Rng) {
            loading.commit(move || self.go_to(seed, steps));
        }
    }
}
