//! `burn-fabric`: look at files of tensors, compare, convert and check them.
//!
//! `inspect` reads headers only, so that a checkpoint of any size is listed at once; whatever reads
//! values does so a part at a time. Everything stands on `burn-weights`, and no module is needed.

mod arguments;
mod check;
mod convert;
mod diff;
mod failure;
mod human;
mod inspect;
mod output;
mod progress;
mod source;
mod stream;
mod table;
mod values;

use std::io::{self, Write};
use std::panic::{self, catch_unwind};
use std::process::ExitCode;

use arguments::Command;
use failure::Failure;
use output::{Output, printable};

fn main() -> ExitCode {
    let command = match arguments::parse() {
        Ok(command) => command,
        Err(code) => return code,
    };
    // A file that makes a reader fail beyond its own errors is a bad file still: one line says so.
    panic::set_hook(Box::new(|_| ()));
    let result = catch_unwind(|| run(&command)).unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| cause.downcast_ref::<&str>().copied());
        let text = text.unwrap_or("no more is known");
        Err(Failure::Files(format!(
            "this is a fault of burn-fabric, please report it: {text}"
        )))
    });
    result.unwrap_or_else(|failure| {
        // Where nobody can read it, the code is left.
        let _ = writeln!(io::stderr(), "error: {}", printable(&failure.to_string()));
        failure.code()
    })
}

fn run(command: &Command) -> Result<ExitCode, Failure> {
    let mut output = Output::default();
    match command {
        Command::Inspect(arguments) => inspect::run(arguments, &mut output),
        Command::Diff(arguments) => diff::run(arguments, &mut output),
        Command::Convert(arguments) => convert::run(arguments, &mut output),
        Command::Check(arguments) => check::run(arguments, &mut output),
    }
}
