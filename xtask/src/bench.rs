//! Benchmarks against a peer. Each prints one JSON object as its last line.

use anyhow::Result;
use clap::Subcommand;

use crate::devices::TestDevice;
use crate::libtorch::LibTorch;
use crate::workspace::{Workspace, run as run_command};

/// What to measure.
#[derive(Subcommand)]
pub enum Bench {
    /// Initialise 268 million parameters and sum them; peers: PyTorch and eager Burn.
    Init {
        /// Time the same model on this device as well; there is no goal for it.
        #[arg(long)]
        device: Option<TestDevice>,
    },
    /// Build a module of 70.55 billion parameters on the meta device; peer: PyTorch's meta device.
    ///
    /// The first run makes a Python environment with PyTorch in the target directory (6.8 GB).
    MetaBuild,
    /// Train the digits and a transformer of ten million parameters; peer: the same loop in plain
    /// Burn.
    Step,
}

/// Build the benchmark optimised and run it.
pub fn run(workspace: &Workspace, bench: &Bench) -> Result<()> {
    let (name, device) = match bench {
        Bench::Init { device } => ("init", *device),
        Bench::MetaBuild => ("meta-build", None),
        Bench::Step => ("step", None),
    };
    let devices = device.map(TestDevice::each).unwrap_or_default();
    let mut arguments = format!("run --release --package burn-fabric-bench --bin {name}");
    for feature in devices.iter().filter_map(|device| device.feature()) {
        arguments.push_str(&format!(" --features burn-fabric/{feature}"));
    }
    arguments.push_str(" --");
    for device in &devices {
        arguments.push_str(&format!(" {}", device.name()));
    }
    let mut command = workspace.cargo(&arguments);
    if devices.contains(&TestDevice::Libtorch) {
        command.envs(LibTorch::prepare(workspace)?.environment()?);
    }
    run_command(&mut command)
}
