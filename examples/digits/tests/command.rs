//! The example as a command.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A path of this test's own, where nothing is yet.
fn fresh(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if path.is_dir() {
        std::fs::remove_dir_all(&path).unwrap();
    }
    path
}

fn digits(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_digits"));
    // The default folder for results is relative: nothing may land in the checkout.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    command
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_wrong_value_gets_one_line_and_exit_code_2() {
    let cases: &[(&[&str], &str)] = &[
        (&["--seed", "many"], "'many' for '--seed"),
        (&["--seed", "-1"], "'-1'"),
        (&["--seed"], "'--seed <SEED>'"),
        (&["--epochs", "0"], "1..=10000"),
        (&["--epochs", "1.5"], "'1.5' for '--epochs"),
        (&["--device", "abacus"], "no accelerator is called `abacus`"),
        (&["--precision", "f8"], "no precision is called `f8`"),
        (&["--colour"], "'--colour'"),
        (&["train"], "'train'"),
    ];
    for (arguments, part) in cases {
        let output = digits(arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
        assert!(
            error.starts_with("error: ") && error.contains(part),
            "{arguments:?}: {error}"
        );
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn help_lists_the_options() {
    let output = digits(&["--help"]);
    assert!(output.status.success());
    for option in ["--seed", "--epochs", "--device", "--precision", "--out"] {
        assert!(text(&output.stdout).contains(option), "{option}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_exit_code_1() {
    let file = fresh("not-a-folder");
    std::fs::write(&file, "").unwrap();
    let out = file.join("results");
    let output = digits(&["--out", out.to_str().unwrap()]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.starts_with("error: cannot create the folder"),
        "{error}"
    );
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[test]
fn two_runs_with_one_seed_end_alike() {
    let out = fresh("run").join("with/parents");
    let run = |seed: &str| {
        let out = out.join(seed);
        let output = digits(&[
            "--epochs",
            "2",
            "--seed",
            seed,
            "--out",
            out.to_str().unwrap(),
        ]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let end = |text: &str| -> Vec<String> {
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len() - 2..]
            .iter()
            .map(|line| (*line).to_owned())
            .collect()
    };
    let first = run("5");
    for part in ["0 bytes allocated", "is refused", "setup(model)", "epoch "] {
        assert!(first.contains(part), "{part}: {first}");
    }
    let [hash, accuracy] = end(&first).try_into().unwrap();
    assert_eq!(
        hash.strip_prefix("weights (SHA-256): ").map(str::len),
        Some(64),
        "{hash}"
    );
    let accuracy: f32 = accuracy
        .strip_prefix("test accuracy: ")
        .unwrap()
        .parse()
        .unwrap();
    assert!(accuracy > 0.9, "{accuracy}");
    assert_eq!(end(&run("5")), end(&first));
    assert_ne!(end(&run("6"))[0], hash);

    let folder = out.join("5");
    let metrics = std::fs::read_to_string(folder.join("metrics.csv")).unwrap();
    assert!(
        metrics.starts_with("epoch,loss,train_accuracy,test_accuracy,seconds\n1,"),
        "{metrics}"
    );
    assert_eq!(metrics.lines().count(), 3, "{metrics}");
    let picture = std::fs::read_to_string(folder.join("loss.svg")).unwrap();
    for part in ["<svg", "loss", "accuracy", "epoch", "training", "test"] {
        assert!(picture.contains(part), "{part}");
    }
    assert!(folder.join("weights.bpk").metadata().unwrap().len() > 0);
}

/// What is printed, and the mean loss of each epoch.
fn losses(out: &Path, precision: &str) -> (String, Vec<f64>) {
    let out = out.join(precision);
    let output = digits(&[
        "--epochs",
        "4",
        "--device",
        "flex",
        "--precision",
        precision,
        "--out",
        out.to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let metrics = std::fs::read_to_string(out.join("metrics.csv")).unwrap();
    let loss = |line: &str| line.split(',').nth(1).unwrap().parse().unwrap();
    let losses: Vec<f64> = metrics.lines().skip(1).map(loss).collect();
    assert_eq!(losses.len(), 4, "{metrics}");
    (text(&output.stdout), losses)
}

/// Each run is a process of its own: Burn fixes the default dtype once.
#[test]
fn each_precision_follows_the_losses_of_f32() {
    let out = fresh("precision");
    let (_, expected) = losses(&out, "f32");
    // The mean distance of an epoch, as a share of the first loss: the README promises these.
    for (precision, dtype, most) in [
        ("mixed-bf16", "bf16", 0.003),
        ("mixed-f16", "f16", 0.001),
        ("bf16", "bf16", 0.01),
    ] {
        let (printed, found) = losses(&out, precision);
        // It is what it is called, weights and running statistics.
        for path in ["hidden.weight ", "norm.running_var "] {
            let line = printed.lines().rfind(|line| line.starts_with(path));
            let words: Vec<&str> = line.unwrap().split_whitespace().collect();
            assert!(words.contains(&dtype), "{precision}: {words:?}");
        }
        let apart = found.iter().zip(&expected).map(|(a, b)| (a - b).abs());
        let apart = apart.sum::<f64>() / expected.len() as f64 / expected[0];
        println!("{precision}: {apart:.5} of {most}");
        assert!(
            apart < most,
            "{precision}: {apart}: {found:?}, not {expected:?}"
        );
        // And not f32 by another name.
        assert_ne!(found, expected, "{precision}");
    }
}
