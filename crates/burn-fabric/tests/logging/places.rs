//! What a path may lead to: links, pipes, files of somebody else.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use burn_fabric::LoggerError;
use burn_fabric::prelude::*;
use serde_json::json;

use super::{csv, json_lines};

fn both(table: &Path, lines: &Path) -> Loggers {
    csv(table).with(JsonLinesLogger::at(lines))
}

#[test]
fn a_link_stays_one_and_what_it_leads_to_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("big")).expect("made");
    let paths = ["m.csv", "m.jsonl"].map(|name| {
        // By two links, relative to their own folder; where they lead to is nothing yet.
        let (link, second) = (
            folder.path().join(name),
            folder.path().join("big").join(name),
        );
        symlink(Path::new("big").join(name), &link).expect("a link");
        symlink(Path::new("deep").join(name), &second).expect("a link");
        (link, second, folder.path().join("big/deep").join(name))
    });
    let mut loggers = both(&paths[0].0, &paths[1].0);
    loggers.log(0, [("a", 1.0)]);
    loggers.log(1, [("b", 1.0)]);
    loggers.resume_at(1);
    loggers.log(1, [("b", 2.0)]);
    loggers.flush();
    assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
    for (link, second, file) in &paths {
        for link in [link, second] {
            assert!(fs::symlink_metadata(link).expect("there").is_symlink());
        }
        assert!(fs::symlink_metadata(file).expect("there").is_file());
    }
    let table = fs::read_to_string(&paths[0].2).expect("written");
    assert_eq!(table, "step,a,b\n0,1,\n1,,2\n");
    let expected = [json!({"step": 0, "a": 1.0}), json!({"step": 1, "b": 2.0})];
    assert_eq!(json_lines(&paths[1].2), expected);
}

#[test]
fn links_in_a_circle_are_a_problem() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    symlink(&two, &one).expect("a link");
    symlink(&one, &two).expect("a link");
    let mut loggers = both(&one, &two);
    loggers.log(0, [("a", 1.0)]);
    assert_eq!(loggers.problems().len(), 2);
    for problem in loggers.problems() {
        assert!(
            matches!(problem.error, LoggerError::File { .. }),
            "{problem}"
        );
    }
}

#[test]
fn what_is_no_file_is_refused_at_once_and_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let made = std::process::Command::new("mkfifo")
        .arg(at("pipe"))
        .status();
    assert!(made.expect("mkfifo runs").success());
    let _listener = UnixListener::bind(at("socket")).expect("a socket");
    fs::create_dir(at("folder")).expect("made");
    symlink("pipe", at("link")).expect("a link");
    for (name, kind) in [
        ("pipe", "a pipe"),
        ("link", "a pipe"),
        ("socket", "a socket"),
        ("folder", "a folder"),
    ] {
        let path = at(name);
        let before = fs::metadata(&path).expect("there").file_type();
        let (done, is_done) = std::sync::mpsc::channel();
        let of_loggers = path.clone();
        // In a thread: nobody reads from the pipe, and to open it would take for ever.
        std::thread::spawn(move || {
            let mut loggers = both(&of_loggers, &of_loggers);
            loggers.resume_at(0);
            loggers.log(0, [("a", 1.0)]);
            loggers.log_settings(&[("rate".to_owned(), "1".to_owned())]);
            loggers.flush();
            let problems = loggers
                .problems()
                .iter()
                .map(|problem| match &problem.error {
                    LoggerError::NotAFile { path, found } => (path.clone(), *found),
                    other => panic!("{other}"),
                });
            done.send(problems.collect::<Vec<_>>())
        });
        let problems = is_done.recv_timeout(Duration::from_secs(60)).expect(name);
        assert_eq!(problems, [(path.clone(), kind), (path.clone(), kind)]);
        assert_eq!(fs::metadata(&path).expect("there").file_type(), before);
    }
    // Nothing lies beside them but the table's settings.
    for entry in fs::read_dir(folder.path()).expect("the folder") {
        let name = entry.expect("an entry").file_name();
        let name = name.to_str().expect("a text");
        assert!(!name.contains(".new"), "{name}");
    }
}

#[test]
fn a_file_that_is_replaced_keeps_its_permissions() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("m.csv");
    csv(&table).log(0, [("a", 1.0)]);
    let usual = fs::metadata(&table).expect("there").permissions().mode();
    fs::write(folder.path().join("usual"), "").expect("written");
    let expected = fs::metadata(folder.path().join("usual")).expect("there");
    assert_eq!(usual, expected.permissions().mode());
    for (step, mode) in [(1, 0o664), (2, 0o600)] {
        fs::set_permissions(&table, fs::Permissions::from_mode(mode)).expect("set");
        csv(&table).log(step, [(format!("new {step}"), 1.0)]);
        let now = fs::metadata(&table).expect("there").permissions().mode() & 0o777;
        assert_eq!(now, mode, "{now:o} for {mode:o}");
    }
}

#[test]
fn files_beside_it_are_left_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("m.csv");
    let notes = folder.path().join("m.csv.new");
    fs::write(&notes, "mine").expect("written");
    fs::create_dir(folder.path().join("m.csv.new-1")).expect("made");
    let mut loggers = csv(&table);
    loggers.log(0, [("a", 1.0)]);
    assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
    assert_eq!(fs::read_to_string(&notes).expect("notes"), "mine");
    assert_eq!(
        fs::read_to_string(&table).expect("written"),
        "step,a\n0,1\n"
    );
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 3);
}
