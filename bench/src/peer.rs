//! PyTorch as a peer: an environment of its own, and a process that works when it is told to.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The version measured against.
const TORCH: &str = "2.9.0";

/// What is installed beside it, where it is not there yet: packages that need nothing else.
const PACKAGES: [(&str, &str); 2] = [("torch", TORCH), ("safetensors", "0.8.0")];

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

/// The interpreter of an environment with PyTorch, in the target directory; made when it is not there
/// yet.
///
/// # Errors
/// Where there is no Python or no package index.
pub fn python() -> Result<PathBuf> {
    let environment = target()?.join("bench").join(format!("torch-{TORCH}"));
    let python = environment.join("bin").join("python");
    for (package, version) in PACKAGES {
        if has(&python, package, version) {
            continue;
        }
        if package == "torch" {
            eprintln!("making {} (6.8 GB, a few minutes)", environment.display());
            let venv = Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(&environment)
                .status();
            ensure!(venv.context("python3")?.success(), "python3 -m venv fails");
        }
        let wanted = format!("{package}=={version}");
        let install = ["install", "--quiet", "--disable-pip-version-check"];
        let pip = Command::new(&python)
            .args(["-m", "pip"])
            .args(install)
            .arg(&wanted)
            .status();
        ensure!(pip?.success(), "pip install {wanted} fails");
        ensure!(
            has(&python, package, version),
            "{wanted} was installed and cannot be imported"
        );
    }
    Ok(python)
}

/// The target directory: this program lies in `<target directory>/<profile>/`.
///
/// # Errors
/// Where it lies elsewhere.
pub fn target() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(2);
    Ok(target
        .context("the program lies in no target directory")?
        .to_owned())
}

fn has(python: &Path, package: &str, version: &str) -> bool {
    let check = format!("import {package} as p; assert p.__version__.split('+')[0] == '{version}'");
    // Where it fails it is installed, and that says why.
    let output = Command::new(python).args(["-c", &check]).output();
    output.is_ok_and(|output| output.status.success())
}
