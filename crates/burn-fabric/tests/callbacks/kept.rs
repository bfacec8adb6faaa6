//! What a checkpoint keeps of callbacks.

use super::*;

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

    fn save_state(&self, saving: &mut Saving) {
        saving.part("steps", &self.0);
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        loading.part("steps", &mut self.0);
    }
}

#[test]
fn one_that_panicked_starts_over_in_the_program_that_loads_it() {
    let folder = tempfile::tempdir().unwrap();
    let build = || {
        let callbacks = Callbacks::new().on_error(OnError::Report);
        callbacks
            .with(Fragile::default())
            .with(EarlyStopping::new("a", Better::Lower))
    };
    let mut there = build();
    for step in 0..2 {
        there.before_step(&mut Vec::new(), step).unwrap();
    }
    fabric().save(folder.path(), &there).unwrap();
    let mut here = build();
    fabric().load(folder.path(), &mut here).unwrap();
    assert_eq!(here.get::<Fragile>().unwrap().0, 2);
    assert!(here.problems().is_empty());

    there.before_step(&mut Vec::new(), 2).unwrap();
    let seen = Evaluation::new(3, 0, [("a", 0.5)]);
    there.on_evaluation(&mut Vec::new(), seen).unwrap();
    assert_eq!(there.problems().len(), 1);
    let after = folder.path().join("after");
    fabric().save(&after, &there).unwrap();

    // Nothing of it, all of the others, and both are said; it is called as any other.
    let mut here = build();
    fabric().load(&after, &mut here).unwrap();
    let [FabricError::CallbackStartsOver { callback }] = here.problems()[..] else {
        panic!("{:?}", here.problems());
    };
    assert_eq!(callback, "Fragile");
    assert_eq!(here.get::<Fragile>().unwrap().0, 0);
    let early: &EarlyStopping = here.get().unwrap();
    assert_eq!(early.best(), Some((3, 0.5)));
    here.before_step(&mut Vec::new(), 3).unwrap();
    assert_eq!(here.get::<Fragile>().unwrap().0, 1);

    // Loaded into the program where it panicked, it stays out.
    fabric().load(&after, &mut there).unwrap();
    there.before_step(&mut Vec::new(), 4).unwrap();
    assert_eq!(there.get::<Fragile>().unwrap().0, 3);

    // A load that is refused for something else says nothing of it.
    let mut other = build().with(EarlyStopping::new("b", Better::Lower));
    assert!(fabric().load(&after, &mut other).is_err());
    assert!(other.problems().is_empty());
}

/// Panics where it is saved, or loaded, after it has named a part.
struct Shy {
    name: &'static str,
    in_save: bool,
    in_load: bool,
    steps: u64,
}

impl Shy {
    fn new(name: &'static str, in_save: bool, in_load: bool) -> Self {
        Self {
            name,
            in_save,
            in_load,
            steps: 0,
        }
    }
}

impl Callback<Vec<u64>> for Shy {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn before_step(&mut self, _state: &mut Vec<u64>, _seen: &BeforeStep) -> CallbackResult {
        self.steps += 1;
        Ok(Flow::Continue)
    }

    fn save_state(&self, saving: &mut Saving) {
        saving.value("steps", &self.steps);
        assert!(!self.in_save, "nobody looks");
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        loading.value("steps", &mut self.steps);
        assert!(!self.in_load, "nobody looks");
    }
}

fn shy(on_error: OnError, in_save: bool, in_load: bool) -> Callbacks<Vec<u64>> {
    Callbacks::new()
        .on_error(on_error)
        .with(Shy::new("shy", in_save, in_load))
        .with(Shy::new("open", false, false))
}

fn steps(callbacks: &Callbacks<Vec<u64>>) -> u64 {
    callbacks.get::<Shy>().unwrap().steps
}

#[test]
fn a_panic_while_it_is_saved_is_the_callbacks_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut there = shy(OnError::Stop, true, false);
    there.before_step(&mut Vec::new(), 0).unwrap();
    let text = fabric()
        .save(folder.path(), &there)
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("the callback `shy` panicked while its state was saved: nobody looks"),
        "{text}"
    );
    assert!(
        SavedState::open(folder.path()).is_err(),
        "nothing was written"
    );

    let mut there = shy(OnError::Report, true, false);
    there.before_step(&mut Vec::new(), 0).unwrap();
    for _ in 0..2 {
        fabric().save(folder.path(), &there).unwrap();
        let saved = SavedState::open(folder.path()).unwrap();
        let parts: Vec<&str> = saved.parts().map(|(name, _)| name).collect();
        assert_eq!(parts, ["open.steps", "panicked", "stop_reason"]);
        let [
            FabricError::CallbackPanicked {
                callback, point, ..
            },
        ] = there.problems()[..]
        else {
            panic!("{:?}", there.problems());
        };
        assert_eq!((&**callback, *point), ("shy", Point::SaveState));
    }
    // It is not called any more.
    there.before_step(&mut Vec::new(), 1).unwrap();
    assert_eq!(steps(&there), 1);
}

#[test]
fn a_panic_while_it_is_loaded_is_the_callbacks_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut there = shy(OnError::Stop, false, false);
    there.before_step(&mut Vec::new(), 0).unwrap();
    fabric().save(folder.path(), &there).unwrap();

    let mut here = shy(OnError::Stop, false, true);
    let text = fabric()
        .load(folder.path(), &mut here)
        .unwrap_err()
        .to_string();
    assert!(
        text.contains("the callback `shy` panicked while its state was loaded: nobody looks"),
        "{text}"
    );
    assert_eq!(steps(&here), 0);

    let mut here = shy(OnError::Report, false, true);
    fabric().load(folder.path(), &mut here).unwrap();
    let [
        FabricError::CallbackPanicked {
            callback, point, ..
        },
    ] = here.problems()[..]
    else {
        panic!("{:?}", here.problems());
    };
    assert_eq!((&**callback, *point), ("shy", Point::LoadState));
    // What it had asked for is not given to it.
    assert_eq!(steps(&here), 0);
    here.before_step(&mut Vec::new(), 1).unwrap();
    assert_eq!(steps(&here), 0);
}
