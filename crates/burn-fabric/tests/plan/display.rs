//! A plan as people read it.

use burn::optim::AdamWConfig;
use burn_fabric::prelude::*;
use burn_fabric::{Help, Plan};

use super::model::{forward, loss, meta};

#[test]
fn a_plan_is_a_table_that_aligns_and_adds_up() {
    let meta = meta();
    let request = Plan::of(&meta).budget(2 << 20).batch(64);
    let request = request.precision(Precision::MixedBf16).accumulate(2);
    let plan = request.training(AdamWConfig::new(), loss).unwrap();
    let text = plan.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "training at a batch of 64, 2 a step, in mixed-bf16"
    );
    for (line, start) in lines[1..].iter().zip([
        "parameters",
        "buffers",
        "optimizer state",
        "master weights",
        "pass",
        "-----",
        "at once",
        "budget",
    ]) {
        assert!(line.starts_with(start), "{text}");
    }
    // The bytes stand under one another.
    let end = |line: &str| line.find("iB").or_else(|| line.find(" B")).unwrap();
    let rows = [1, 2, 3, 4, 5, 7, 8].map(|row| end(lines[row]));
    assert!(rows.iter().all(|&at| at == rows[0]), "{text}");
    assert!(text.contains("does not fit"), "{text}");
    assert!(text.contains("what would help"), "{text}");
    assert!(
        lines.iter().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    assert!(lines.iter().all(|line| *line == line.trim_end()), "{text}");
}

#[test]
fn a_plan_that_fits_says_how_much_is_left() {
    let meta = meta();
    let plan = Plan::of(&meta).budget(1 << 30).inference(forward).unwrap();
    let text = plan.to_string();
    assert!(text.starts_with("inference at a batch of 1\n"), "{text}");
    assert!(text.contains("fits, with") && text.contains("the largest batch that fits is"));
    assert!(!text.contains("what would help"), "{text}");
    let without_budget = Plan::of(&meta).inference(forward).unwrap().to_string();
    assert!(!without_budget.contains("budget"), "{without_budget}");
}

#[test]
fn a_help_is_a_sentence() {
    let meta = meta();
    let request = Plan::of(&meta).budget(1 << 20).batch(64);
    let plan = request.training(AdamWConfig::new(), loss).unwrap();
    let helps: Vec<String> = plan.helps.iter().map(Help::to_string).collect();
    assert!(
        helps
            .iter()
            .any(|help| help.starts_with("gradient checkpointing saves "))
    );
    let half = "a batch of 32, 2 a step saves ";
    assert!(helps.iter().any(|help| help.starts_with(half)), "{helps:?}");
}
