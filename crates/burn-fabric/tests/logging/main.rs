//! Loggers: what their files hold, several at once, resumes, and failures that stop nothing.

mod changed;
mod csv;
mod full_disk;
mod places;
mod settings;

use std::fs;
use std::path::Path;

use burn_fabric::LoggerError;
use burn_fabric::prelude::*;
use serde_json::{Value, json};

fn csv(path: &Path) -> Loggers {
    Loggers::new().with(CsvLogger::at(path))
}

fn json_lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the file is there");
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("each line is JSON")
}

/// Says yes to nothing.
struct Failing {
    panics: bool,
}

impl Logger for Failing {
    fn name(&self) -> String {
        "the failing one".to_owned()
    }
    fn log(&mut self, _: u64, _: &[(&str, f64)]) -> Result<(), LoggerError> {
        assert!(!self.panics, "out of luck");
        let source = "no luck".into();
        Err(LoggerError::Custom { source })
    }
}

#[test]
fn several_write_the_same_values_and_new_names_get_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    let (table, lines) = (
        folder.path().join("a/m.csv"),
        folder.path().join("b/m.jsonl"),
    );
    let mut loggers = csv(&table).with(JsonLinesLogger::at(&lines));
    loggers.log(0, [("train/loss", 0.5f32)]);
    loggers.log(
        1,
        [("train/loss", f64::NAN), ("valid, loss", f64::INFINITY)],
    );
    loggers.log(2, [("valid, loss", 0.25)]);
    loggers.flush();
    assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
    assert_eq!(
        fs::read_to_string(&table).expect("the table"),
        "step,train/loss,\"valid, loss\"\n0,0.5,\n1,NaN,inf\n2,,0.25\n"
    );
    assert_eq!(
        json_lines(&lines),
        [
            json!({"step": 0, "train/loss": 0.5}),
            json!({"step": 1, "train/loss": null, "valid, loss": null}),
            json!({"step": 2, "valid, loss": 0.25}),
        ]
    );
}

#[test]
fn a_resumed_run_has_no_step_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let (table, lines) = (folder.path().join("m.csv"), folder.path().join("m.jsonl"));
    let open = || csv(&table).with(JsonLinesLogger::at(&lines));
    let mut loggers = open();
    loggers.log_settings(&[("rate".to_owned(), "0.001".to_owned())]);
    for step in 0..5 {
        loggers.log(step, [("loss", 1.0)]);
    }
    // Killed in the middle of a line.
    for (path, begun) in [(&table, "5,"), (&lines, "{\"st")] {
        let mut bytes = fs::read(path).expect("the file");
        bytes.extend(begun.as_bytes());
        fs::write(path, bytes).expect("written");
    }
    let mut loggers = open();
    loggers.resume_at(3);
    for step in 3..6 {
        loggers.log(step, [("loss", 2.0)]);
    }
    assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
    assert_eq!(
        fs::read_to_string(&table).expect("the table"),
        "step,loss\n0,1\n1,1\n2,1\n3,2\n4,2\n5,2\n"
    );
    let steps = json_lines(&lines);
    let steps: Vec<Option<u64>> = steps.iter().map(|line| line["step"].as_u64()).collect();
    assert_eq!(
        steps,
        [None, Some(0), Some(1), Some(2), Some(3), Some(4), Some(5)]
    );
}

#[test]
fn lines_that_an_editor_saved_are_continued() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.jsonl");
    let expected = [
        json!({"step": 0, "a": 1.0}),
        json!({"step": 1, "a": 2.0}),
        json!({"step": 2, "a": 3.0}),
    ];
    // The last without its end, and lines that hold nothing.
    for text in [
        "{\"step\":0,\"a\":1.0}\n{\"step\":1,\"a\":2.0}",
        "{\"step\":0,\"a\":1.0}\r\n\r\n{\"step\":1,\"a\":2.0}\r\n\n  ",
    ] {
        for resumes in [false, true] {
            fs::write(&path, text).expect("written");
            let mut loggers = Loggers::new().with(JsonLinesLogger::at(&path));
            if resumes {
                loggers.resume_at(2);
            }
            loggers.log(2, [("a", 3.0)]);
            assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
            let text = fs::read_to_string(&path).expect("the lines");
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let lines: Vec<Value> = lines
                .map(|line| serde_json::from_str(line).expect("JSON"))
                .collect();
            assert_eq!(lines, expected, "{text:?}");
        }
    }
}

#[test]
fn a_failing_logger_is_told_once_and_the_others_go_on() {
    let folder = tempfile::tempdir().expect("a folder");
    for panics in [false, true] {
        let table = folder.path().join(format!("{panics}.csv"));
        let mut loggers = Loggers::new()
            .with(Failing { panics })
            .with(CsvLogger::at(&table));
        for step in 4..7 {
            loggers.log(step, [("loss", 1.0)]);
        }
        let [problem] = loggers.problems() else {
            panic!("not one problem: {:?}", loggers.problems());
        };
        assert_eq!(problem.step, Some(4));
        assert_eq!(
            matches!(problem.error, LoggerError::Panicked { .. }),
            panics
        );
        assert_eq!(matches!(problem.error, LoggerError::Custom { .. }), !panics);
        let told = problem.to_string();
        assert!(
            told.starts_with("the failing one failed at step 4: "),
            "{told}"
        );
        let text = fs::read_to_string(&table).expect("the table");
        assert_eq!(text, "step,loss\n4,1\n5,1\n6,1\n");
    }
}

#[test]
fn another_file_is_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes");
    fs::write(&path, "dear diary\n").expect("written");
    let mut loggers = csv(&path).with(JsonLinesLogger::at(&path));
    loggers.resume_at(0);
    assert_eq!(loggers.problems().len(), 2);
    for problem in loggers.problems() {
        assert!(
            matches!(problem.error, LoggerError::OtherFile { .. }),
            "{problem}"
        );
    }
    csv(&path).log(0, [("loss", 1.0)]);
    assert_eq!(fs::read_to_string(&path).expect("notes"), "dear diary\n");
}

#[test]
fn another_files_lines_are_neither_added_to_nor_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes");
    for notes in [
        "dear diary\n",
        "dear",
        "{\"a\":1}\n",
        "{\"a\":1}",
        "{dear diary",
        "{\n  \"step\": 1\n}",
        "{\"step\":1,\"say\":\"hello\"}\n",
        "{\"step\":1,\"messages\":[1,2]}\n",
        "{\"step\":1.5,\"loss\":1}\n",
        "{\"settings\":\"dark\",\"step\":\"x\"}\n",
        "{\"settings\":{},\"theme\":1}\n",
    ] {
        fs::write(&path, notes).expect("written");
        let mut loggers = Loggers::new().with(JsonLinesLogger::at(&path));
        loggers.resume_at(0);
        loggers.log(0, [("loss", 1.0)]);
        loggers.log_settings(&[("rate".to_owned(), "1".to_owned())]);
        let [problem] = loggers.problems() else {
            panic!("not one problem with {notes:?}: {:?}", loggers.problems());
        };
        assert!(
            matches!(problem.error, LoggerError::OtherFile { .. }),
            "{problem}"
        );
        assert_eq!(fs::read_to_string(&path).expect("notes"), notes);
    }
}

#[test]
fn a_value_cannot_be_called_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut loggers = csv(&folder.path().join("m.csv"));
    loggers.log(0, [("step", 1.0)]);
    assert!(matches!(
        loggers.problems()[0].error,
        LoggerError::NamedStep
    ));
}

#[test]
fn a_path_that_cannot_be_written_is_tried_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let blocked = folder.path().join("blocked");
    fs::write(&blocked, "").expect("written");
    let table = blocked.join("m.csv");
    let mut loggers = csv(&table);
    loggers.log(0, [("loss", 1.0)]);
    assert!(matches!(
        loggers.problems()[0].error,
        LoggerError::File { .. }
    ));
    fs::remove_file(&blocked).expect("removed");
    loggers.log(1, [("loss", 2.0)]);
    assert_eq!(loggers.problems().len(), 1);
    assert_eq!(
        fs::read_to_string(&table).expect("the table"),
        "step,loss\n1,2\n"
    );
}

#[test]
fn a_resume_that_failed_comes_before_the_next_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = folder.path().join("m.jsonl");
    let open = || Loggers::new().with(JsonLinesLogger::at(&lines));
    for step in 0..3 {
        open().log(step, [("loss", 1.0)]);
    }
    // What somebody wrote behind them is in the way.
    let whole = fs::read_to_string(&lines).expect("the lines");
    let notes = format!("{whole}dear diary\n");
    fs::write(&lines, &notes).expect("written");
    let mut loggers = open();
    loggers.resume_at(1);
    loggers.log(1, [("loss", 2.0)]);
    assert_eq!(fs::read_to_string(&lines).expect("the lines"), notes);
    fs::write(&lines, whole).expect("written");
    loggers.log(2, [("loss", 2.0)]);
    assert_eq!(loggers.problems().len(), 1);
    let expected = [
        json!({"step": 0, "loss": 1.0}),
        json!({"step": 2, "loss": 2.0}),
    ];
    assert_eq!(json_lines(&lines), expected);
}

/// Panics when it is dropped.
struct Late;

impl Logger for Late {
    fn name(&self) -> String {
        "the late one".to_owned()
    }
    fn log(&mut self, _: u64, _: &[(&str, f64)]) -> Result<(), LoggerError> {
        Ok(())
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        panic!("too late");
    }
}

#[test]
fn a_panic_at_the_end_of_a_logger_stays_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = folder.path().join("m.jsonl");
    let mut loggers = Loggers::new().with(Late).with(JsonLinesLogger::at(&lines));
    loggers.log(0, [("loss", 1.0)]);
    drop(loggers);
    assert_eq!(json_lines(&lines).len(), 1);
}
