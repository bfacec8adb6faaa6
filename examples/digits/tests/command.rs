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
        (&["--colour"], "'--colour'"),
        (&["train"], "'train'"),
    ];
    place().wrong_values(cases);
}

#[test]
fn help_lists_the_options() {
    let help = success(place().bare().arg("--help"));
    for option in ["--seed", "--epochs", "--device", "--out"] {
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
