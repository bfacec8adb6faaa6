//! What is printed: nothing in it may steer a terminal, and a reader that has seen enough is no
//! error.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::Value;

use crate::failure::Failure;

/// Standard output.
#[derive(Default)]
pub struct Output {
    closed: bool,
}

impl Output {
    /// Print `text` and end the line.
    pub fn line(&mut self, text: &str) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| stdout.write_all(b"\n"))
            .and_then(|()| stdout.flush());
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.closed = true,
            Err(error) => return Err(Failure::Files(format!("standard output: {error}"))),
            Ok(()) => {}
        }
        Ok(())
    }

    /// Print a value as JSON.
    pub fn json(&mut self, value: &Value) -> Result<(), Failure> {
        let json = format!("{value:#}");
        // What has to be escaped is inside of strings only, and JSON has an escape for it.
        let mut escaped = String::with_capacity(json.len());
        for letter in json.chars() {
            if letter != '\n' && steers(letter) {
                let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
            } else {
                escaped.push(letter);
            }
        }
        self.line(&escaped)
    }

    /// Whether nobody reads any more.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

/// A text of a file as it may be printed: what would move a cursor, colour a terminal or turn the
/// direction of writing is escaped.
pub fn printable(text: &str) -> String {
    let mut printed = String::with_capacity(text.len());
    for letter in text.chars() {
        if steers(letter) {
            printed.extend(letter.escape_default());
        } else {
            printed.push(letter);
        }
    }
    printed
}

fn steers(letter: char) -> bool {
    let invisible = matches!(
        letter,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    );
    letter.is_control() || invisible
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_escaped() {
        assert_eq!(printable("layer.é weight"), "layer.é weight");
        assert_eq!(
            printable("a\n\u{1b}[2J\u{9b}\u{202e}"),
            "a\\n\\u{1b}[2J\\u{9b}\\u{202e}"
        );
    }
}
