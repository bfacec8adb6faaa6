//! The example as a command.

use std::process::Command;

use burn_fabric::{Plan, Precision};
use run_common::command::{Place, refusal_at_once, success};
use serde_json::Value;

fn place() -> Place {
    Place::new(env!("CARGO_BIN_EXE_llama-plan"), &[])
}

fn command(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.bare();
    // What is planned with does not decide about what is planned.
    command.env_remove("BURN_FABRIC_ACCELERATOR");
    command.args(arguments);
    command
}

/// What follows a name in the text.
fn value<'t>(text: &'t str, name: &str) -> &'t str {
    let mut lines = text.lines().map(str::trim);
    let line = lines.find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in\n{text}"))
        .trim()
}

fn files(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.folder()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_70b_is_planned_and_nothing_is_written() {
    let place = place();
    let arguments = ["--size", "70b", "--batch", "1", "--sequence", "8192"];
    let text = success(&mut command(
        &place,
        &[&arguments[..], &["--memory", "1600GiB"]].concat(),
    ));
    assert!(text.contains("70,553,706,496"), "{text}");
    assert!(
        text.contains("layers.0 … layers.79 (80 x): Layer"),
        "{text}"
    );
    let recorded: u64 = value(&text, "recorded ").replace(',', "").parse().unwrap();
    let formula: u64 = value(&text, "closed formula")
        .replace(',', "")
        .parse()
        .unwrap();
    let off = (recorded as f64 / formula as f64 - 1.0).abs();
    assert!(off < 0.001, "{off}");
    for title in [
        "inference at a batch of 1, in f32",
        "inference at a batch of 1, in bf16",
        "training at a batch of 1, in f32",
        "training at a batch of 1, in mixed-bf16",
        "training at a batch of 1, in bf16",
    ] {
        assert!(text.lines().any(|line| line == title), "no {title}: {text}");
    }
    assert!(
        text.contains("fits, with") && text.contains("does not fit"),
        "{text}"
    );
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(100), "{widest:?}: {text}");
    assert_eq!(files(&place), [""; 0]);
}

#[test]
fn json_has_every_plan_and_line() {
    let place = place();
    let text = success(&mut command(
        &place,
        &["--sequence", "512", "--memory", "80GB", "--json"],
    ));
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["model"], "Llama 3 8B");
    assert_eq!(json["parameters"], 8_030_261_248_u64);
    // The root, six parts of the model with their tensors, and of each layer 9 modules, 9 tensors.
    let lines = json["summary"]["lines"].as_array().unwrap();
    let of_layer = |line: &&Value| line["path"].as_str().unwrap().starts_with("layers.31.");
    assert!(lines.iter().filter(of_layer).count() >= 18);
    let training: Vec<Plan> = serde_json::from_value(json["training"].clone()).unwrap();
    let precisions = [Precision::F32, Precision::MixedBf16, Precision::Bf16];
    assert_eq!(training.len(), precisions.len());
    // Bytes of a parameter: its own, those of two moments, of a master weight.
    for ((plan, precision), bytes) in training.iter().zip(precisions).zip([12, 14, 6]) {
        assert_eq!(plan.precision, Some(precision));
        assert_eq!(plan.budget, Some(80_000_000_000));
        let memory = &plan.memory;
        let held = memory.parameters + memory.optimizer_state + memory.master_weights;
        assert_eq!(held, bytes * 8_030_261_248);
        assert_eq!(plan.fits(), precision == Precision::Bf16, "{plan}");
    }
    let inference: Vec<Plan> = serde_json::from_value(json["inference"].clone()).unwrap();
    assert!(inference.iter().all(Plan::fits));
}

#[test]
fn pictures_are_drawn_where_they_are_asked_for() {
    let place = place();
    let arguments = [
        "--size",
        "tiny",
        "--sequence",
        "32",
        "--pictures",
        "drawn/here",
    ];
    success(&mut command(&place, &arguments));
    for name in [
        "memory-inference-f32",
        "memory-inference-bf16",
        "memory-training-f32",
        "memory-training-mixed-bf16",
        "memory-training-bf16",
        "modules",
    ] {
        for ending in ["svg", "png"] {
            let path = place.out("drawn/here").join(format!("{name}.{ending}"));
            assert!(path.metadata().unwrap().len() > 1000, "{}", path.display());
        }
    }
    assert_eq!(files(&place), ["drawn"]);
}

#[test]
fn a_folder_that_cannot_be_made_is_told_before_anything_is_planned() {
    let place = place();
    std::fs::write(place.out("file"), "mine").unwrap();
    let error = refusal_at_once(&mut command(&place, &["--pictures", "file/in"]), 1);
    assert!(error.contains("cannot create the folder"), "{error}");
}

#[test]
fn the_tiny_model_is_run_and_trained() {
    let text = success(&mut command(&place(), &["--tiny", "--device", "flex"]));
    assert!(text.contains("from PyTorch"), "{text}");
    let loss = |step: &str| value(&text, &format!("{step} ")).parse::<f64>().unwrap();
    assert!(loss("1") > 4.0 && loss("100") < 2.0, "{text}");
}

#[test]
fn wrong_arguments_are_exit_code_2() {
    place().wrong_values(&[
        (&["--size", "13b"], "'--size <SIZE>'"),
        (&["--batch", "0"], "whole number from 1"),
        (&["--sequence", "many"], "whole number from 1"),
        (&["--memory", "80 apples"], "give bytes as in 80GiB"),
        (&["--device", "abacus"], "no accelerator is called `abacus`"),
        (&["--tiny", "--json"], "'--tiny'"),
        (&["--colour"], "'--colour'"),
    ]);
}

#[test]
fn help_lists_the_options() {
    let help = success(place().bare().arg("--help"));
    for option in [
        "--size",
        "--batch",
        "--sequence",
        "--memory",
        "--pictures",
        "--json",
        "--tiny",
        "--device",
    ] {
        assert!(help.contains(option), "{option}: {help}");
    }
}
