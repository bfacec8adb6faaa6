//! The one local gate, cheapest first. Continuous integration calls the same commands.

use anyhow::Result;

use crate::devices::TestDevice;
use crate::steps::{Step, run_all};
use crate::workspace::{Workspace, run as run_command};
use crate::{docs, package, test};

/// Run every check; with `skip_tests` the tests are only checked for their names, with `skip_lints`
/// nothing is compiled for clippy, rustdoc or the programs. The names are those of the build with
/// `devices` beside flex.
pub fn run(
    workspace: &Workspace,
    skip_tests: bool,
    skip_lints: bool,
    devices: &[TestDevice],
) -> Result<()> {
    let cargo = |arguments| run_cargo(workspace, arguments);
    let mut steps = vec![
        Step::new("format", move || cargo("fmt --all --check")),
        Step::new("error docs", || docs::check(workspace)),
        Step::new("package", || package::check(workspace, false)),
    ];
    if !skip_lints {
        steps.push(Step::new("clippy", move || {
            cargo("clippy --workspace --all-targets -- -D warnings")
        }));
        steps.push(Step::new("rustdoc", || rustdoc(workspace)));
    }
    steps.push(Step::new("test names", || {
        test::check_names(workspace, devices)
    }));
    if !skip_tests {
        steps.push(Step::new("tests", || test::run_tests(workspace)));
        steps.push(Step::new("doc tests", || test::run_doc_tests(workspace)));
    }
    if !skip_lints {
        steps.push(Step::new("examples", move || {
            cargo("build --workspace --bins --examples")
        }));
    }
    run_all(&steps)
}

fn run_cargo(workspace: &Workspace, arguments: &str) -> Result<()> {
    run_command(&mut workspace.cargo(arguments))
}

fn rustdoc(workspace: &Workspace) -> Result<()> {
    let mut command = workspace.cargo("doc --workspace --no-deps");
    run_command(command.env("RUSTDOCFLAGS", "-D warnings"))
}
