//! Benchmarks against a peer. Each prints one JSON object as its last line.

use anyhow::Result;
use clap::Subcommand;

use crate::devices::TestDevice;
use crate::libtorch::LibTorch;
use crate::workspace::{Workspace, run as run_command};

/// What to measure.
#[derive(Subcommand)]
pub enum Bench {
    /// An epoch of Fashion-MNIST in batches, with workers and without; peer: Burn's own loader.
    ///
    /// The files come from `cargo xtask assets fashion`.
    Data,
    /// Initialise 268 million parameters and sum them; peers: PyTorch and eager Burn.
    Init {
        /// Time the same model on this device as well; there is no goal for it.
        #[arg(long)]
        device: Option<TestDevice>,
    },
    /// Load 16 linear layers of 4096 by 4096 (1.07 GB) from safetensors; peers: burn-store and PyTorch.
    ///
    /// Needs 6 GB in the target directory while it runs, 10 GB of memory and ten minutes. The first
    /// run makes a Python environment with PyTorch in the target directory (6.8 GB).
    Load {
        /// Time the load onto this device as well, against burn-store.
        #[arg(long)]
        device: Option<TestDevice>,
    },
    /// The memory that plans predict for nine models, inference and a step with Adam, against what is
    /// allocated on flex.
    MemoryModel,
    /// Build a module of 70.55 billion parameters on the meta device; peer: PyTorch's meta device.
    ///
    /// The first run makes a Python environment with PyTorch in the target directory (6.8 GB).
    MetaBuild,
    /// From process start to the first embedding of all-MiniLM-L6-v2; peer: PyTorch.
    ///
    /// The weights come from `cargo xtask assets minilm`.
    Minilm,
    /// What weights, gradients, master weights and moments take in each precision, against the
    /// documentation; and the time of a step.
    Precision,
    /// Save 16 linear layers of 4096 by 4096 with Adam's state (3.2 GB), and load them again; peer:
    /// PyTorch.
    ///
    /// Needs 10 GB in the target directory while it runs, 16 GB of memory and five minutes. The first
    /// run makes a Python environment with PyTorch in the target directory (6.8 GB).
    Save,
    /// Train the digits and a transformer of ten million parameters; peer: the same loop in plain
    /// Burn.
    Step,
    /// Summarise a module of 100,000 tensors and print it; it has no peer.
    Summary,
    /// Build Llama 3 8B and trace its forward pass, with costs and memory; peer: PyTorch's
    /// `FakeTensorMode` with `FlopCounterMode`.
    ///
    /// The first run makes a Python environment with PyTorch in the target directory (6.8 GB).
    Trace,
}

/// Build the benchmark optimised and run it.
pub fn run(workspace: &Workspace, bench: &Bench) -> Result<()> {
    let (name, device) = match bench {
        Bench::Data => ("data", None),
        Bench::Init { device } => ("init", *device),
        Bench::Load { device } => ("load", *device),
        Bench::MemoryModel => ("memory-model", None),
        Bench::MetaBuild => ("meta-build", None),
        Bench::Minilm => ("minilm-start", None),
        Bench::Precision => ("precision", None),
        Bench::Save => ("save", None),
        Bench::Step => ("step", None),
        Bench::Summary => ("summary", None),
        Bench::Trace => ("trace", None),
    };
    if matches!(bench, Bench::Minilm) {
        // What is timed.
        run_command(&mut workspace.cargo("build --release --package minilm"))?;
    }
    let devices = TestDevice::each(device.as_slice());
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
