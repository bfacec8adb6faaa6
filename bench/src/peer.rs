//! PyTorch as a peer: an environment of its own, and a process that works when it is told to.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The version measured against.
const TORCH: &str = "2.9.0";

/// A running Python script that answers each line it gets with one number.
pub struct Peer {
    process: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    /// Start `script`, in an environment with PyTorch that is made when it is not there yet.
    ///
    /// # Errors
    /// Where there is no Python, no package index, or the script fails.
    pub fn start(script: &str) -> Result<Self> {
        let mut process = Command::new(python()?)
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let requests = process.stdin.take();
        let answers = process
            .stdout
            .take()
            .context("a piped process has an output")?;
        Ok(Self {
            process,
            requests,
            answers: BufReader::new(answers),
        })
    }

    /// Ask for one number.
    ///
    /// # Errors
    /// When the script has ended or answers something else.
    pub fn ask(&mut self, request: &str) -> Result<f64> {
        let requests = self
            .requests
            .as_mut()
            .context("the peer takes no requests")?;
        writeln!(requests, "{request}")?;
        requests.flush()?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        answer
            .trim()
            .parse()
            .with_context(|| format!("the peer answers `{}`", answer.trim()))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The script ends with its input.
        self.requests = None;
        // Nobody is left to tell of a failure.
        let _ = self.process.wait();
    }
}

/// The interpreter of an environment with PyTorch, in the target directory.
fn python() -> Result<PathBuf> {
    // This program lies in <target directory>/<profile>/.
    let program = std::env::current_exe()?;
    let target = program
        .ancestors()
        .nth(2)
        .context("the program lies in no target directory")?;
    let environment = target.join("bench").join(format!("torch-{TORCH}"));
    let python = environment.join("bin").join("python");
    if !has_torch(&python) {
        eprintln!("making {} (6.8 GB, a few minutes)", environment.display());
        let venv = Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&environment)
            .status();
        ensure!(venv.context("python3")?.success(), "python3 -m venv fails");
        let packages = format!("torch=={TORCH}");
        let install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            &packages,
        ];
        ensure!(
            Command::new(&python).args(install).status()?.success(),
            "pip install fails"
        );
        ensure!(
            has_torch(&python),
            "PyTorch {TORCH} was installed and cannot be imported"
        );
    }
    Ok(python)
}

fn has_torch(python: &Path) -> bool {
    let check = format!("import torch; assert torch.__version__.split('+')[0] == '{TORCH}'");
    // Where it fails the environment is made anew, and that says why.
    let output = Command::new(python).args(["-c", &check]).output();
    output.is_ok_and(|output| output.status.success())
}
