//! Nothing that cannot be written ends a training: files on a full disk, stderr on one.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use burn_fabric::prelude::*;

use super::{Failing, csv, json_lines};

/// Of the processes that tests start; a name of its own, since a Fabric refuses settings it does not know.
const FOLDER: &str = "LOGGING_TEST_FOLDER";

#[test]
#[ignore = "run by the test below, in a process whose files cannot grow"]
fn trains_while_files_cannot_grow() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let mut loggers = csv(&folder.join("m.csv")).with(JsonLinesLogger::at(folder.join("m.jsonl")));
    for step in 0..1000 {
        loggers.log(step, [("loss", 0.123_456_789)]);
    }
    drop(loggers);
    fs::create_dir(folder.join("trained to the end")).expect("made");
}

/// Runs an ignored test by its name, in a process that a line of shell prepares.
#[cfg(unix)]
fn in_a_process(prepare: &str, test: &str, folder: &Path) -> std::process::Output {
    let program = std::env::current_exe().expect("this test");
    std::process::Command::new("sh")
        .args(["-c", prepare])
        .arg(program)
        .arg(format!("full_disk::{test}"))
        .env(FOLDER, folder)
        .output()
        .expect("sh runs")
}

#[cfg(unix)]
#[test]
fn a_full_disk_stops_nothing_and_leaves_whole_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    // The signal is ignored, so that a write fails as on a full disk.
    let script = r#"trap '' XFSZ; ulimit -f 4; exec "$0" --exact --ignored --nocapture "$1""#;
    let output = in_a_process(script, "trains_while_files_cannot_grow", folder.path());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(folder.path().join("trained to the end").is_dir());
    let count = |text: &str| told.lines().filter(|line| line.contains(text)).count();
    assert_eq!(count("the training goes on"), 2, "{told}"); // one a logger
    assert_eq!(count(" lost: "), 2, "{told}");
    let rows = fs::read_to_string(folder.path().join("m.csv")).expect("the table");
    let (rows, lines) = (
        rows.lines().count(),
        json_lines(&folder.path().join("m.jsonl")).len(),
    );
    assert!((50..1000).contains(&rows), "{rows}");
    assert!((50..1000).contains(&lines), "{lines}");
    assert!(
        fs::read(folder.path().join("m.csv"))
            .expect("the table")
            .ends_with(b"\n")
    );
}

#[test]
#[ignore = "run by the test below, in a process whose stderr is a full disk"]
fn trains_while_nothing_can_be_said() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    fs::write(folder.join("blocked"), "").expect("written");
    let begin = || {
        csv(&folder.join("blocked/m.csv"))
            .with(Failing { panics: false })
            .with(Failing { panics: true })
    };
    let mut loggers = begin();
    loggers.log(0, [("loss", 0.5)]); // each is told of, and nobody hears it
    let fabric = Fabric::builder().build().expect("a Fabric");
    let not_for_json = std::collections::BTreeMap::from([((1, 2), 3)]);
    fabric.log_settings(&mut loggers, &not_for_json);
    assert_eq!(loggers.problems().len(), 4);
    drop(loggers); // with calls that were lost, which is told of too

    // The same while a panic is under way: a second one would abort the process.
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let mut loggers = begin();
        loggers.log(0, [("loss", 0.5)]);
        panic!("the loop's own");
    }));
    assert!(panic.is_err());
    fs::create_dir(folder.join("trained to the end")).expect("made");
}

#[cfg(target_os = "linux")]
#[test]
fn a_stderr_that_takes_nothing_stops_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = r#"exec "$0" --exact --ignored --nocapture "$1" 2>/dev/full"#;
    let output = in_a_process(script, "trains_while_nothing_can_be_said", folder.path());
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(folder.path().join("trained to the end").is_dir());
}
