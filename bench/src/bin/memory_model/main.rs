//! The memory that plans predict for nine models, inference and a step with Adam, against what flex
//! takes; in f32 and in both ways of half precision.
//!
//! Burn fixes the default dtype for the process, so each precision is measured in one of its own.

use std::process::Command;

use anyhow::{Result, ensure};
use burn_fabric::prelude::*;
use burn_fabric_bench::memory_model::{GOAL, Row, measure};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

fn main() -> Result<()> {
    if let Some(name) = std::env::args().nth(1) {
        println!("{}", serde_json::to_string(&measure(name.parse()?)?)?);
        return Ok(());
    }
    println!(
        "{:<22} {:<10} {:<10} {:>13} {:>13} {:>8}",
        "model", "pass", "precision", "predicted", "measured", "off by"
    );
    let mut worst: f64 = 0.0;
    for precision in [Precision::F32, Precision::Bf16, Precision::MixedBf16] {
        let output = Command::new(std::env::current_exe()?)
            .arg(precision.to_string())
            .output()?;
        ensure!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let rows: Vec<Row> = serde_json::from_slice(&output.stdout)?;
        for row in rows {
            println!("{row}");
            worst = worst.max(row.error());
        }
    }
    println!(
        "{}",
        serde_json::json!({"bench": "memory-model", "worst_error": (worst * 1e4).round() / 1e4})
    );
    ensure!(
        worst <= GOAL,
        "a prediction is off by {worst:.3}; the goal is {GOAL}"
    );
    Ok(())
}
