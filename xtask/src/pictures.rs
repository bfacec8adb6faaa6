//! The pictures of the documentation.

use std::fs;

use anyhow::{Context, Result};

use crate::workspace::{Workspace, run};

/// Where they lie.
const FOLDER: &str = "docs/pictures";

/// Those of a plan of Llama 3 8B that are shown, and as what.
const OF_LLAMA: [(&str, &str); 2] = [("memory-training-bf16", "memory"), ("modules", "modules")];

/// Draw all of them, with the examples that can.
pub fn draw(workspace: &Workspace) -> Result<()> {
    let example = "run --package burn-fabric --features pictures --example pictures";
    run(&mut workspace.cargo(&format!("{example} -- {FOLDER}")))?;

    let drawn = workspace.target()?.join("llama-pictures");
    let plan = "run --release --package llama-plan -- --memory 80GiB --pictures";
    run(workspace.cargo(plan).arg(&drawn))?;
    for (name, shown) in OF_LLAMA {
        for ending in ["svg", "png"] {
            let from = drawn.join(format!("{name}.{ending}"));
            let to = workspace
                .root()
                .join(FOLDER)
                .join(format!("{shown}.{ending}"));
            fs::copy(&from, &to).with_context(|| from.display().to_string())?;
        }
    }
    Ok(())
}
