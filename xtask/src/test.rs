//! Running the tests, and checking that those that must exist do.

use std::collections::BTreeSet;

use anyhow::{Result, bail};

use crate::devices::{TestDevice, features};
use crate::expected::{Expected, expected};
use crate::workspace::{Workspace, output, run as run_command};

/// Check the names, then run everything.
pub fn run(workspace: &Workspace) -> Result<()> {
    check_names(workspace, &[])?;
    run_tests(workspace)?;
    run_doc_tests(workspace)
}

/// Run every test that is no doc test.
pub fn run_tests(workspace: &Workspace) -> Result<()> {
    let runner = match workspace.has_nextest() {
        true => "nextest run --workspace",
        false => "test --workspace --lib --bins --tests",
    };
    run_command(&mut workspace.cargo(runner))
}

/// Run every doc test; no other runner than cargo's knows them.
pub fn run_doc_tests(workspace: &Workspace) -> Result<()> {
    run_command(&mut workspace.cargo("test --workspace --doc"))
}

/// Fail with the list of the tests that must exist and do not, in the build with these devices beside
/// flex.
pub fn check_names(workspace: &Workspace, devices: &[TestDevice]) -> Result<()> {
    let expected = expected(workspace)?;
    let features = features(&TestDevice::each(devices));
    let ignored = list(workspace, &features, "--ignored")?;
    let all = list(workspace, &features, "")?;
    let active: BTreeSet<String> = all.difference(&ignored).cloned().collect();
    let missing: Vec<&Expected> = expected
        .iter()
        .filter(|expected| !expected.is_among(&active))
        .collect();
    if missing.is_empty() {
        println!("all {} tests that must exist do", expected.len());
        return Ok(());
    }
    let lines: Vec<String> = missing
        .iter()
        .map(|missing| format!("  {missing}"))
        .collect();
    bail!(
        "{} of {} tests that must exist do not, or are ignored:\n{}",
        missing.len(),
        expected.len(),
        lines.join("\n")
    )
}

/// The names of all tests, without the modules they are in, as the runner lists them.
fn list(workspace: &Workspace, features: &str, filter: &str) -> Result<BTreeSet<String>> {
    let build = format!("test --workspace --lib --bins --tests{features}");
    let arguments = format!("{build} -- --list --format terse {filter}");
    let listing = output(&mut workspace.cargo(&arguments))?;
    Ok(names(&listing))
}

fn names(listing: &str) -> BTreeSet<String> {
    let paths = listing
        .lines()
        .filter_map(|line| line.strip_suffix(": test"));
    paths
        .map(|path| path.rsplit("::").next().unwrap_or(path).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_listing_gives_names_without_modules() {
        let names = names("linear::module_linear: test\ncase_01_x: test\nslow: benchmark\n");
        assert_eq!(Vec::from_iter(names), ["case_01_x", "module_linear"]);
    }
}
