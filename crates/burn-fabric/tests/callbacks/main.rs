//! Callbacks: their order, what they see, their errors, what a checkpoint keeps of them.

mod early_stopping;
mod errors;
mod kept;
mod resumed;
#[path = "../support/mod.rs"]
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use burn::optim::AdamWConfig;
use burn_fabric::prelude::*;
use burn_fabric::{
    BeforeStep, Clipped, EpochBegin, EpochEnd, Exception, Loading, MovingAverage, OnError, Point,
    Saved, SavedState, Saving, StateProblem, StepReport,
};
use support::{Mlp, data, fabric, input, values};

/// What happened, in its order.
type Log = Arc<Mutex<Vec<String>>>;

fn lines(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().unwrap())
}

/// Writes down each point, in the state as well where it may change it.
struct Witness(&'static str, Log);

impl Witness {
    fn note(&self, line: String) -> CallbackResult {
        self.1.lock().unwrap().push(format!("{} {line}", self.0));
        Ok(Flow::Continue)
    }
}

impl Callback<Vec<u64>> for Witness {
    fn name(&self) -> String {
        self.0.to_owned()
    }

    fn after_setup(&mut self, _state: &mut Vec<u64>) -> CallbackResult {
        self.note("after set-up".to_owned())
    }

    fn on_epoch_begin(&mut self, _state: &mut Vec<u64>, seen: &EpochBegin) -> CallbackResult {
        self.note(format!("epoch {} begins", seen.epoch))
    }

    fn before_step(&mut self, state: &mut Vec<u64>, seen: &BeforeStep) -> CallbackResult {
        state.push(seen.step);
        self.note(format!("before step {}", seen.step))
    }

    fn after_step(&mut self, state: &mut Vec<u64>, seen: &AfterStep<'_>) -> CallbackResult {
        let norm = seen.clipped.map(|clipped| clipped.norm);
        self.note(format!(
            "after step {}: {:?} at {:?}, norm {norm:?}, {} updated, {state:?}",
            seen.step, seen.loss, seen.rate, seen.report.updated
        ))
    }

    fn on_evaluation(&mut self, _state: &mut Vec<u64>, seen: &Evaluation) -> CallbackResult {
        let (step, epoch, values) = (seen.step, seen.epoch, &seen.values);
        self.note(format!("evaluation at {step} in {epoch}: {values:?}"))
    }

    fn on_epoch_end(&mut self, _state: &mut Vec<u64>, seen: &EpochEnd) -> CallbackResult {
        self.note(format!("epoch {} ends", seen.epoch))
    }

    fn on_save(&mut self, _state: &Vec<u64>, seen: &Saved<'_>) -> CallbackResult {
        self.note(format!("saved {} in {}", seen.step, seen.folder.display()))
    }

    fn on_exception(&mut self, _state: &Vec<u64>, seen: &Exception) -> CallbackResult {
        self.note(format!("{:?}, panicked: {}", seen.message, seen.panicked))
    }
}

/// Fails, panics or asks for a stop at each step.
enum Trouble {
    Error,
    Panic,
    Stop,
}

impl Callback<Vec<u64>> for Trouble {
    fn before_step(&mut self, _state: &mut Vec<u64>, seen: &BeforeStep) -> CallbackResult {
        match self {
            Self::Error => Err(format!("no luck\nwith {}", seen.step).into()),
            Self::Panic => panic!("dropped step {}", seen.step),
            Self::Stop => Ok(Flow::Stop(format!("enough at {}", seen.step))),
        }
    }

    fn on_exception(&mut self, _state: &Vec<u64>, _seen: &Exception) -> CallbackResult {
        match self {
            Self::Panic => panic!("and again"),
            _ => Err("and again".into()),
        }
    }
}

#[test]
fn all_points_are_called_in_order_and_see_what_there_is() {
    let log = Log::default();
    let mut callbacks = Callbacks::new()
        .with(Witness("a", log.clone()))
        .with(Witness("b", log.clone()));
    assert_eq!(callbacks.names().collect::<Vec<_>>(), ["a", "b"]);
    let mut state = Vec::new();
    let report = StepReport {
        updated: 2,
        ..StepReport::default()
    };
    let clipped = Clipped {
        norm: 1.5,
        non_finite: Vec::new(),
        taken_away: false,
    };
    let seen = AfterStep::new(8, &report).loss(0.25_f32).rate(1e-3);
    callbacks.after_setup(&mut state).unwrap();
    callbacks.on_epoch_begin(&mut state, 3).unwrap();
    callbacks.before_step(&mut state, 7).unwrap();
    callbacks
        .after_step(&mut state, seen.clipped(&clipped))
        .unwrap();
    let values = [("loss", 0.5), ("accuracy", 0.75)];
    let evaluation = Evaluation::new(8, 3, values);
    callbacks.on_evaluation(&mut state, evaluation).unwrap();
    callbacks.on_epoch_end(&mut state, 3).unwrap();
    callbacks.on_save(&state, 8, "here/8").unwrap();
    let once = [
        "after set-up",
        "epoch 3 begins",
        "before step 7",
        "after step 8: Some(0.25) at Some(0.001), norm Some(1.5), 2 updated, [7, 7]",
        r#"evaluation at 8 in 3: {"accuracy": 0.75, "loss": 0.5}"#,
        "epoch 3 ends",
        "saved 8 in here/8",
    ];
    let expected = once
        .iter()
        .flat_map(|line| [format!("a {line}"), format!("b {line}")]);
    assert_eq!(lines(&log), expected.collect::<Vec<_>>());
    // Whatever a step left out has nothing to tell.
    let nothing = StepReport::default();
    callbacks
        .after_step(&mut state, AfterStep::new(9, &nothing))
        .unwrap();
    assert_eq!(
        lines(&log)[0],
        "a after step 9: None at None, norm None, 0 updated, [7, 7]"
    );
    assert!(callbacks.problems().is_empty() && callbacks.stop_reason().is_none());
}

#[test]
fn the_first_reason_for_a_stop_stays_until_it_is_cleared() {
    let log = Log::default();
    let mut callbacks = Callbacks::new()
        .with(Trouble::Stop)
        .with(Trouble::Stop)
        .with(Witness("a", log.clone()));
    callbacks.before_step(&mut Vec::new(), 1).unwrap();
    callbacks.before_step(&mut Vec::new(), 2).unwrap();
    // The others are called all the same.
    assert_eq!(lines(&log), ["a before step 1", "a before step 2"]);
    assert_eq!(callbacks.stop_reason(), Some("Trouble: enough at 1"));
    callbacks.clear_stop();
    assert_eq!(callbacks.stop_reason(), None);
    callbacks.before_step(&mut Vec::new(), 3).unwrap();
    assert_eq!(callbacks.stop_reason(), Some("Trouble: enough at 3"));
}
