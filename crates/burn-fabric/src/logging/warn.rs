//! Lines for people, which stop nothing.

use std::any::Any;
use std::fmt::Display;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use burn_meta::panic_text;

/// Say `warning: …` on stderr, in one line whatever the text has. Where stderr is closed, or on a full
/// disk, nobody hears it: that is no reason to end a run, as `eprintln!` would.
pub(crate) fn warn(text: &str) {
    let line: Vec<&str> = text.lines().collect();
    let _ = writeln!(std::io::stderr(), "warning: {}", line.join(" "));
}

/// The text of a problem that holds an error of somebody else's, whose text may panic.
pub(crate) fn text_of(problem: &dyn Display) -> String {
    let text = catch_unwind(AssertUnwindSafe(|| problem.to_string()));
    text.unwrap_or_else(|panic| {
        let message = message_of_caught(panic);
        format!("an error whose own text panicked: {message}")
    })
}

/// What a panic says that goes no further. What it carries is forgotten, since its end may panic too.
pub(crate) fn message_of_caught(panic: Box<dyn Any + Send>) -> String {
    let message = message_of(&*panic);
    std::mem::forget(panic);
    message
}

/// What a panic says.
pub(crate) fn message_of(panic: &(dyn Any + Send)) -> String {
    panic_text(panic).unwrap_or_else(|| "no message".to_owned())
}
