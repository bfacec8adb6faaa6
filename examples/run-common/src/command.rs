//! For tests: an example as a command, in a folder of the test's own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder for the runs of a test, which goes when this does; the results of each run are in a folder
/// there. Whatever goes wrong in a method is a panic, which fails the test.
#[derive(Debug)]
pub struct Place {
    folder: TempDir,
    program: &'static str,
    arguments: &'static [&'static str],
}

impl Place {
    /// For runs of `program` with these arguments, and those of each run.
    pub fn new(program: &'static str, arguments: &'static [&'static str]) -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder for the test"),
            program,
            arguments,
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A path in it.
    pub fn out(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// The program in the folder, with no argument: what it writes by default lies there.
    pub fn bare(&self) -> Command {
        let mut command = Command::new(self.program);
        command.current_dir(self.folder());
        command
    }

    /// The command of a run.
    pub fn command(&self, out: &str, arguments: &[&str]) -> Command {
        let mut command = self.bare();
        command.args(["--out", out]);
        command.args(self.arguments).args(arguments);
        command
    }

    /// What a run that has to go well prints.
    pub fn train(&self, out: &str, arguments: &[&str]) -> String {
        success(&mut self.command(out, arguments))
    }

    /// The one line with which a run is refused.
    pub fn refusal(&self, out: &str, arguments: &[&str]) -> String {
        refusal(&mut self.command(out, arguments), 1)
    }

    /// See that each of these command lines is refused with exit code 2, before anything is printed,
    /// and in a line with that part.
    pub fn wrong_values(&self, cases: &[(&[&str], &str)]) {
        for (arguments, part) in cases {
            let error = refusal_at_once(self.bare().args(*arguments), 2);
            assert!(error.contains(part), "{arguments:?}: {error}");
        }
    }
}

fn output(command: &mut Command) -> Output {
    command.output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// What a program that has to go well prints.
pub fn success(command: &mut Command) -> String {
    let output = output(command);
    assert!(
        output.status.success(),
        "{command:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// The one line with which a program ends with this exit code.
pub fn refusal(command: &mut Command, code: i32) -> String {
    refused(command, code).0
}

/// The same of a program that has to end before it prints anything else.
pub fn refusal_at_once(command: &mut Command, code: i32) -> String {
    let (error, printed) = refused(command, code);
    assert_eq!(printed, "", "{command:?}");
    error
}

fn refused(command: &mut Command, code: i32) -> (String, String) {
    let output = output(command);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{command:?}: {error}");
    assert_eq!(error.lines().count(), 1, "{command:?}: {error}");
    assert!(error.starts_with("error: "), "{command:?}: {error}");
    (error, text(&output.stdout))
}

/// The hash of the weights that a run printed.
pub fn hash(printed: &str) -> &str {
    let mut lines = printed.lines();
    let hash = lines.find_map(|line| line.strip_prefix("weights (SHA-256): "));
    let hash = hash.expect("a run that ended prints its hash");
    assert_eq!(hash.len(), 64, "{hash}");
    hash
}

/// Interrupt a run by SIGINT once it has printed a line that begins so; what it printed after that.
#[cfg(unix)]
pub fn interrupt(mut command: Command, after: &str) -> String {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("its output"));
    loop {
        let mut line = String::new();
        let bytes = lines.read_line(&mut line).expect("UTF-8");
        assert!(bytes > 0, "it ended before a line began with `{after}`");
        if line.starts_with(after) {
            break;
        }
    }
    let mut kill = Command::new("kill");
    let sent = kill.args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("the program `kill`").success());
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("UTF-8");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(75), "{rest}");
    rest
}
