//! CSV: what is there already, numbers, settings.

use std::fs;

use burn_fabric::LoggerError;

use super::csv;

#[test]
fn an_unfinished_line_is_dropped_without_a_resume_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("m.csv");
    fs::write(&table, "step,loss\n0,1\n1,").expect("written");
    csv(&table).log(1, [("loss", 2.0)]);
    let text = fs::read_to_string(&table).expect("the table");
    assert_eq!(text, "step,loss\n0,1\n1,2\n");
}

#[test]
fn only_the_beginning_of_a_row_is_an_unfinished_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("m.csv");
    for rest in [
        "1", "12,", "1,0.", "1,-", "1,1e-", "1,Na", "1,-in", "1,0.5,", "1,,2",
    ] {
        let ours = format!("step,loss,rate\n0,1,\n{rest}");
        fs::write(&table, ours).expect("written");
        let mut loggers = csv(&table);
        loggers.log(1, [("loss", 2.0)]);
        assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
        let text = fs::read_to_string(&table).expect("the table");
        assert_eq!(text, "step,loss,rate\n0,1,\n1,2,\n", "{rest}");
    }
    for rest in [
        "dear diary",
        ",1",
        "1,dear",
        "-1,2",
        "1;2",
        "1,2,3,4",
        "1,\"",
        "1,x,2",
        "\u{fffd}",
    ] {
        let notes = format!("step,loss,rate\n0,1,\n{rest}");
        fs::write(&table, &notes).expect("written");
        let mut loggers = csv(&table);
        loggers.resume_at(0);
        loggers.log(1, [("loss", 2.0), ("new", 1.0)]);
        let [problem] = loggers.problems() else {
            panic!("not one problem with {rest:?}: {:?}", loggers.problems());
        };
        assert!(
            matches!(problem.error, LoggerError::OtherFile { .. }),
            "{problem}"
        );
        let text = fs::read_to_string(&table).expect("the table");
        assert_eq!(text, notes);
    }
}

#[test]
fn another_file_without_a_lines_end_is_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.csv");
    // The last is a header as it could be written by hand; one of ours ends with its line.
    for notes in ["dear diary", "s", "step,loss"] {
        fs::write(&path, notes).expect("written");
        let mut loggers = csv(&path);
        loggers.log(0, [("loss", 1.0)]);
        let [problem] = loggers.problems() else {
            panic!("not one problem with {notes:?}: {:?}", loggers.problems());
        };
        assert!(
            matches!(problem.error, LoggerError::OtherFile { .. }),
            "{problem}"
        );
        assert_eq!(fs::read_to_string(&path).expect("notes"), notes);
    }
    // A file that is empty holds nothing that could be lost.
    fs::write(&path, "").expect("written");
    csv(&path).log(0, [("loss", 1.0)]);
    let text = fs::read_to_string(&path).expect("the table");
    assert_eq!(text, "step,loss\n0,1\n");
}

#[test]
fn tables_of_another_are_left_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.csv");
    for notes in [
        "step,what to do\n1,open the box\n2,\"take it, out\"\n",
        "step\nby step\n",
        "step,a,a\n0,1,2\n",
        "step,a\n0,1,2\n", // a number that no name stands above
        // As a table of floats is written back.
        "step,a\n0.0,1\n1.0,2\n",
        "step,a\n-1,2\n",
    ] {
        fs::write(&path, notes).expect("written");
        let mut loggers = csv(&path);
        loggers.resume_at(0);
        loggers.log(1, [("loss", 1.0)]);
        let [problem] = loggers.problems() else {
            panic!("not one problem with {notes:?}: {:?}", loggers.problems());
        };
        let is_other = matches!(problem.error, LoggerError::OtherFile { .. });
        assert!(is_other, "{problem}");
        assert_eq!(fs::read_to_string(&path).expect("notes"), notes);
    }
    // What others write back of this logger's own is its own still.
    for table in [
        "step,a,b\r\n0,1,\r\n",
        "step,a,b\n\"0\",\"1\"\n",
        "\u{feff}step,a,b\n0,1,\n\n",
    ] {
        fs::write(&path, table).expect("written");
        let mut loggers = csv(&path);
        loggers.log(1, [("c", f64::NAN)]);
        assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
        let text = fs::read_to_string(&path).expect("the table");
        assert_eq!(
            text.replace('"', ""),
            "step,a,b,c\n0,1,,\n1,,,NaN\n",
            "{table:?}"
        );
    }
}

#[test]
fn settings_of_another_are_left_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.csv.settings.csv");
    let settings = |value: &str| [("rate".to_owned(), value.to_owned())];
    for notes in ["mine\n", "mine", "name,value", "name,value,unit\n1,2,3\n"] {
        fs::write(&path, notes).expect("written");
        let mut loggers = csv(&folder.path().join("m.csv"));
        loggers.log_settings(&settings("0.1"));
        let [problem] = loggers.problems() else {
            panic!("not one problem with {notes:?}: {:?}", loggers.problems());
        };
        let other =
            matches!(&problem.error, LoggerError::OtherFile { path: of, .. } if *of == path);
        assert!(other, "{problem}");
        assert_eq!(fs::read_to_string(&path).expect("notes"), notes);
    }
    // Its own are replaced, whatever they hold.
    fs::remove_file(&path).expect("removed");
    for value in ["0.1", "a\n\"b\",c", "0.2"] {
        let mut loggers = csv(&folder.path().join("m.csv"));
        loggers.log_settings(&settings(value));
        assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
    }
    let text = fs::read_to_string(&path).expect("settings");
    assert_eq!(text, "name,value\nrate,0.2\n");
}

#[test]
fn runs_that_are_told_apart_by_a_dot_have_settings_of_their_own() {
    let folder = tempfile::tempdir().expect("a folder");
    for run in ["run.1", "run.2"] {
        let settings = [("run".to_owned(), run.to_owned())];
        csv(&folder.path().join(run)).log_settings(&settings);
    }
    for run in ["run.1", "run.2"] {
        let path = folder.path().join(format!("{run}.settings.csv"));
        let text = fs::read_to_string(path).expect("settings");
        assert_eq!(text, format!("name,value\nrun,{run}\n"));
    }
}

#[test]
fn numbers_are_short_and_come_back_to_the_last_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("m.csv");
    let numbers = [
        0.0,
        -0.0,
        1.0,
        100_000.0,
        0.1 + 0.2,
        1e-300,
        -1.234_567_890_123e-200,
        5e-324,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::EPSILON,
        1e16,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    let mut loggers = csv(&table);
    for number in numbers {
        loggers.log(0, [("value", number)]);
    }
    let text = fs::read_to_string(&table).expect("the table");
    let cells: Vec<&str> = text.lines().skip(1).map(|line| &line[2..]).collect();
    assert_eq!(cells[..4], ["0", "-0", "1", "100000"]);
    assert_eq!(cells[5], "1e-300");
    assert_eq!(cells.len(), numbers.len());
    for (cell, number) in cells.iter().zip(numbers) {
        let read: f64 = cell.parse().expect("a number");
        // A NaN is one, whichever.
        let same = read.to_bits() == number.to_bits() || read.is_nan() && number.is_nan();
        assert!(same, "{cell} of {number:?}");
        assert!(cell.len() <= 24, "{cell}");
    }
}
