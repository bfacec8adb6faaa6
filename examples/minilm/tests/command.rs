//! The example as a command.

use std::path::Path;
use std::process::{Command, Output};

use test_assets::MINILM;

fn minilm(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minilm"));
    command.args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What it says where it fails, once that is found to be one line.
fn refusal(arguments: &[&str]) -> String {
    let output = minilm(arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.starts_with("error: "), "{error}");
    assert!(output.stdout.is_empty());
    error
}

#[test]
fn wrong_arguments_are_exit_code_2() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "<SENTENCES>"),
        (
            &["a", "--device", "abacus"],
            "no accelerator is called `abacus`",
        ),
        (&["a", "--weights"], "'--weights <DIR>'"),
        (&["a", "--colour"], "'--colour'"),
    ];
    for (arguments, part) in cases {
        let output = minilm(arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(
            error.starts_with("error: ") && error.contains(part),
            "{error}"
        );
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

#[test]
fn help_lists_the_options() {
    let output = minilm(&["--help"]);
    assert!(output.status.success());
    for part in ["<SENTENCES>", "--device", "--weights"] {
        assert!(text(&output.stdout).contains(part), "{part}");
    }
}

#[test]
fn weights_that_were_not_fetched_are_exit_code_1_and_the_command_to_fetch_them() {
    let nowhere = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_minilm"));
    command.env(test_assets::FOLDER_VARIABLE, nowhere.path());
    let output = command.arg("a").output().unwrap();
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains("cargo xtask assets minilm"), "{error}");
}

#[test]
fn a_folder_without_a_model_is_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let error = refusal(&["a", "--weights", folder.path().to_str().unwrap()]);
    assert!(error.contains("tokenizer.json"), "{error}");
}

/// A folder with the real files, but for `name`, which has this content.
fn with_other(folder: &Path, name: &str, content: &[u8]) -> tempfile::TempDir {
    let other = tempfile::tempdir().unwrap();
    for file in MINILM.files.iter().filter(|file| file.name != name) {
        std::fs::copy(folder.join(file.name), other.path().join(file.name)).unwrap();
    }
    std::fs::write(other.path().join(name), content).unwrap();
    other
}

#[test]
fn files_that_do_not_fit_are_exit_code_1() {
    let Some(folder) = MINILM.for_test() else {
        return;
    };
    let config = std::fs::read_to_string(folder.join("config.json")).unwrap();
    let approximate = config.replace("\"gelu\"", "\"gelu_new\"");
    let narrow = config.replace("\"intermediate_size\": 1536", "\"intermediate_size\": 1024");
    assert!(approximate != config && narrow != config);
    let cases: [(&str, &[u8], &str); 5] = [
        ("config.json", b"{}", "missing field"),
        (
            "config.json",
            approximate.as_bytes(),
            "`gelu_new`, and only `gelu`",
        ),
        ("config.json", narrow.as_bytes(), "[1536, 384]"),
        ("model.safetensors", b"", "empty"),
        ("tokenizer.json", b"[]", "tokenizer.json"),
    ];
    for (name, content, part) in cases {
        let other = with_other(&folder, name, content);
        let error = refusal(&["a", "--weights", other.path().to_str().unwrap()]);
        assert!(error.contains(part), "{name}: {error}");
    }
}

#[test]
fn sentences_of_one_meaning_are_the_most_alike() {
    let Some(folder) = MINILM.for_test() else {
        return;
    };
    let long = "rates ".repeat(300);
    let output = minilm(&[
        "A cat sits on the mat",
        "There is a kitten on the rug",
        &long,
        "--weights",
        folder.to_str().unwrap(),
    ]);
    let (shown, notes) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{notes}");
    // A graphics driver may have more to say.
    let note = "sentence 3 is longer than 256 tokens; the rest does not count
";
    assert!(notes.contains(note), "{notes}");
    for part in [
        "loaded 101 tensors",
        " ms, on ",
        "\n1  A cat sits on the mat\n2  There is a kitten on the rug\n3  rates rates ",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let rows: Vec<&str> = shown.lines().rev().take(3).collect();
    let rows = rows.into_iter().rev();
    let matrix: Vec<Vec<f32>> = rows
        .map(|row| {
            row.split_whitespace()
                .skip(1)
                .map(|value| value.parse().unwrap())
                .collect()
        })
        .collect();
    for (number, row) in matrix.iter().enumerate() {
        assert_eq!((row.len(), row[number]), (3, 1.0), "{shown}");
    }
    assert!(matrix[0][1] > 0.5 && matrix[0][2] < 0.3, "{shown}");
    assert_eq!(matrix[0][1], matrix[1][0]);
}
