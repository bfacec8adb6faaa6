//! What cargo knows of the workspace, and how to call cargo in it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// The workspace, by `cargo metadata`.
pub struct Workspace {
    metadata: Value,
    root: PathBuf,
}

impl Workspace {
    /// Ask cargo.
    pub fn load() -> Result<Self> {
        let output = Command::new(cargo_path())
            .args(["metadata", "--format-version", "1"])
            .output()
            .context("cargo metadata could not be started")?;
        let problem = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "cargo metadata failed:\n{problem}");
        let metadata: Value = serde_json::from_slice(&output.stdout)?;
        let root = text(&metadata, "workspace_root")?.into();
        Ok(Self { metadata, root })
    }

    /// The folder of the root manifest.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where cargo builds.
    pub fn target(&self) -> Result<&Path> {
        Ok(Path::new(text(&self.metadata, "target_directory")?))
    }

    /// Names of the crates that are published: those in `crates/` that say nothing else.
    pub fn library_crates(&self) -> Result<Vec<&str>> {
        let folder = self.root.join("crates");
        let mut names = Vec::new();
        for package in self.packages()? {
            // `publish = false` is an empty list of registries.
            let is_published = package["publish"]
                .as_array()
                .is_none_or(|to| !to.is_empty());
            if is_published && Path::new(text(package, "manifest_path")?).starts_with(&folder) {
                names.push(text(package, "name")?);
            }
        }
        ensure!(!names.is_empty(), "no crate in {}", folder.display());
        Ok(names)
    }

    /// Where the source of a dependency lies.
    pub fn source_of(&self, name: &str) -> Result<PathBuf> {
        for package in self.packages()? {
            if text(package, "name")? == name {
                return Ok(Path::new(text(package, "manifest_path")?).with_file_name("src"));
            }
        }
        bail!("{name} is no dependency of this workspace")
    }

    fn packages(&self) -> Result<&Vec<Value>> {
        self.metadata["packages"]
            .as_array()
            .context("cargo metadata names no packages")
    }

    /// A cargo command in the workspace's root; `arguments` are separated by spaces.
    pub fn cargo(&self, arguments: &str) -> Command {
        let mut command = Command::new(cargo_path());
        command
            .args(arguments.split_whitespace())
            .current_dir(&self.root);
        // What cargo tells this program of itself would make build scripts that ask for it (ring's)
        // run again, and with them half of what a test with libtorch is built of.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        command
    }

    /// Whether `cargo nextest` is installed.
    pub fn has_nextest(&self) -> bool {
        let version = self.cargo("nextest --version").output();
        version.is_ok_and(|output| output.status.success())
    }
}

/// Print a command, run it to its end, and fail as it does.
pub fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    println!("$ {shown}");
    let status = command
        .status()
        .with_context(|| format!("{shown} could not be started"))?;
    ensure!(status.success(), "{shown}: {status}");
    Ok(())
}

/// Run a command to its end, and return what it printed to the standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let shown = shown(command);
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .with_context(|| format!("{shown} could not be started"))?;
    ensure!(output.status.success(), "{shown}: {}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

fn shown(command: &Command) -> String {
    let arguments: Vec<_> = command
        .get_args()
        .map(|argument| argument.to_string_lossy())
        .collect();
    format!("cargo {}", arguments.join(" "))
}

/// The cargo that runs this very command, so that both use one toolchain.
fn cargo_path() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn text<'v>(value: &'v Value, field: &str) -> Result<&'v str> {
    value[field]
        .as_str()
        .with_context(|| format!("cargo metadata gives no {field}"))
}
