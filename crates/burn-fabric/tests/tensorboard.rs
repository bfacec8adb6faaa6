//! TensorBoard's event files: their records, read here; a restart's mark; a file that is cut.
#![cfg(feature = "tensorboard")]

use std::fs;
use std::path::Path;

use burn_fabric::TensorBoardLogger;
use burn_fabric::prelude::*;

/// The events of the only file in a folder, each with right sums.
fn events(folder: &Path) -> Vec<Vec<u8>> {
    let mut files = fs::read_dir(folder).expect("the folder");
    let file = files.next().expect("a file").expect("readable").path();
    assert!(files.next().is_none());
    let name = file
        .file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned();
    assert!(name.starts_with("events.out.tfevents."), "{name}");
    let bytes = fs::read(file).expect("readable");
    let (mut rest, mut events) = (bytes.as_slice(), Vec::new());
    while let Some((length, after)) = rest.split_first_chunk::<8>() {
        let count = usize::try_from(u64::from_le_bytes(*length)).expect("short");
        assert_eq!(after[..4], sum(length));
        let event = &after[4..4 + count];
        assert_eq!(after[4 + count..8 + count], sum(event));
        events.push(event.to_vec());
        rest = &after[8 + count..];
    }
    assert!(rest.is_empty());
    events
}

/// As the format says, bit by bit.
fn sum(bytes: &[u8]) -> [u8; 4] {
    let mut sum = !0u32;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0x82F6_3B78 & (0u32.wrapping_sub(sum & 1)));
        }
    }
    let sum = !sum;
    sum.rotate_right(15).wrapping_add(0xA282_EAD8).to_le_bytes()
}

#[test]
fn a_file_has_its_version_a_restart_and_the_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut loggers = Loggers::new().with(TensorBoardLogger::at(folder.path()));
    loggers.resume_at(300);
    loggers.log(300, [("loss", 0.5), ("rate", f64::NAN)]);
    loggers.log_settings(&[("a".to_owned(), "b|c".to_owned())]);
    loggers.flush();
    assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
    let events = events(folder.path());
    // Behind the field and the eight bytes of the time.
    let bodies: Vec<&[u8]> = events.iter().map(|event| &event[9..]).collect();
    assert_eq!(bodies.len(), 4);
    assert_eq!(bodies[0], b"\x1a\x0dbrain.Event:2");
    assert_eq!(bodies[1], b"\x10\xac\x02\x3a\x02\x08\x01");
    let mut values = b"\x10\xac\x02\x2a\x1a\x0a\x0b\x0a\x04loss\x15".to_vec();
    values.extend(0.5f32.to_le_bytes());
    values.extend(b"\x0a\x0b\x0a\x04rate\x15");
    values.extend(f32::NAN.to_le_bytes());
    assert_eq!(bodies[2], values);
    // The settings are of that step too: an earlier one would be before the restart.
    assert!(
        bodies[3].starts_with(b"\x10\xac\x02\x2a"),
        "{:?}",
        bodies[3]
    );
    let text = String::from_utf8_lossy(bodies[3]);
    assert!(text.contains("| a | b\\|c |\n"), "{text}");
}

/// Prints each scalar's name, and its steps and values; then the settings.
const READER: &str = r"
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
events.Reload()
for tag in sorted(events.Tags()['scalars']):
    print(tag, [(event.step, event.value) for event in events.Scalars(tag)])
for tag in events.Tags()['tensors']:
    print(tag, events.SummaryMetadata(tag).plugin_data.plugin_name)
    print(events.Tensors(tag)[0].tensor_proto.string_val[0].decode())
";

#[test]
fn tensorboards_own_reader_lists_what_was_written() {
    let Some(packages) = test_assets::TENSORBOARD.for_test() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Loggers::new().with(TensorBoardLogger::at(folder.path()));
    let mut loggers = open();
    loggers.log_settings(&[("rate".to_owned(), "0.001".to_owned())]);
    for step in 0..4 {
        loggers.log(step, [("train/loss", 0.5), ("worst", f64::NAN)]);
    }
    let mut loggers = open();
    loggers.resume_at(2);
    for step in 2..5 {
        loggers.log(step, [("train/loss", 0.25)]);
    }
    let python = std::process::Command::new("python3")
        .args(["-B", "-c", READER])
        .env("PYTHONPATH", packages)
        .arg(folder.path())
        .output()
        .expect("python3 runs");
    let (text, told) = (
        String::from_utf8_lossy(&python.stdout),
        String::from_utf8_lossy(&python.stderr),
    );
    assert!(python.status.success(), "{told}");
    assert_eq!(
        text,
        "train/loss [(0, 0.5), (1, 0.5), (2, 0.25), (3, 0.25), (4, 0.25)]\n\
         worst [(0, nan), (1, nan)]\n\
         settings text\n\
         | name | value |\n|---|---|\n| rate | 0.001 |\n\n"
    );
}
