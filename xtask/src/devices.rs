//! The tests on each device: one build of everything with all that is needed, and every test program
//! that concerns devices run once for each.

mod tally;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use self::tally::{CANNOT, Ran, compare, table};
use crate::libtorch::LibTorch;
use crate::workspace::{Workspace, output};

/// The crates whose tests concern devices.
const PACKAGES: [&str; 5] = [
    "burn-meta",
    "burn-materialize",
    "burn-fabric",
    "digits",
    "minilm",
];

/// Programs that compare what the compiler says, where no device takes part.
const WITHOUT_DEVICE: [&str; 2] = ["compile_fail", "refused_by_the_compiler"];

/// The program that opens the device as a user does, and the variable that names it.
const PROBE: &str = "devices";
const VARIABLE: &str = "BURN_FABRIC_ACCELERATOR";

/// Where the tests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TestDevice {
    /// The embedded CPU device.
    Flex,
    /// Vulkan, on a software adapter where there is no GPU.
    Wgpu,
    /// libtorch on the CPU, prepared as `cargo xtask libtorch` does.
    Libtorch,
    /// Each of them.
    All,
}

impl TestDevice {
    /// The devices that these stand for, each once, in the order of the list above.
    pub fn each(named: &[Self]) -> Vec<Self> {
        let has = |device: &Self| named.contains(device) || named.contains(&Self::All);
        let each = [Self::Flex, Self::Wgpu, Self::Libtorch].into_iter();
        each.filter(has).collect()
    }

    /// What a Fabric calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Flex => "flex",
            Self::Wgpu => "wgpu",
            Self::Libtorch => "libtorch",
            Self::All => "all",
        }
    }

    /// The feature that brings it, beside the default ones.
    pub fn feature(self) -> Option<&'static str> {
        match self {
            Self::Flex | Self::All => None,
            Self::Wgpu | Self::Libtorch => Some(self.name()),
        }
    }

    /// What may be missing where it does not open.
    fn help(self) -> &'static str {
        match self {
            Self::Wgpu => {
                "there may be no Vulkan adapter: install a graphics driver, or one in software \
                 (Debian: mesa-vulkan-drivers and libvulkan1)"
            }
            Self::Libtorch => "libtorch may not load: see cargo xtask libtorch",
            Self::Flex | Self::All => "nothing is known that would stop it",
        }
    }
}

/// Run the tests on each of `devices`. Fails where one fails, where a device is not there, and where
/// devices ran other numbers of tests than the list of what they cannot do accounts for.
pub fn run(workspace: &Workspace, devices: &[TestDevice]) -> Result<()> {
    let devices = TestDevice::each(devices);
    let environment = match devices.contains(&TestDevice::Libtorch) {
        true => LibTorch::prepare(workspace)?.environment()?.to_vec(),
        false => Vec::new(),
    };
    let programs = build(workspace, &devices, &environment)?;
    let mut ran = Vec::new();
    let mut failed = Vec::new();
    for device in devices {
        println!("\n== {}", device.name());
        match run_all(&programs, device, &environment) {
            Ok(result) => ran.push((device, result)),
            // The others are still worth knowing.
            Err(error) => failed.push(format!("{error:#}")),
        }
    }
    print!("\n{}", table(&ran));
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    compare(&ran)
}

/// A test program.
struct Program {
    package: String,
    name: String,
    path: PathBuf,
    /// Where cargo would run it.
    folder: PathBuf,
}

type Environment = [(&'static str, OsString)];

fn build(
    workspace: &Workspace,
    devices: &[TestDevice],
    environment: &Environment,
) -> Result<Vec<Program>> {
    let arguments = format!(
        "test --no-run --workspace --tests --message-format json-render-diagnostics{}",
        features(devices)
    );
    println!("$ cargo {arguments}");
    let mut command = workspace.cargo(&arguments);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let mut programs = programs(&output(&mut command)?)?;
    // The probe first.
    programs.sort_by_key(|program| program.name != PROBE);
    ensure!(
        programs.first().is_some_and(|first| first.name == PROBE),
        "cargo built no test program `{PROBE}`"
    );
    Ok(programs)
}

/// What builds the tests of the workspace with these devices, after a space.
pub fn features(devices: &[TestDevice]) -> String {
    let features = devices.iter().filter_map(|device| device.feature());
    let features = features.flat_map(|feature| {
        ["burn-fabric", "device-under-test"].map(|package| format!("{package}/{feature}"))
    });
    let features: Vec<String> = features.collect();
    match features.is_empty() {
        true => String::new(),
        false => format!(" --features {}", features.join(",")),
    }
}

/// The programs that cargo says it built.
fn programs(messages: &str) -> Result<Vec<Program>> {
    let mut programs = Vec::new();
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line)?;
        let is_test = message["profile"]["test"] == true;
        let (Some(path), true) = (message["executable"].as_str(), is_test) else {
            continue;
        };
        let manifest = message["manifest_path"].as_str();
        let folder = manifest.and_then(|path| Path::new(path).parent());
        let folder = folder.context("cargo gives no manifest_path")?.to_owned();
        let package = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let name = message["target"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if PACKAGES.contains(&package.as_str()) && !WITHOUT_DEVICE.contains(&name.as_str()) {
            programs.push(Program {
                package,
                name,
                path: path.into(),
                folder,
            });
        }
    }
    Ok(programs)
}

fn run_all(programs: &[Program], device: TestDevice, environment: &Environment) -> Result<Ran> {
    let mut ran = Ran::default();
    let mut failed = Vec::new();
    for program in programs {
        let start = Instant::now();
        let cannot = cannot(program, device, environment)?;
        let mut arguments = vec!["--exact"];
        for name in &cannot {
            arguments.extend(["--skip", name]);
        }
        let (passes, text) = call(program, device, environment, &arguments)?;
        let shown = format!("{}: {}", program.package, program.name);
        if !passes {
            println!("{text}");
            if program.name == PROBE {
                bail!("{} cannot be used here: {}", device.name(), device.help());
            }
            failed.push(shown);
            continue;
        }
        let passed = passed(&text).with_context(|| format!("{shown} tells no result"))?;
        let time = start.elapsed().as_secs_f64();
        println!("{shown:<40} {passed:>4} passed {time:>8.1} s");
        ran.passed += passed;
        let listed = CANNOT.iter().map(|(_, name)| *name);
        let listed = listed.filter(|name| cannot.iter().any(|path| ends_with(path, name)));
        ran.cannot.extend(listed);
    }
    ensure!(
        failed.is_empty(),
        "on {} tests failed in:\n  {}",
        device.name(),
        failed.join("\n  ")
    );
    Ok(ran)
}

/// The tests of a program that are on the device's list, by their paths, once each has failed.
fn cannot(program: &Program, device: TestDevice, environment: &Environment) -> Result<Vec<String>> {
    let listed: Vec<&str> = CANNOT
        .iter()
        .filter(|(on, _)| *on == device)
        .map(|(_, name)| *name)
        .collect();
    if listed.is_empty() {
        return Ok(Vec::new());
    }
    let (_, listing) = call(
        program,
        device,
        environment,
        &["--list", "--format", "terse"],
    )?;
    let paths = listing
        .lines()
        .filter_map(|line| line.strip_suffix(": test"));
    let paths: Vec<String> = paths
        .filter(|path| listed.iter().any(|name| ends_with(path, name)))
        .map(str::to_owned)
        .collect();
    for path in &paths {
        let (passes, _) = call(program, device, environment, &["--exact", path])?;
        ensure!(
            !passes,
            "{path} passes on {}: take it off the list of what it cannot do",
            device.name()
        );
    }
    Ok(paths)
}

/// Whether a path of modules ends with a test's name.
fn ends_with(path: &str, name: &str) -> bool {
    path.rsplit("::").next() == Some(name)
}

/// Run a program; whether it succeeds, and what it prints.
fn call(
    program: &Program,
    device: TestDevice,
    environment: &Environment,
    arguments: &[&str],
) -> Result<(bool, String)> {
    let mut command = Command::new(&program.path);
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // Mesa complains without one, a line for each look at an adapter.
        command.env("XDG_RUNTIME_DIR", std::env::temp_dir());
    }
    let output = command
        .args(arguments)
        .current_dir(&program.folder)
        .env(VARIABLE, device.name())
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .output()
        .with_context(|| program.path.display().to_string())?;
    let text = [output.stdout, output.stderr].concat();
    Ok((
        output.status.success(),
        String::from_utf8_lossy(&text).into_owned(),
    ))
}

/// How many tests passed, by the last line of a test program.
fn passed(text: &str) -> Option<usize> {
    let result = text
        .lines()
        .find_map(|line| line.strip_prefix("test result: ok. "))?;
    result.split(" passed").next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_each_named_once() {
        use TestDevice::{All, Flex, Libtorch, Wgpu};
        assert_eq!(TestDevice::each(&[All, Wgpu]), [Flex, Wgpu, Libtorch]);
        assert_eq!(TestDevice::each(&[Libtorch, Wgpu, Wgpu]), [Wgpu, Libtorch]);
        assert_eq!(TestDevice::each(&[]), []);
    }

    #[test]
    fn devices_bring_their_features_to_both_packages() {
        let devices = TestDevice::each(&[TestDevice::All]);
        assert_eq!(
            features(&devices),
            " --features burn-fabric/wgpu,device-under-test/wgpu,burn-fabric/libtorch,\
             device-under-test/libtorch"
        );
        assert_eq!(features(&[TestDevice::Flex]), "");
    }

    #[test]
    fn results_are_read_from_what_a_test_program_prints() {
        let text = "running 2 tests\n\ntest result: ok. 2 passed; 0 failed; 0 ignored\n";
        assert_eq!(passed(text), Some(2));
        assert_eq!(passed("test result: FAILED. 1 passed; 1 failed"), None);
    }

    #[test]
    fn test_programs_are_found_among_the_messages_of_cargo() {
        let message = |name: &str, test: bool| {
            format!(
                r#"{{"profile":{{"test":{test}}},"executable":"/t/{name}","manifest_path":"/w/crates/burn-meta/Cargo.toml","target":{{"name":"{name}"}}}}"#
            )
        };
        let messages = [
            message("recording", true),
            message("compile_fail", true),
            message("main", false),
            r#"{"reason":"build-finished"}"#.to_owned(),
        ];
        let found = programs(&messages.join("\n")).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].package.as_str(), found[0].name.as_str()),
            ("burn-meta", "recording")
        );
    }
}
