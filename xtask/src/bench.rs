//! Benchmarks against a peer. Each prints one JSON object as its last line.

use anyhow::Result;
use clap::Subcommand;

use crate::workspace::{Workspace, run as run_command};

/// What to measure.
#[derive(Subcommand)]
pub enum Bench {
    /// Initialise 268 million parameters and sum them; peers: PyTorch and eager Burn.
    Init,
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
    let name = match bench {
        Bench::Init => "init",
        Bench::MetaBuild => "meta-build",
        Bench::Step => "step",
    };
    let arguments = format!("run --release --package burn-fabric-bench --bin {name}");
    run_command(&mut workspace.cargo(&arguments))
}
