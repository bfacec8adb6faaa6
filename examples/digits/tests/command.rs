//! The example as a command.

use std::fs;

use run_common::command::{Place, hash, success};

fn place() -> Place {
    Place::new(env!("CARGO_BIN_EXE_digits"), &["--epochs", "2"])
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
    place().wrong_values(cases);
}

#[test]
fn help_lists_the_options() {
    let help = success(place().bare().arg("--help"));
    for option in ["--seed", "--epochs", "--device", "--precision", "--out"] {
        assert!(help.contains(option), "{option}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_exit_code_1() {
    let place = place();
    fs::write(place.out("not-a-folder"), "").unwrap();
    let error = place.refusal("not-a-folder/results", &[]);
    assert!(
        error.starts_with("error: cannot create the folder"),
        "{error}"
    );
}

#[test]
fn two_runs_with_one_seed_end_alike() {
    let place = place();
    let run = |seed: &str| place.train(&format!("with/parents/{seed}"), &["--seed", seed]);
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
    let [last_but_one, accuracy] = end(&first).try_into().unwrap();
    assert!(last_but_one.ends_with(hash(&first)), "{last_but_one}");
    let accuracy: f32 = accuracy
        .strip_prefix("test accuracy: ")
        .unwrap()
        .parse()
        .unwrap();
    assert!(accuracy > 0.9, "{accuracy}");
    assert_eq!(end(&run("5")), end(&first));
    assert_ne!(hash(&run("6")), hash(&first));

    let folder = place.out("with/parents/5");
    let metrics = fs::read_to_string(folder.join("metrics.csv")).unwrap();
    assert!(
        metrics.starts_with("epoch,loss,train_accuracy,test_accuracy,seconds\n1,"),
        "{metrics}"
    );
    assert_eq!(metrics.lines().count(), 3, "{metrics}");
    let picture = fs::read_to_string(folder.join("loss.svg")).unwrap();
    for part in ["<svg", "loss", "accuracy", "epoch", "training", "test"] {
        assert!(picture.contains(part), "{part}");
    }
    assert!(folder.join("weights.bpk").metadata().unwrap().len() > 0);
}

/// What is printed, and the mean loss of each epoch.
fn losses(place: &Place, precision: &str) -> (String, Vec<f64>) {
    let place_of = ["--device", "flex", "--precision", precision];
    let arguments = [&["--epochs", "4"], &place_of[..]].concat();
    let mut command = place.bare();
    let printed = success(command.args(arguments).args(["--out", precision]));
    let metrics = fs::read_to_string(place.out(precision).join("metrics.csv")).unwrap();
    let loss = |line: &str| line.split(',').nth(1).unwrap().parse().unwrap();
    let losses: Vec<f64> = metrics.lines().skip(1).map(loss).collect();
    assert_eq!(losses.len(), 4, "{metrics}");
    (printed, losses)
}

/// Each run is a process of its own: Burn fixes the default dtype once.
#[test]
fn each_precision_follows_the_losses_of_f32() {
    let place = place();
    let (_, expected) = losses(&place, "f32");
    // The mean distance of an epoch, as a share of the first loss: the README promises these.
    for (precision, dtype, most) in [
        ("mixed-bf16", "bf16", 0.003),
        ("mixed-f16", "f16", 0.001),
        ("bf16", "bf16", 0.01),
    ] {
        let (printed, found) = losses(&place, precision);
        // It is what it is called, weights and running statistics.
        for name in ["weight ", "running_var "] {
            let mut lines = printed.lines().map(str::trim_start);
            let line = lines.rfind(|line| line.starts_with(name));
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
