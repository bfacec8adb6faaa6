//! The example as a command, on a small text made here.

use std::fs;
use std::process::Command;

use burn_fabric::prelude::*;
use run_common::command::{Place, hash, interrupt, refusal, refusal_at_once, success};

const SIZE: &[&str] = &[
    "--data",
    ".",
    "--context",
    "16",
    "--width",
    "16",
    "--layers",
    "2",
    "--heads",
    "2",
    "--batch",
    "8",
    "--accumulate",
    "2",
    "--warm-up",
    "3",
    "--test-windows",
    "32",
    "--sample",
    "40",
    "--rate",
    "0.01",
    "--device",
    "flex",
];

fn place() -> Place {
    let place = Place::new(env!("CARGO_BIN_EXE_shakespeare"), SIZE);
    // Sentences of a small grammar: enough to learn from.
    let (nouns, verbs) = (
        ["king", "queen", "fool", "moor"],
        ["loves", "slays", "sees"],
    );
    let mut noise = 1_u32;
    let mut next = |of: &[&str]| -> String {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        of[(noise >> 16) as usize % of.len()].to_owned()
    };
    for name in ["a.txt", "b.txt", "c.txt"] {
        let sentence = |_| {
            format!(
                "the {} {} the {}.\n",
                next(&nouns),
                next(&verbs),
                next(&nouns)
            )
        };
        let text: String = (0..150).map(sentence).collect();
        fs::write(place.out(name), text).unwrap();
    }
    place
}

/// The command of a run with these options, also in the place of those of all runs: one that is given
/// twice would be refused for that.
fn instead(place: &Place, out: &str, arguments: &[&str]) -> Command {
    let others = SIZE
        .chunks(2)
        .filter(|option| !arguments.contains(&option[0]));
    let mut command = place.bare();
    command.args(["--out", out]);
    command.args(others.flatten()).args(arguments);
    command
}

/// Step, loss and test loss of each test.
fn curve(printed: &str) -> Vec<[f64; 3]> {
    let lines = printed.lines().filter(|line| line.ends_with(" s"));
    let numbers = lines.map(|line| {
        let numbers: Vec<f64> = line
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        [numbers[0], numbers[1], numbers[2]]
    });
    numbers.collect()
}

#[test]
fn a_wrong_value_gets_one_line_and_exit_code_2() {
    let cases: &[(&[&str], &str)] = &[
        (&["--steps", "0"], "--steps"),
        (&["--temperature", "-1"], "'-1'"),
        (&["--clip-norm", "nan"], "give a number from"),
        (&["--patience", "0"], "--patience"),
        (&["--context", "3"], "give a whole number from 4"),
        (&["--prompt", ""], "at least one character"),
        (&["--precision", "f8"], "no precision is called `f8`"),
        (&["--device", "abacus"], "no accelerator is called `abacus`"),
        (&["--colour"], "'--colour'"),
    ];
    place().wrong_values(cases);
}

#[test]
fn what_does_not_go_together_gets_one_line_and_exit_code_1() {
    let place = place();
    let cases: &[(&[&str], &str)] = &[
        (&["--width", "18"], "give a multiple of 4"),
        (&["--steps", "3"], "`--warm-up` 3 of 3 steps"),
        (&["--context", "4096"], "give a smaller `--context`"),
        (&["--prompt", "Q"], "`--prompt` has 'Q'"),
        (&["--resume"], "holds no checkpoint"),
    ];
    for (arguments, part) in cases {
        let error = refusal(&mut instead(&place, "out", arguments), 1);
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
}

#[test]
fn texts_that_were_not_fetched_are_exit_code_1_and_the_command_to_fetch_them() {
    let nowhere = Place::new(env!("CARGO_BIN_EXE_shakespeare"), &[]);
    let mut command = nowhere.bare();
    command.env(test_assets::FOLDER_VARIABLE, nowhere.folder());
    let error = refusal_at_once(&mut command, 1);
    assert!(error.contains("cargo xtask assets shakespeare"), "{error}");
    assert_eq!(fs::read_dir(nowhere.folder()).unwrap().count(), 0);
}

#[test]
fn a_short_run_learns_and_its_text_is_of_known_symbols_and_the_seeds() {
    let place = place();
    let arguments = ["--steps", "40", "--test-every", "10", "--seed", "5"];
    let first = place.train("first", &arguments);
    for part in [
        "0 bytes allocated",
        "= embedding.weight",
        "(1 more by ties)",
        "held out: c, ",
        "\ntie: embedding.weight and head.weight are one tensor\n",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    let curve = curve(&first);
    let steps: Vec<f64> = curve.iter().map(|[step, ..]| *step).collect();
    assert_eq!(steps, [10.0, 20.0, 30.0, 40.0]);
    assert!(curve[3][2] < 0.8 * curve[0][2], "{curve:?}");

    // A row a step, and one of names.
    let metrics = fs::read_to_string(place.out("first/metrics.csv")).unwrap();
    assert_eq!(metrics.lines().count(), 41);
    let curves = fs::read_to_string(place.out("first/curves.svg")).unwrap();
    for name in ["train/loss", "test/loss", "train/norm", "rate"] {
        assert!(curves.lines().any(|line| line.trim() == name), "{name}");
    }
    assert!(place.out("first/curves.png").exists());
    let events = fs::read_dir(place.out("first/tensorboard")).unwrap();
    assert_eq!(events.count(), 1);

    let sample = fs::read_to_string(place.out("first/sample.txt")).unwrap();
    assert_eq!(sample.chars().count(), 42);
    assert!(first.contains(&sample));
    let known = fs::read_to_string(place.out("a.txt")).unwrap();
    assert!(
        sample.chars().all(|symbol| known.contains(symbol)),
        "{sample}"
    );

    let second = place.train("second", &[&arguments[..], &["--workers", "0"]].concat());
    assert_eq!(hash(&second), hash(&first));
    assert_eq!(
        fs::read_to_string(place.out("second/sample.txt")).unwrap(),
        sample
    );
    let other = place.train(
        "other",
        &["--steps", "40", "--test-every", "40", "--seed", "6"],
    );
    assert_ne!(hash(&other), hash(&first));
    assert_ne!(
        fs::read_to_string(place.out("other/sample.txt")).unwrap(),
        sample
    );

    // The tie is in the file once.
    let weights = Weights::open(place.out("first/weights.safetensors")).unwrap();
    let names: Vec<&str> = weights.checkpoint().names().collect();
    assert!(names.contains(&"embedding.weight"), "{names:?}");
    assert!(!names.contains(&"head.weight"), "{names:?}");
}

#[test]
fn greedy_sampling_follows_the_prompt() {
    let place = place();
    let arguments = ["--steps", "60", "--test-every", "60", "--temperature", "0"];
    place.train("out", &[&arguments[..], &["--prompt", "the "]].concat());
    let sample = fs::read_to_string(place.out("out/sample.txt")).unwrap();
    assert!(sample.starts_with("the "), "{sample}");
}

#[test]
fn a_run_of_another_length_is_another_run() {
    let place = place();
    place.train("run", &["--steps", "6", "--test-every", "3"]);
    let error = place.refusal("run", &["--steps", "7", "--test-every", "3", "--resume"]);
    assert!(error.contains("another schedule"), "{error}");
    let error = place.refusal(
        "run",
        &[
            "--steps",
            "6",
            "--test-every",
            "3",
            "--seed",
            "9",
            "--resume",
        ],
    );
    assert!(error.contains("this one was told seed 9"), "{error}");
    assert!(place.out("run/weights.safetensors").exists());
}

#[test]
fn a_run_out_of_patience_ends_early_and_so_does_one_that_goes_on() {
    let place = place();
    // At such a rate it learns nothing for long.
    let wild = ["--steps", "60", "--test-every", "1", "--rate", "1"];
    let arguments = [&wild[..], &["--patience", "2"]].concat();
    let run = |out: &str, arguments: &[&str]| success(&mut instead(&place, out, arguments));
    let whole = run("whole", &arguments);
    let losses: Vec<f64> = curve(&whole).iter().map(|[.., loss]| *loss).collect();
    let best = |losses: &[f64]| losses.iter().copied().fold(f64::INFINITY, f64::min);
    // The first two in a row that are no better than the best before them.
    let is_end = |end: usize| best(&losses[end - 2..end]) >= best(&losses[..end - 2]);
    let step = (3..60).find(|end| *end <= losses.len() && is_end(*end));
    let step = step.expect("an early end");
    assert_eq!(losses.len(), step, "{whole}");
    let reason = format!("\nended early, after step {step}: EarlyStopping: `test_loss` ");
    assert!(whole.contains(&reason), "{whole}");
    let metrics = fs::read_to_string(place.out("whole/metrics.csv")).unwrap();
    assert_eq!(metrics.lines().count(), 1 + step);

    // Of its last step but one, the first of the two.
    let checkpoint = format!("whole/checkpoints/step-{:09}", step - 1);
    let again = run(
        "again",
        &[&arguments[..], &["--resume", &checkpoint]].concat(),
    );
    assert!(again.contains(&reason), "{again}");
    assert_eq!(hash(&again), hash(&whole));
    // It is over, and has nothing left to do.
    let over = run("whole", &[&arguments[..], &["--resume"]].concat());
    assert!(over.contains(&reason), "{over}");
    assert_eq!(hash(&over), hash(&whole));

    // Another patience is another run.
    for (patience, part) in [
        (&["--patience", "3"][..], "patience 2, context 16"),
        (&[], "this one was told seed 0, steps 60, "),
    ] {
        let arguments = [&wild[..], patience, &["--resume"]].concat();
        let error = refusal(&mut instead(&place, "whole", &arguments), 1);
        assert!(error.contains(part), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_goes_on_and_ends_with_the_same_bits() {
    let place = place();
    let arguments = ["--steps", "80", "--test-every", "4"];
    let whole = place.train("whole", &arguments);
    let rest = interrupt(place.command("halves", &arguments), "   4  ");
    for part in ["interrupted after step ", "--resume halves"] {
        assert!(rest.contains(part), "{part}: {rest}");
    }
    assert!(!place.out("halves/weights.safetensors").exists());
    // Nobody loses it by forgetting the option.
    let error = place.refusal("halves", &arguments);
    assert!(error.contains("--resume"), "{error}");

    let resumed = place.train("halves", &[&arguments[..], &["--resume"]].concat());
    assert!(resumed.contains("\nAfter step "), "{resumed}");
    assert_eq!(hash(&resumed), hash(&whole));
    assert_eq!(curve(&resumed), curve(&whole));
    let file = |run: &str, name: &str| fs::read_to_string(place.out(run).join(name)).unwrap();
    for name in ["metrics.csv", "curves.svg", "sample.txt"] {
        assert!(file("halves", name) == file("whole", name), "{name}");
    }
}

/// Each run is a process of its own: Burn fixes the default dtype once.
#[test]
fn each_precision_follows_the_curve_of_f32() {
    let place = place();
    let arguments = ["--steps", "40", "--test-every", "5", "--precision"];
    let run = |precision: &str| place.train(precision, &[&arguments[..], &[precision]].concat());
    let reference = run("f32");
    let expected = curve(&reference);
    for (precision, dtype, most) in [
        ("mixed-bf16", "bf16", 0.02),
        ("mixed-f16", "f16", 0.02),
        ("bf16", "bf16", 0.05),
    ] {
        let printed = run(precision);
        // It is what it is called, and not f32 by another name.
        let mut lines = printed.lines().map(str::trim_start);
        let embedding = lines.find(|line| line.starts_with("weight "));
        let words: Vec<&str> = embedding.unwrap().split_whitespace().collect();
        assert!(words.contains(&dtype), "{words:?}");
        assert_ne!(hash(&printed), hash(&reference), "{precision}");
        let found = curve(&printed);
        assert_eq!(found.len(), expected.len());
        let apart = found
            .iter()
            .zip(&expected)
            .map(|(a, b)| ((a[2] - b[2]) / b[2]).abs());
        let apart = apart.fold(0.0, f64::max);
        println!("{precision}: {apart:.4}");
        assert!(
            apart < most,
            "{precision}: {apart}: {found:?}, not {expected:?}"
        );
        assert!(printed.contains("\ntie: embedding.weight and head.weight are one tensor\n"));
    }
    // In f16 alone the squares that Adam divides by underflow: it learns, and falls back.
    let alone = curve(&run("f16"));
    println!("f16: {:?}", alone.last());
    assert!(alone[7][2] < 0.9 * alone[0][2], "{alone:?}");
}
