//! What can be wrong with a tensor when it is read, and what is only unusual.

use std::fs::OpenOptions;

use burn_weights::{Checkpoint, CheckpointError, Copied, FileDType, Reading};

use crate::support::safetensors::{entry, file, of, sample};
use crate::support::{Folder, bytes, named};

#[test]
fn a_name_that_is_not_there_comes_with_the_nearest() {
    let folder = Folder::new();
    let path = folder.put("model.safetensors", sample());
    let checkpoint = Checkpoint::open(&path).unwrap();
    let error = checkpoint
        .read("linear.weigth", None, Reading::Map)
        .unwrap_err();
    named(
        &error,
        &path,
        &["`linear.weigth`", "nearest name is `linear.weight`"],
    );
    assert!(matches!(error, CheckpointError::NoTensor { .. }));
    assert!(checkpoint.release("linear.weigth", None).is_err());
}

#[test]
fn a_dtype_that_burn_lacks_is_an_error_when_it_is_wanted() {
    let folder = Folder::new();
    let entries = [
        entry("good", "F32", &[1], 0..4),
        entry("eight", "F8_E4M3", &[4], 4..8),
        entry("four", "F4", &[8], 8..12),
        entry("complex", "C64", &[1], 12..20),
        entry("new", "F16_OF_TOMORROW", &[3, 7], 20..22),
    ];
    let path = folder.put("model.safetensors", of(&entries, 22));
    let checkpoint = Checkpoint::open(&path).unwrap();
    assert_eq!(bytes(&checkpoint, "good"), [0, 1, 2, 3]);
    for (name, dtype) in [
        ("eight", "F8_E4M3"),
        ("four", "F4"),
        ("complex", "C64"),
        ("new", "F16_OF_TOMORROW"),
    ] {
        let info = checkpoint.tensor(name).unwrap();
        assert_eq!(info.dtype, FileDType::Foreign(dtype.to_owned()));
        for reading in [Reading::Map, Reading::Copy] {
            let error = checkpoint.read(name, None, reading).unwrap_err();
            let offset = info.offset.unwrap();
            let parts = [&format!("`{name}` at byte {offset}"), dtype];
            named(&error, &path, &parts.map(|part| part));
            assert!(matches!(error, CheckpointError::Unsupported { .. }));
        }
    }
}

#[test]
fn a_bool_that_is_none() {
    let folder = Folder::new();
    let mut content = of(&[entry("mask", "BOOL", &[4], 0..4)], 4);
    let len = content.len();
    content[len - 4..].copy_from_slice(&[1, 0, 2, 1]);
    let path = folder.put("model.safetensors", content);
    let checkpoint = Checkpoint::open(&path).unwrap();
    for reading in [Reading::Map, Reading::Copy] {
        let error = checkpoint.read("mask", None, reading).unwrap_err();
        let expected = CheckpointError::NotABool {
            path: path.clone(),
            tensor: "mask".to_owned(),
            offset: len as u64 - 2,
            value: 2,
        };
        assert_eq!(error, expected);
        // What is asked for is what is looked at.
        let part = checkpoint.read("mask", Some(0..2), reading).unwrap();
        assert_eq!(part.bytes[..], [1, 0]);
    }
    let part = checkpoint.read("mask", Some(3..4), Reading::Map).unwrap();
    assert_eq!(part.copied, Some(Copied::Checked));
}

#[test]
fn misaligned_tensors_are_copied() {
    let folder = Folder::new();
    for shift in 0..8 {
        let entries = [
            entry("shift", "U8", &[shift], 0..shift),
            entry("a", "F64", &[2], shift..shift + 16),
        ];
        let header = format!("{{{}}}", entries.join(","));
        let header = format!("{header:width$}", width = header.len().next_multiple_of(8));
        let data: Vec<u8> = (0..shift as u8 + 16).collect();
        let path = folder.put("model.safetensors", file(&header, &data));
        let checkpoint = Checkpoint::open(path).unwrap();
        let read = checkpoint.read("a", None, Reading::Map).unwrap();
        let expected = (shift != 0).then_some(Copied::Misaligned);
        assert_eq!(read.copied, expected, "{shift}");
        assert_eq!(read.bytes[..], data[shift as usize..]);
        assert!((read.bytes.as_ptr() as usize).is_multiple_of(8));
        // Values of one byte are aligned anywhere.
        let read = checkpoint.read("shift", None, Reading::Map).unwrap();
        assert_eq!(read.copied, None);
    }
}

#[test]
fn empty_tensors_scalars_and_many_dimensions() {
    let folder = Folder::new();
    let ones = vec![1; 64];
    let entries = [
        entry("first", "F32", &[0], 0..0),
        entry("scalar", "F32", &[], 0..4),
        entry("between", "F64", &[3, 0, 5], 4..4),
        entry("many", "F32", &ones, 4..8),
        entry("last", "BOOL", &[0, u64::MAX], 8..8),
    ];
    let path = folder.put("model.safetensors", of(&entries, 8));
    let checkpoint = Checkpoint::open(&path).unwrap();
    for reading in [Reading::Map, Reading::Copy] {
        for name in ["first", "between", "last"] {
            let read = checkpoint.read(name, None, reading).unwrap();
            assert_eq!(read.bytes.len(), 0);
            assert!((read.bytes.as_ptr() as usize).is_multiple_of(8) || read.copied.is_none());
        }
        let read = checkpoint.read("scalar", None, reading).unwrap();
        assert_eq!(read.bytes[..], [0, 1, 2, 3]);
        let read = checkpoint.read("many", None, reading).unwrap();
        assert_eq!(read.bytes[..], [4, 5, 6, 7]);
    }
    assert_eq!(
        checkpoint.tensor("scalar").unwrap().shape,
        Vec::<usize>::new()
    );
    assert_eq!(checkpoint.tensor("many").unwrap().shape.len(), 64);
    let ones = vec![1; 65];
    let path = folder.put(
        "more.safetensors",
        of(&[entry("many", "U8", &ones, 0..1)], 1),
    );
    let error = Checkpoint::open(&path).unwrap_err();
    named(&error, &path, &["64 dimensions"]);
    assert!(matches!(error, CheckpointError::Header { .. }));
}

#[test]
fn a_file_that_shrinks_while_it_is_open() {
    let folder = Folder::new();
    let entries = [
        entry("kept", "U8", &[4], 0..4),
        entry("cut", "U8", &[8], 4..12),
    ];
    let path = folder.put("model.safetensors", of(&entries, 12));
    let checkpoint = Checkpoint::open(&path).unwrap();
    let offset = checkpoint.tensor("cut").unwrap().offset.unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(offset + 2).unwrap();
    // Copies notice at any time, a map when it is made after.
    for reading in [Reading::Copy, Reading::Map] {
        let error = checkpoint.read("cut", None, reading).unwrap_err();
        named(&error, &path, &["`cut`", &format!("byte {offset}")]);
        assert!(matches!(error, CheckpointError::Changed { .. }));
        let kept = checkpoint.read("kept", None, reading).unwrap();
        assert_eq!(kept.bytes[..], [0, 1, 2, 3]);
    }
    // Letting go of what is not there lets go of nothing else.
    checkpoint.release("cut", None).unwrap();
    file.set_len(0).unwrap();
    let error = checkpoint.read("kept", None, Reading::Copy).unwrap_err();
    assert!(matches!(error, CheckpointError::Changed { .. }));
}

#[test]
fn a_file_that_is_replaced_while_it_is_open_stays_the_old_one() {
    let folder = Folder::new();
    let content = of(&[entry("a", "U8", &[4], 0..4)], 4);
    let path = folder.put("model.safetensors", &content);
    let checkpoint = Checkpoint::open(&path).unwrap();
    let other = folder.put("other", vec![9; content.len()]);
    std::fs::rename(other, &path).unwrap();
    assert_eq!(bytes(&checkpoint, "a"), [0, 1, 2, 3]);
}
