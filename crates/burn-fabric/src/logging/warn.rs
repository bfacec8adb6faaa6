//! Lines for people, which stop nothing.

use std::any::Any;
use std::io::Write;

use burn_meta::panic_text;

/// Say `warning: …` on stderr, in one line whatever the text has. Where stderr is closed, or on a full
/// disk, nobody hears it: that is no reason to end a run, as `eprintln!` would.
pub(crate) fn warn(text: &str) {
    let line: Vec<&str> = text.lines().collect();
    let _ = writeln!(std::io::stderr(), "warning: {}", line.join(" "));
}

/// What a panic says.
pub(crate) fn message_of(panic: &(dyn Any + Send)) -> String {
    panic_text(panic).unwrap_or_else(|| "no message".to_owned())
}
