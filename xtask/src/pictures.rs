//! The pictures of the documentation.

use anyhow::Result;

use crate::workspace::{Workspace, run};

/// Where they lie.
const FOLDER: &str = "docs/pictures";

/// Draw all of them, with the example that can.
pub fn draw(workspace: &Workspace) -> Result<()> {
    let example = "run --package burn-fabric --features pictures --example pictures";
    run(&mut workspace.cargo(&format!("{example} -- {FOLDER}")))
}
