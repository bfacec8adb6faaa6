//! A program run until it prints what is waited for.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

/// What a run took, and the line that ended it.
pub struct Run {
    pub milliseconds: f64,
    pub line: String,
}

impl Run {
    /// The number at `place` in the line.
    pub fn number(&self, place: usize) -> Result<f64> {
        let number = self.line.split_whitespace().nth(place);
        number
            .and_then(|number| number.parse().ok())
            .with_context(|| format!("no number at {place} in `{}`", self.line))
    }
}

/// Start a program and time it until it prints a line that `ends`. What it does after that, and how
/// long it takes to end, does not count.
pub fn run(command: &mut Command, ends: impl Fn(&str) -> bool) -> Result<Run> {
    let name = command.get_program().to_string_lossy().into_owned();
    let start = Instant::now();
    let mut process = command
        .stdout(Stdio::piped())
        .spawn()
        .context(name.clone())?;
    let output = process.stdout.take();
    let mut output = BufReader::new(output.context("a piped process has an output")?);
    let mut line = String::new();
    loop {
        line.clear();
        let read = output.read_line(&mut line)?;
        ensure!(read > 0, "{name} ended without what was waited for");
        if ends(line.trim_end()) {
            break;
        }
    }
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    output.read_to_string(&mut String::new())?;
    let status = process.wait()?;
    ensure!(status.success(), "{name}: {status}");
    Ok(Run {
        milliseconds,
        line: line.trim_end().to_owned(),
    })
}
