//! Early stopping and averages over a resume, and averages by hand.

use super::*;

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
