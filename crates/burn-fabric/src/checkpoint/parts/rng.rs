//! Where the device's generator is.

use serde::{Deserialize, Serialize};

use crate::checkpoint::{Content, Kind, Loading, Saving, StateProblem, TrainingState};
use crate::device_rng::DeviceRng;

#[derive(Serialize, Deserialize)]
struct Record {
    seed: u64,
    steps: u64,
}

impl TrainingState for DeviceRng {
    fn save_state(&self, saving: &mut Saving) {
        let record = Record {
            seed: self.seed(),
            steps: self.steps(),
        };
        let part = saving.name();
        saving.push(Kind::Rng, move || {
            Content::record(&record).map_err(|message| StateProblem::Value { part, message })
        });
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        let Some(part) = loading.take(Kind::Rng) else {
            return;
        };
        match part.record() {
            Ok(Record { seed, steps }) => loading.commit(move || self.go_to(seed, steps)),
            Err(problem) => loading.fail(problem),
        }
    }
}
