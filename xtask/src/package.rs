//! What each library crate would publish.

use anyhow::{Result, ensure};

use crate::workspace::{Workspace, output, run};

/// What must be in every package.
const FILES: [&str; 4] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "src/lib.rs"];

/// Package every library crate, offline: `cargo metadata` has fetched what that takes. `verify`
/// also builds each package by itself, which compiles Burn once more.
pub fn check(workspace: &Workspace, verify: bool) -> Result<()> {
    let crates = workspace.library_crates()?;
    let mut command = workspace.cargo("package --offline --allow-dirty");
    for name in &crates {
        command.args(["--package", name]);
        let listing = format!("package --offline --allow-dirty --list --package {name}");
        let listing = output(&mut workspace.cargo(&listing))?;
        let is_missing = |file: &&&str| !listing.lines().any(|listed| listed == **file);
        let missing: Vec<&&str> = FILES.iter().filter(is_missing).collect();
        ensure!(
            missing.is_empty(),
            "the package of {name} would lack {missing:?}"
        );
    }
    if !verify {
        command.arg("--no-verify");
    }
    run(&mut command)
}
