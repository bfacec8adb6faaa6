//! The program `burn-fabric`, run on small files.

mod arguments;
mod check;
mod convert;
mod diff;
mod files;
mod inspect;
mod layout;
mod readme;

use std::path::Path;
use std::process::{Command, Stdio};

/// What a run came to.
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Run the program in `folder`. Arguments are divided by spaces.
fn run(folder: &Path, arguments: &str) -> Run {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    run_with(folder, &arguments)
}

/// Run the program in `folder`.
fn run_with(folder: &Path, arguments: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_burn-fabric"))
        .current_dir(folder)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

impl Run {
    /// Its output, after it succeeded without a word on standard error.
    fn succeeded(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""));
        self.stdout
    }

    /// Its output, after it found something, which is no error.
    fn found(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(1), ""));
        self.stdout
    }

    /// The one line of an error.
    fn failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        assert_eq!(self.stdout, "");
        let line = self.stderr.strip_suffix('\n').unwrap();
        assert!(
            line.starts_with("error: ") && !line.contains('\n'),
            "{line}"
        );
        assert!(!line.contains(char::is_control), "{line:?}");
        line.to_owned()
    }
}
