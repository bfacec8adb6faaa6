//! A process that is killed while it saves leaves a whole checkpoint: the old one or the new one.
//!
//! The test starts itself as a child that saves one checkpoint after another over the same place,
//! and kills it at some moment, again and again, in the same folder: what the killed ones left
//! behind is there as well.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use burn_std::{Bytes, DType};
use burn_weights::{Checkpoint, Outgoing, Reading, WriteOptions, write};

const KILLS: u32 = 30;
const TENSORS: usize = 16;
const VALUES: usize = 2000;
/// Four shards.
const LIMIT: u64 = (TENSORS * VALUES) as u64;

const FOLDER: &str = "BURN_WEIGHTS_CRASH_FOLDER";
const FIRST: &str = "BURN_WEIGHTS_CRASH_FIRST";
const READY: &str = "about to save";

/// Where to save the checkpoint of a number, and into files of what size.
type Plan = fn(u32) -> (&'static str, Option<u64>);

fn save(folder: &Path, number: u32, plan: Plan) {
    let tensors = (0..TENSORS).map(|tensor| {
        let produce = move || Ok(Bytes::from_elems(vec![number; VALUES]));
        Outgoing::new(format!("layer.{tensor}"), DType::U32, [VALUES], produce)
    });
    let (name, limit) = plan(number);
    let options = WriteOptions {
        max_shard_bytes: limit,
        overwrite: true,
        ..WriteOptions::default()
    };
    write(folder.join(name), tensors.collect(), &options).unwrap();
}

/// The number of the checkpoint in a folder, all of whose values are of that one.
fn saved(folder: &Path) -> u32 {
    let checkpoint = Checkpoint::open(folder).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(checkpoint.names().len(), TENSORS);
    let mut numbers = checkpoint.names().flat_map(|name| {
        let bytes = checkpoint.read(name, None, Reading::Map).unwrap().bytes;
        assert_eq!(bytes.len(), 4 * VALUES);
        let numbers = bytes
            .chunks(4)
            .map(|number| u32::from_le_bytes(number.try_into().unwrap()));
        numbers.collect::<Vec<_>>()
    });
    let first = numbers.next().unwrap();
    assert!(numbers.all(|number| number == first), "old and new");
    first
}

/// A child that is about to save: how long it takes to come to that says nothing.
fn start(test: &str, folder: &Path, first: u32) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test]);
    child.env(FOLDER, folder).env(FIRST, first.to_string());
    let child = child.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = child.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map(|line| line.unwrap());
    assert!(lines.any(|line| line.ends_with(READY)), "the child ended");
    child
}

fn survives(test: &str, plan: Plan) {
    if let (Ok(folder), Ok(first)) = (std::env::var(FOLDER), std::env::var(FIRST)) {
        // Not by a macro, whose output the test would keep.
        let ready = format!("{READY}\n");
        io::stdout().write_all(ready.as_bytes()).unwrap();
        for number in first.parse().unwrap().. {
            save(Path::new(&folder), number, plan);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), 0, plan);
    let (mut last, mut changes, mut delay) = (0, 0, 12345_u64);
    for _ in 0..KILLS {
        let mut child = start(test, folder.path(), last + 1);
        delay = delay
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        std::thread::sleep(Duration::from_micros((delay >> 33) % 60_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let now = saved(folder.path());
        assert!(now >= last, "{now} after {last}");
        changes += u32::from(now > last);
        last = now;
    }
    println!("{KILLS} kills, {changes} of them after a save, {last} saves");
    assert!(changes > 0, "no child came to save");
    // The next save goes as any other.
    save(folder.path(), last + 1, plan);
    assert_eq!(saved(folder.path()), last + 1);
}

const FILES: Plan = |_| ("model.safetensors", None);
const BURNPACKS: Plan = |_| ("model.bpk", None);
/// Now and then as many as before, and others.
const SHARDS: Plan = |number| {
    let limit = LIMIT / u64::from(number % 3 + 1);
    ("model.safetensors", Some(limit))
};
const BOTH: Plan = |number| ("model.safetensors", (number % 2 == 0).then_some(LIMIT));

#[test]
fn a_file_over_a_file() {
    survives("a_file_over_a_file", FILES);
}

#[test]
fn a_burnpack_over_a_burnpack() {
    survives("a_burnpack_over_a_burnpack", BURNPACKS);
}

#[test]
fn shards_over_shards() {
    survives("shards_over_shards", SHARDS);
}

#[test]
fn a_file_over_shards_and_shards_over_a_file() {
    survives("a_file_over_shards_and_shards_over_a_file", BOTH);
}

/// The same child under `strace`, with these arguments.
#[cfg(target_os = "linux")]
fn traced(arguments: &[&str], test: &str, folder: &Path, first: u32) -> std::process::Output {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-y"]).args(arguments);
    strace.arg(std::env::current_exe().unwrap());
    strace.args(["--exact", test]);
    strace.env(FOLDER, folder).env(FIRST, first.to_string());
    strace.output().expect("strace is installed")
}

/// Killed before each call of the system that counts, one after another.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs strace, and a minute"]
fn killed_at_each_call_of_the_system() {
    for (test, plan) in [
        ("a_file_over_a_file", FILES),
        ("a_burnpack_over_a_burnpack", BURNPACKS),
        ("shards_over_shards", SHARDS),
        ("a_file_over_shards_and_shards_over_a_file", BOTH),
    ] {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), 0, plan);
        let mut last = 0;
        for call in 1..=100 {
            let calls = "fsync,rename,link,linkat,unlink,unlinkat";
            let inject = format!("inject={calls}:signal=KILL:when={call}");
            let trace = format!("trace={calls}");
            traced(
                &["-e", &trace, "-e", &inject],
                test,
                folder.path(),
                last + 1,
            );
            let now = saved(folder.path());
            assert!(now >= last, "{now} after {last}, killed at call {call}");
            last = now;
        }
        println!("{test}: 100 kills, {last} saves");
    }
}

/// The data are on the disk before they have the name, and the name before the save is over.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs strace"]
fn files_are_synchronised_and_then_renamed() {
    for (test, plan, name) in [
        ("a_file_over_a_file", FILES, "model.safetensors"),
        ("a_burnpack_over_a_burnpack", BURNPACKS, "model.bpk"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), 0, plan);
        let trace = [
            "-e",
            "trace=fsync,rename",
            "-e",
            "inject=rename:signal=KILL:when=2",
        ];
        let output = traced(&trace, test, folder.path(), 1);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let calls: Vec<&str> = text.lines().filter(|line| line.contains(name)).collect();
        let folder = format!("{}>", folder.path().display());
        let synchronised = text.lines().filter(|line| line.contains(&folder)).count();
        assert!(
            calls[0].contains("fsync(") && calls[0].contains(".tmp>"),
            "{text}"
        );
        assert!(
            calls[1].contains("rename(") && calls[1].contains(".tmp\""),
            "{text}"
        );
        assert!(synchronised >= 1, "{text}");
    }
}
