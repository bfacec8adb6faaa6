//! Early stopping.

use super::*;

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

#[test]
fn a_run_that_goes_on_after_a_stop_has_the_whole_patience_again() {
    let early = EarlyStopping::new("metric", Better::Lower).patience(2);
    let mut callbacks = Callbacks::new().with(early);
    for (step, value) in [(1, 0.5), (2, 0.6), (3, 0.7)] {
        evaluate(&mut callbacks, step, value).unwrap();
    }
    assert!(callbacks.stop_reason().is_some());
    let waited =
        |callbacks: &Callbacks<()>| callbacks.get::<EarlyStopping>().map(EarlyStopping::waited);
    assert_eq!(waited(&callbacks), Some(2)); // as it was at the stop
    callbacks.clear_stop();
    evaluate(&mut callbacks, 4, 0.8).unwrap();
    assert_eq!(
        (callbacks.stop_reason(), waited(&callbacks)),
        (None, Some(1))
    );
    evaluate(&mut callbacks, 5, 0.8).unwrap();
    let reason = callbacks.stop_reason().unwrap();
    assert!(reason.contains("no better than 0.5, of step 1"), "{reason}");
}

#[test]
fn it_does_not_go_on_with_what_it_remembers_of_another_value() {
    let folder = tempfile::tempdir().unwrap();
    let watch = |name: &str, better| Callbacks::new().with(EarlyStopping::new(name, better));
    let mut there = watch("metric", Better::Lower);
    evaluate(&mut there, 1, 0.5).unwrap();
    fabric().save(folder.path(), &there).unwrap();
    let load = |mut here: Callbacks<()>| {
        let done = fabric().load(folder.path(), &mut here);
        done.map(|_| here.get::<EarlyStopping>().unwrap().best())
    };
    assert_eq!(
        load(watch("metric", Better::Lower)).unwrap(),
        Some((1, 0.5))
    );
    for here in [
        watch("loss", Better::Lower),
        watch("metric", Better::Higher),
    ] {
        let error = load(here).unwrap_err();
        let FabricError::Checkpoint { problems, .. } = &error else {
            panic!("{error}");
        };
        let [StateProblem::Part { part, source }] = &problems[..] else {
            panic!("{problems:?}");
        };
        assert_eq!(part, "EarlyStopping.memory");
        assert!(
            matches!(&**source, FabricError::OtherValueWatched { found, .. } if found == "metric, the lower"),
            "{source}"
        );
    }
}
