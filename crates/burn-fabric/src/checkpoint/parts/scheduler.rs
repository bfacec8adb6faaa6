//! Burn's schedulers, which do not say what they are: the rates that follow do.

use std::collections::BTreeMap;

use burn::optim::lr_scheduler::LrSchedulerRecord;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn_pack::{Reader, Scalar};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{Kind, Loading, Saving, StateProblem, TrainingState};
use crate::data::caught;

#[derive(Serialize, Deserialize)]
struct Record {
    /// What the scheduler keeps.
    state: BTreeMap<String, Scalar>,
    /// The base rates of its next steps.
    next: Vec<f64>,
}

/// How many rates tell a schedule from another.
const TOLD: usize = 10;

/// As far as it goes: one of the user's own may end by a panic.
fn next(scheduler: &ModuleLrScheduler) -> Vec<f64> {
    let mut ahead = scheduler.clone();
    let rate = |_| caught(|| ahead.step().base()).ok();
    (0..TOLD).map_while(rate).collect()
}

fn record(scheduler: &ModuleLrScheduler) -> Result<Record, String> {
    // Its scalars are private; the format that they are written in is not.
    let bytes = scheduler.to_record().into_bytes();
    let bytes = bytes.map_err(|error| error.to_string())?;
    let reader = Reader::from_bytes(bytes).map_err(|error| error.to_string())?;
    Ok(Record {
        state: reader.scalars().clone(),
        next: next(scheduler),
    })
}

impl TrainingState for ModuleLrScheduler {
    fn save_state(&self, saving: &mut Saving) {
        // A scheduler of the user's own may panic in what is Burn's trait.
        match caught(|| record(self)).flatten() {
            Ok(record) => saving.record(Kind::Scheduler, &record),
            Err(message) => {
                let part = saving.name();
                saving.fail(StateProblem::Value { part, message });
            }
        }
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        let Some((part, saved)) = loading.take::<Record>(Kind::Scheduler) else {
            return;
        };
        let part = part.name;
        let restored = caught(|| {
            let state = saved.state.iter();
            let state = state.fold(LrSchedulerRecord::new(), |record, (key, scalar)| {
                record.with_scalar(key, *scalar)
            });
            let scheduler = self.clone().load_record(state);
            let here = record(&scheduler)?;
            Ok((scheduler, here))
        });
        match restored.flatten() {
            Err(message) => loading.fail(StateProblem::Value { part, message }),
            // A group that only one side has leaves other counters, and no trace in the base rates.
            Ok((_, here)) if here.state != saved.state || !same(&here.next, &saved.next) => {
                let (found, expected) = (saved.next, here.next);
                loading.fail(StateProblem::OtherSchedule {
                    part,
                    found,
                    expected,
                });
            }
            Ok((scheduler, _)) => loading.commit(move || *self = scheduler),
        }
    }
}

/// Up to what another compiler may make of the same formula.
fn same(here: &[f64], there: &[f64]) -> bool {
    let close = |(a, b): (&f64, &f64)| {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
    };
    here.len() == there.len() && here.iter().zip(there).all(close)
}
