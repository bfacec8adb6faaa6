//! Files that others touch while they are written to.

use std::fs;
use std::path::Path;

use burn_fabric::prelude::*;

use super::{csv, json_lines};

const FORMATS: [fn(&Path) -> Loggers; 2] = [csv, lines];

fn lines(path: &Path) -> Loggers {
    Loggers::new().with(JsonLinesLogger::at(path))
}

fn steps(path: &Path) -> Vec<u64> {
    let text = fs::read_to_string(path).expect("the file");
    if text.starts_with('{') {
        let steps = json_lines(path).into_iter();
        return steps
            .map(|line| line["step"].as_u64().expect("a step"))
            .collect();
    }
    let steps = text.lines().skip(1).filter_map(|row| row.split(',').next());
    steps.map(|step| step.parse().expect("a step")).collect()
}

#[test]
fn nothing_is_lost_behind_a_file_that_was_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    for open in FORMATS {
        let mut loggers = open(&path);
        for step in 0..30 {
            if step % 10 == 5 {
                // As an editor saves, or `sed -i`.
                let new = folder.path().join("edited");
                fs::copy(&path, &new).expect("copied");
                fs::rename(&new, &path).expect("renamed");
            }
            loggers.log(step, [("a", 1.0)]);
        }
        loggers.flush();
        assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
        assert_eq!(steps(&path), (0..30).collect::<Vec<_>>());
        fs::remove_file(&path).expect("removed");
    }
}

#[test]
fn a_file_that_was_deleted_or_emptied_is_begun_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sub/log");
    let delete = |path: &Path| fs::remove_dir_all(path.parent().expect("the folder"));
    let empty = |path: &Path| fs::write(path, "");
    for open in FORMATS {
        for touch in [&delete as &dyn Fn(&Path) -> std::io::Result<()>, &empty] {
            let mut loggers = open(&path);
            loggers.log(0, [("a", 1.0)]);
            touch(&path).expect("touched");
            loggers.log(1, [("a", 1.0)]);
            loggers.log(2, [("a", 1.0)]);
            drop(loggers);
            // Another process finds its own.
            let mut loggers = open(&path);
            loggers.log(3, [("a", 1.0)]);
            assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
            assert_eq!(steps(&path), [1, 2, 3]);
            delete(&path).expect("removed");
        }
    }
}

#[test]
fn two_tables_on_one_path_have_each_value_below_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.csv");
    let (mut one, mut two) = (csv(&path), csv(&path));
    one.log(0, [("loss", 1.0)]);
    two.log(0, [("loss", 2.0)]);
    one.log(1, [("accuracy", 0.9)]);
    two.log(2, [("rate", 1e-3)]);
    one.log(3, [("loss", 3.0), ("rate", 1e-4)]);
    assert!(one.problems().is_empty(), "{:?}", one.problems());
    assert!(two.problems().is_empty(), "{:?}", two.problems());
    assert_eq!(
        fs::read_to_string(&path).expect("the table"),
        "step,loss,accuracy,rate\n0,1,,\n0,2,,\n1,,0.9,\n2,,,0.001\n3,3,,0.0001\n"
    );
}

#[test]
fn a_column_that_was_taken_out_by_hand_comes_back_behind_the_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.csv");
    let mut loggers = csv(&path);
    loggers.log(0, [("junk", 5.0), ("loss", 1.0)]);
    fs::write(&path, "step,loss\r\n0,1\r\n\r\n").expect("written");
    loggers.log(1, [("junk", 6.0), ("loss", 2.0)]);
    assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
    let text = fs::read_to_string(&path).expect("the table");
    assert_eq!(text, "step,loss,junk\n0,1,\n1,2,6\n");
}

#[test]
fn two_that_write_lines_into_one_file_lose_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.jsonl");
    let (mut one, mut two) = (lines(&path), lines(&path));
    for step in 0..20 {
        let loggers = if step % 3 == 0 { &mut one } else { &mut two };
        loggers.log(step, [("a", 1.0)]);
    }
    assert!(one.problems().is_empty() && two.problems().is_empty());
    assert_eq!(steps(&path), (0..20).collect::<Vec<_>>());
    // What is no such line is no reason to go on behind it.
    let notes = fs::read_to_string(&path).expect("the lines") + "dear diary\n";
    fs::write(&path, &notes).expect("written");
    one.log(20, [("a", 1.0)]);
    assert_eq!(one.problems().len(), 1);
    assert_eq!(fs::read_to_string(&path).expect("the lines"), notes);
    // Half a line that another process was killed in is cut off.
    let whole = notes.replace("dear diary\n", "");
    fs::write(&path, format!("{whole}{{\"a\":")).expect("written");
    two.log(20, [("a", 1.0)]);
    assert!(two.problems().is_empty(), "{:?}", two.problems());
    assert_eq!(json_lines(&path).len(), 21);
}

#[test]
fn names_with_commas_and_line_breaks_stay_names_in_a_wider_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("m.csv");
    let mut loggers = csv(&path);
    let names = ["a,b", "c\nd\r\n0,1", "\"", "", "\r", "e"];
    for (step, name) in (0..).zip(names) {
        loggers.log(step, [(name, 1.0)]);
    }
    assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
    let mut table = ::csv::Reader::from_path(&path).expect("a table");
    let header = table.headers().expect("a header");
    assert!(header.iter().skip(1).eq(names), "{header:?}");
    for (i, row) in table.records().enumerate() {
        let row = row.expect("as wide as the header");
        let set: Vec<usize> = (1..row.len())
            .filter(|cell| !row[*cell].is_empty())
            .collect();
        assert_eq!((&row[0], set), (i.to_string().as_str(), vec![i + 1]));
    }
}
