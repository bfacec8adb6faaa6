//! What each library crate would publish.

use anyhow::{Result, ensure};

use crate::workspace::{Workspace, output, run};

/// What must be in every package.
const FILES: [&str; 3] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT"];

/// And one of these.
const ROOTS: [&str; 2] = ["src/lib.rs", "src/main.rs"];

/// Package every library crate, offline: `cargo metadata` has fetched what that takes. `verify`
/// also builds each package by itself, which compiles Burn once more.
pub fn check(workspace: &Workspace, verify: bool) -> Result<()> {
    let crates = workspace.library_crates()?;
    let mut command = workspace.cargo("package --offline --allow-dirty");
    for name in &crates {
        command.args(["--package", name]);
        let listing = format!("package --offline --allow-dirty --list --package {name}");
        let listing = output(&mut workspace.cargo(&listing))?;
        let is_there = |file: &&str| listing.lines().any(|listed| listed == *file);
        let missing: Vec<&&str> = FILES.iter().filter(|file| !is_there(file)).collect();
        ensure!(
            missing.is_empty() && ROOTS.iter().any(is_there),
            "the package of {name} would lack {missing:?} or both of {ROOTS:?}"
        );
    }
    if !verify {
        command.arg("--no-verify");
    }
    run(&mut command)
}
