//! How a program ends.

use std::fmt::Display;
use std::process::{ExitCode, Termination};

/// The exit code of a program that came so far: its own, or 1 and one line on stderr.
pub fn exit<T: Termination, E: Display>(done: Result<T, E>) -> ExitCode {
    match done {
        Ok(done) => done.report(),
        Err(error) => {
            // What lists several problems has one a line, and a file is shown where it is wrong.
            let text = error.to_string();
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            eprintln!("error: {}", lines.join(" "));
            ExitCode::FAILURE
        }
    }
}
