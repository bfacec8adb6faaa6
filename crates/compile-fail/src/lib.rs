//! What the compiler says of programs that it is to refuse: each `case.rs` in a folder has its
//! messages in `case.stderr` beside it.
//!
//! `trybuild` does this with any crate, and checks the whole tree of dependencies once more for it,
//! which took three minutes of every run of the tests here. So the compiler is called directly, with
//! the libraries that the test program itself was linked to: the same features, and nothing built.
//!
//! `UPDATE_EXPECTED=1` rewrites the messages; read the difference before you commit it.

mod linked;
mod messages;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use linked::{Libraries, rustc};
use messages::normalised;

/// The variable that has the messages rewritten.
const UPDATE: &str = "UPDATE_EXPECTED";

/// See that the compiler refuses each `.rs` file of `folders`, which are relative to the package of the
/// test, and with the messages beside it.
///
/// # Panics
/// With every case that differs, where a folder has none, and where the libraries are not found.
pub fn refuses(folders: &[&str]) {
    let libraries = Libraries::of_this_program();
    let cases: Vec<PathBuf> = folders.iter().flat_map(|folder| cases(folder)).collect();
    let (next, problems) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(problem) = check(case, &libraries) {
                problems.lock().unwrap().push(problem);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut problems = problems.into_inner().unwrap();
    problems.sort();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    println!("{} programs were refused as expected", cases.len());
}

fn cases(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut cases: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect();
    cases.sort();
    assert!(!cases.is_empty(), "{folder} has no case");
    cases
}

fn check(case: &Path, libraries: &Libraries) -> Result<(), String> {
    let out = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut command = Command::new(rustc());
    command
        .args(["--edition=2024", "--crate-type=bin", "--crate-name=case"])
        .args(["--emit=metadata", "--color=never", "--diagnostic-width=140"])
        .arg("--out-dir")
        .arg(out.path())
        .args(libraries.arguments())
        .arg(case);
    let output = command.output().map_err(|error| error.to_string())?;
    let shown = case.display();
    if output.status.success() {
        return Err(format!("{shown} is not refused"));
    }
    let found = normalised(&String::from_utf8_lossy(&output.stderr), case);
    let path = case.with_extension("stderr");
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if found == expected {
        return Ok(());
    }
    if std::env::var_os(UPDATE).is_some() {
        return fs::write(&path, found).map_err(|error| format!("{}: {error}", path.display()));
    }
    Err(format!(
        "{shown}: {UPDATE}=1 would take this as what is expected\n\nexpected\n{expected}\nfound\n{found}"
    ))
}
