//! Errors and panics of callbacks, and those of the loop.

use super::*;

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
    let [first, second] = reporting.problems()[..] else {
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
    let [problem] = callbacks.problems()[..] else {
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
    let [error, panic] = callbacks.problems()[..] else {
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

/// Panics with a load that panics at its end, and panics at its own.
struct Late;

struct Load;

impl Drop for Load {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "the load too");
    }
}

impl Callback<()> for Late {
    fn before_step(&mut self, _state: &mut (), _seen: &BeforeStep) -> CallbackResult {
        std::panic::panic_any(Load)
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        panic!("too late");
    }
}

/// An error without words.
#[derive(Debug)]
struct Mute;

impl std::fmt::Display for Mute {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("no words")
    }
}

impl std::error::Error for Mute {}

impl Callback<()> for Mute {
    fn before_step(&mut self, _state: &mut (), _seen: &BeforeStep) -> CallbackResult {
        Err(Self.into())
    }
}

#[test]
fn nothing_that_a_panic_leaves_behind_ends_the_run() {
    let mut callbacks = Callbacks::new().on_error(OnError::Report);
    callbacks = callbacks.with(Late).with(Mute);
    callbacks.before_step(&mut (), 1).unwrap();
    assert_eq!(callbacks.problems().len(), 2);
    drop(callbacks);
    // Nor does it abort the process while another panic is under way.
    let panic = catch_unwind(|| {
        let _callbacks = Callbacks::new().with(Late);
        panic!("the first");
    });
    let text = burn_meta::panic_text(&*panic.unwrap_err());
    assert_eq!(text.as_deref(), Some("the first"));
}
