//! Callbacks: their order, what they see, their errors, what a checkpoint keeps of them.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use burn::optim::AdamWConfig;
use burn_fabric::prelude::*;
use burn_fabric::{
    BeforeStep, Clipped, EpochBegin, EpochEnd, Exception, MovingAverage, OnError, Point, Saved,
    SavedState, StateProblem, StepReport,
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
fn an_error_stops_the_run_or_is_reported_by_name() {
    let log = Log::default();
    let build = || {
        Callbacks::new()
            .with(Witness("a", log.clone()))
            .with(Trouble::Error)
            .with(Witness("b", log.clone()))
    };
    let error = build().before_step(&mut Vec::new(), 4).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the callback `Trouble` failed before a step: no luck\nwith 4; mend it, leave it out, or \
         let such errors only be reported, with `OnError::Report`"
    );
    assert!(matches!(
        &error,
        FabricError::Callback { callback, point: Point::BeforeStep, .. } if callback == "Trouble"
    ));
    assert_eq!(lines(&log), ["a before step 4"]);

    let mut reporting = build().on_error(OnError::Report);
    reporting.before_step(&mut Vec::new(), 4).unwrap();
    reporting.before_step(&mut Vec::new(), 5).unwrap();
    let expected = [
        "a before step 4",
        "b before step 4",
        "a before step 5",
        "b before step 5",
    ];
    assert_eq!(lines(&log), expected);
    let [first, second] = reporting.problems() else {
        panic!("{:?}", reporting.problems());
    };
    assert_eq!(first.to_string(), error.to_string());
    assert!(second.to_string().contains("with 5"), "{second}");

    // One's own way wins over that of all, both ways.
    let mut callbacks = Callbacks::new()
        .on_error(OnError::Report)
        .with_on_error(OnError::Stop, Trouble::Error)
        .with(Trouble::Error);
    assert!(callbacks.before_step(&mut Vec::new(), 1).is_err());
    let mut callbacks = Callbacks::new().with_on_error(OnError::Report, Trouble::Error);
    assert!(callbacks.before_step(&mut Vec::new(), 1).is_ok());
    assert_eq!(callbacks.problems().len(), 1);
}

#[test]
fn a_callback_that_panics_is_named_and_not_called_again() {
    let log = Log::default();
    let mut callbacks = Callbacks::new()
        .with(Trouble::Panic)
        .with_on_error(OnError::Report, Trouble::Panic)
        .with(Witness("a", log.clone()));
    let mut state = Vec::new();
    let error = callbacks.before_step(&mut state, 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the callback `Trouble` panicked before a step: dropped step 1; it is not called again, \
         since its state may be broken: return an error from it for what can go wrong"
    );
    assert!(matches!(
        error,
        FabricError::CallbackPanicked {
            point: Point::BeforeStep,
            ..
        }
    ));
    assert!(lines(&log).is_empty() && state.is_empty());
    // The second panics now, and is reported; the first is not called.
    callbacks.before_step(&mut state, 2).unwrap();
    callbacks.before_step(&mut state, 3).unwrap();
    assert_eq!(state, [2, 3]);
    let [problem] = callbacks.problems() else {
        panic!("{:?}", callbacks.problems());
    };
    let text = problem.to_string();
    assert!(
        text.starts_with("the callback `Trouble (2)` panicked"),
        "{text}"
    );
    assert!(text.contains("dropped step 2"), "{text}");
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

#[test]
fn all_hear_of_an_error_and_of_a_panic_in_the_loop() {
    let log = Log::default();
    let build = || {
        Callbacks::new()
            .with(Witness("a", log.clone()))
            .with(Trouble::Error)
            .with(Trouble::Panic)
            .with(Witness("b", log.clone()))
    };
    let mut callbacks = build();
    let done = callbacks.run(&mut Vec::new(), |_, _| Ok::<u8, String>(3));
    assert_eq!(done, Ok(3));
    assert!(lines(&log).is_empty());

    let done = callbacks.run(&mut Vec::new(), |_, _| Err::<u8, _>("lost".to_owned()));
    assert_eq!(done, Err("lost".to_owned()));
    let expected = [
        r#"a "lost", panicked: false"#,
        r#"b "lost", panicked: false"#,
    ];
    assert_eq!(lines(&log), expected);
    let [error, panic] = callbacks.problems() else {
        panic!("{:?}", callbacks.problems());
    };
    for problem in [error, panic] {
        assert!(
            problem.to_string().contains("on an exception: and again"),
            "{problem}"
        );
    }

    let mut callbacks = build();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        callbacks.run(
            &mut vec![1],
            |state: &mut Vec<u64>, _| -> Result<u8, String> { panic!("out of {state:?}") },
        )
    }));
    let text = burn_meta::panic_text(&*panic.unwrap_err()).unwrap();
    assert_eq!(text, "out of [1]");
    assert_eq!(lines(&log).len(), 2);

    // A callback's own error ends the loop as any does.
    let mut callbacks = build();
    let done = callbacks.run(&mut Vec::new(), |state, callbacks| {
        callbacks.before_step(state, 1)
    });
    assert!(matches!(done, Err(FabricError::Callback { .. })));
    let heard = lines(&log);
    assert_eq!(heard.len(), 3, "{heard:?}");
    assert!(
        heard[2].starts_with(r#"b "the callback `Trouble` failed before a step"#),
        "{heard:?}"
    );
}

fn evaluate(callbacks: &mut Callbacks<()>, step: u64, value: f64) -> Result<(), FabricError> {
    callbacks.on_evaluation(&mut (), Evaluation::new(step, 0, [("metric", value)]))
}

#[test]
fn early_stopping_counts_what_is_no_better_by_enough() {
    let early = EarlyStopping::new("metric", Better::Higher).patience(2);
    let early = early.min_delta(0.1).unwrap();
    let mut callbacks = Callbacks::new().with(early);
    // The best stays 0.5 at 0.6, not more than 0.1 higher, and becomes 0.7.
    for (step, value, waited) in [(1, 0.5, 0), (2, 0.6, 1), (3, 0.7, 0), (4, 0.65, 1)] {
        evaluate(&mut callbacks, step, value).unwrap();
        let early: &EarlyStopping = callbacks.get().unwrap();
        assert_eq!(early.waited(), waited, "step {step}");
        assert!(callbacks.stop_reason().is_none());
    }
    evaluate(&mut callbacks, 5, f64::NEG_INFINITY).unwrap();
    assert_eq!(
        callbacks.stop_reason(),
        Some(
            "EarlyStopping: `metric` is no better than 0.7, of step 3, at step 5 and for 2 \
             evaluations"
        )
    );
    assert_eq!(
        callbacks.get::<EarlyStopping>().unwrap().best(),
        Some((3, 0.7))
    );
    assert!(callbacks.get::<ModelAveraging<(), Mlp>>().is_none());

    let mut callbacks = Callbacks::new().with(EarlyStopping::new("metric", Better::Lower));
    for (step, value) in [(1, 0.5), (2, 0.5), (3, 0.6), (4, 0.7)] {
        assert!(callbacks.stop_reason().is_none(), "before step {step}");
        evaluate(&mut callbacks, step, value).unwrap();
    }
    assert!(callbacks.stop_reason().is_some());
    for delta in [-0.1, f64::NAN, f64::INFINITY] {
        let error = EarlyStopping::new("metric", Better::Lower)
            .min_delta(delta)
            .unwrap_err();
        assert!(matches!(error, FabricError::Settings { .. }), "{error}");
    }
}

#[test]
fn early_stopping_refuses_a_value_that_is_never_there_and_a_nan() {
    let cause = |error: FabricError| match error {
        FabricError::Callback { source, .. } => *source.downcast::<FabricError>().unwrap(),
        error => error,
    };
    let mut callbacks = Callbacks::new().with(EarlyStopping::new("valid/loss", Better::Lower));
    let error = cause(evaluate(&mut callbacks, 1, 0.5).unwrap_err());
    assert_eq!(
        error.to_string(),
        "no evaluation so far has a value `valid/loss`; this one has `metric`: watch one of these, \
         or give it in `Evaluation::new`"
    );
    assert!(matches!(error, FabricError::NoSuchValue { .. }));
    // Once it was there, an evaluation of another kind is passed over.
    let known = Evaluation::new(2, 0, [("valid/loss", 0.5)]);
    callbacks.on_evaluation(&mut (), known).unwrap();
    evaluate(&mut callbacks, 3, 0.5).unwrap();
    assert_eq!(callbacks.get::<EarlyStopping>().unwrap().waited(), 0);

    let mut callbacks = Callbacks::new().with(EarlyStopping::new("metric", Better::Lower));
    evaluate(&mut callbacks, 1, 0.5).unwrap();
    let error = cause(evaluate(&mut callbacks, 2, f64::NAN).unwrap_err());
    assert!(matches!(&error, FabricError::ValueIsNaN { value, step: 2 } if value == "metric"));
    assert_eq!(callbacks.get::<EarlyStopping>().unwrap().waited(), 0);
    assert!(callbacks.stop_reason().is_none());

    let early = EarlyStopping::new("metric", Better::Lower).stop_on_nan();
    let mut callbacks = Callbacks::new().with(early);
    evaluate(&mut callbacks, 2, f64::NAN).unwrap();
    let reason = callbacks.stop_reason().unwrap();
    assert_eq!(reason, "EarlyStopping: `metric` is NaN at step 2");
}

#[derive(TrainingState)]
struct Training {
    model: FabricModule<Mlp>,
    optimizer: FabricOptimizer,
    step: u64,
    #[state(skip)]
    fabric: Fabric,
}

/// What a checkpoint keeps.
#[derive(TrainingState)]
struct Run<'r> {
    training: &'r mut Training,
    callbacks: &'r mut Callbacks<Training>,
}

impl Training {
    fn new() -> Self {
        let fabric = fabric();
        let model = support::model(&fabric);
        let optimizer = fabric.setup_optimizer(&model, AdamWConfig::new()).unwrap();
        Self {
            model,
            optimizer,
            step: 0,
            fabric,
        }
    }

    fn callbacks(&self) -> Callbacks<Self> {
        let early = EarlyStopping::new("loss", Better::Lower).patience(3);
        Callbacks::new()
            .with(early.min_delta(0.004).unwrap())
            .with(ModelAveraging::new(self, 0.9, |training| &training.model).unwrap())
    }

    /// One step; the loss before it.
    fn step(&mut self) -> (f32, StepReport) {
        let loss = self.model.loss(&input(self.fabric.device()));
        let value: f32 = loss.clone().into_scalar();
        let gradients = self.fabric.backward(loss, &self.model).unwrap();
        let report = self
            .optimizer
            .step(0.01, &mut self.model, gradients)
            .unwrap();
        self.step += 1;
        (value, report)
    }

    /// To the end that a callback asks for, or to a step; a checkpoint there.
    fn train(&mut self, callbacks: &mut Callbacks<Self>, to: u64, folder: &Path) {
        while self.step < to && callbacks.stop_reason().is_none() {
            let (loss, report) = self.step();
            let seen = AfterStep::new(self.step, &report).loss(loss);
            callbacks.after_step(self, seen).unwrap();
            let values = [("loss", f64::from(loss))];
            let evaluation = Evaluation::new(self.step, 0, values);
            callbacks.on_evaluation(self, evaluation).unwrap();
        }
        let fabric = support::fabric();
        let run = Run {
            training: self,
            callbacks,
        };
        fabric.save(folder, &run).unwrap();
    }

    fn averaged(&self, callbacks: &Callbacks<Self>) -> Mlp {
        let averaging: &ModelAveraging<Self, Mlp> = callbacks.get().unwrap();
        averaging.module(self).unwrap()
    }
}

/// What it was to the bit: its manifest has the hash of every tensor, and each value.
fn manifest(folder: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap()["manifest"].take()
}

#[test]
fn a_resumed_run_stops_at_the_same_step_with_the_same_averages() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut whole = Training::new();
    let mut callbacks = whole.callbacks();
    whole.train(&mut callbacks, 10_000, &at("whole"));
    let stopped = whole.step;
    let reason = callbacks.stop_reason().expect("it stops").to_owned();
    let averaged = values(&whole.averaged(&callbacks));
    assert!(
        (5..1000).contains(&stopped),
        "stopped at {stopped}: {reason}"
    );

    // Interrupted one step before the stop, where the patience is nearly used up, and after two.
    for interrupted in [2, stopped - 1] {
        let mut first = Training::new();
        let mut callbacks = first.callbacks();
        first.train(&mut callbacks, interrupted, &at("half"));
        assert!(callbacks.stop_reason().is_none());

        let mut second = Training::new();
        let mut callbacks = second.callbacks();
        let mut run = Run {
            training: &mut second,
            callbacks: &mut callbacks,
        };
        fabric().load(at("half"), &mut run).unwrap();
        assert_eq!(second.step, interrupted);
        // A folder of its own: files are numbered where one is saved to again.
        let resumed = at(&format!("resumed-{interrupted}"));
        second.train(&mut callbacks, 10_000, &resumed);
        assert_eq!(second.step, stopped);
        assert_eq!(callbacks.stop_reason(), Some(&*reason));
        assert_eq!(manifest(&resumed), manifest(&at("whole")));
        assert_eq!(values(&second.averaged(&callbacks)), averaged);
    }

    // What was stopped stays so, until it is cleared.
    let mut third = Training::new();
    let mut callbacks = third.callbacks();
    let mut run = Run {
        training: &mut third,
        callbacks: &mut callbacks,
    };
    fabric().load(at("whole"), &mut run).unwrap();
    assert_eq!(callbacks.stop_reason(), Some(&*reason));
    third.train(&mut callbacks, 10_000, &at("third"));
    assert_eq!(third.step, stopped);
}

#[test]
fn model_averaging_is_the_hand_written_average_to_the_bit() {
    let mut training = Training::new();
    let mut callbacks = training.callbacks();
    let mut by_hand = MovingAverage::new(&training.model, 0.9).unwrap();
    for step in 0..6 {
        let (_, report) = training.step();
        assert_eq!(report.updated, 2);
        // Every third is as if it had been left out.
        let is_taken = step % 3 != 2;
        if is_taken {
            by_hand.update(&training.model).unwrap();
        }
        let nothing = StepReport::default();
        let report = if is_taken { &report } else { &nothing };
        let seen = AfterStep::new(training.step, report);
        callbacks.after_step(&mut training, seen).unwrap();
    }
    let expected = values(&by_hand.module(&training.model).unwrap());
    assert_eq!(values(&training.averaged(&callbacks)), expected);
    let weight = |model: &Mlp| data(model.output.weight.val());
    assert_ne!(
        weight(&training.averaged(&callbacks)),
        weight(&training.model)
    );

    // Of another module: refused, under its name.
    let mut other = Training::new();
    let report = StepReport {
        updated: 1,
        ..StepReport::default()
    };
    let error = callbacks
        .after_step(&mut other, AfterStep::new(7, &report))
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("the callback `ModelAveraging` failed after a step"),
        "{text}"
    );
}

#[test]
fn a_checkpoint_has_what_callbacks_remember_under_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let build = || {
        Callbacks::<Vec<u64>>::new()
            .with(EarlyStopping::new("a", Better::Lower))
            .with(EarlyStopping::new("b", Better::Higher))
            .with(Witness("remembers nothing", Log::default()))
    };
    let mut there = build();
    let both = || Evaluation::new(1, 0, [("a", 0.1 + 0.2), ("b", f64::NEG_INFINITY)]);
    there.on_evaluation(&mut Vec::new(), both()).unwrap();
    there.on_evaluation(&mut Vec::new(), both()).unwrap();
    fabric().save(folder.path(), &there).unwrap();
    let saved = SavedState::open(folder.path()).unwrap();
    let parts: Vec<&str> = saved.parts().map(|(name, _)| name).collect();
    let expected = [
        "EarlyStopping.memory",
        "EarlyStopping_2.memory",
        "stop_reason",
    ];
    assert_eq!(parts, expected);

    let mut here = build();
    fabric().load(folder.path(), &mut here).unwrap();
    // Both waited once: two more end the run.
    here.on_evaluation(&mut Vec::new(), both()).unwrap();
    assert!(here.stop_reason().is_none());
    here.on_evaluation(&mut Vec::new(), both()).unwrap();
    let reason = here.stop_reason().unwrap();
    assert!(
        reason.contains("no better than 0.30000000000000004"),
        "{reason}"
    );

    // One that is not there any more is told.
    let mut fewer = Callbacks::<Vec<u64>>::new().with(EarlyStopping::new("a", Better::Lower));
    let error = fabric().load(folder.path(), &mut fewer).unwrap_err();
    let FabricError::Checkpoint { problems, .. } = &error else {
        panic!("{error}");
    };
    assert!(matches!(
        &problems[..],
        [StateProblem::UnexpectedPart { part, .. }] if part == "EarlyStopping_2.memory"
    ));
    assert_eq!(fewer.get::<EarlyStopping>().unwrap().best(), None);
}

/// Counts its steps, and breaks at the third.
#[derive(Default)]
struct Fragile(u64);

impl Callback<Vec<u64>> for Fragile {
    fn before_step(&mut self, _state: &mut Vec<u64>, _seen: &BeforeStep) -> CallbackResult {
        self.0 += 1;
        assert!(self.0 < 3, "too much");
        Ok(Flow::Continue)
    }

    fn save_state(&self, saving: &mut burn_fabric::Saving) {
        saving.part("steps", &self.0);
    }

    fn load_state<'s>(&'s mut self, loading: &mut burn_fabric::Loading<'s>) {
        loading.part("steps", &mut self.0);
    }
}

#[test]
fn what_a_panic_left_of_a_callback_is_not_saved() {
    let folder = tempfile::tempdir().unwrap();
    let build = || {
        let callbacks = Callbacks::new().on_error(OnError::Report);
        callbacks.with(Fragile::default())
    };
    let mut there = build();
    for step in 0..2 {
        there.before_step(&mut Vec::new(), step).unwrap();
    }
    fabric().save(folder.path(), &there).unwrap();
    let mut here = build();
    fabric().load(folder.path(), &mut here).unwrap();
    assert_eq!(here.get::<Fragile>().unwrap().0, 2);

    there.before_step(&mut Vec::new(), 2).unwrap();
    assert_eq!(there.problems().len(), 1);
    let after = folder.path().join("after");
    fabric().save(&after, &there).unwrap();
    let error = fabric().load(&after, &mut here).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("Fragile.steps"), "{text}");
    let options = LoadOptions::new().except("Fragile.steps");
    fabric().load_with(&after, &mut here, &options).unwrap();
    assert_eq!(here.get::<Fragile>().unwrap().0, 2);
}
