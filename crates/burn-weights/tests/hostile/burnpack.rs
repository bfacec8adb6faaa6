//! Headers of burnpack.

use burn_weights::{Checkpoint, CheckpointError, FileDType, Reading};
use ciborium::Value;

use crate::support::burnpack::{cbor, file, map, of, sample, tensor};
use crate::support::{Folder, bytes, refused};

#[test]
fn a_sound_file_is_read() {
    let folder = Folder::new();
    let path = folder.put("model.bpk", sample());
    let checkpoint = Checkpoint::open(path).unwrap();
    assert_eq!(checkpoint.names().collect::<Vec<_>>(), ["bias", "weight"]);
    assert_eq!(checkpoint.metadata()["producer"], "a test");
    assert_eq!(bytes(&checkpoint, "weight"), [7; 24]);
}

#[test]
fn a_file_that_is_cut_off() {
    let folder = Folder::new();
    let whole = sample();
    for len in 5..whole.len() {
        let path = folder.put("cut.bpk", &whole[..len]);
        let error = refused(&path, &[]);
        let is_right = match error {
            CheckpointError::Truncated { found, .. } => found == len as u64,
            // The tensor that is cut.
            CheckpointError::OutOfRange { .. } => true,
            _ => false,
        };
        assert!(is_right, "{error}");
    }
    let path = folder.put("cut.bpk", &whole[..whole.len() - 1]);
    refused(&path, &["`weight`", "256", "280"]);
}

#[test]
fn a_version_of_the_future() {
    let folder = Folder::new();
    let mut content = sample();
    content[4] = 2;
    let path = folder.put("new.bpk", content);
    let error = refused(&path, &["version 2"]);
    assert!(matches!(error, CheckpointError::Burnpack { .. }), "{error}");
}

#[test]
fn a_header_of_gigabytes() {
    let folder = Folder::new();
    let mut content = sample();
    content[6..10].copy_from_slice(&u32::MAX.to_le_bytes());
    let path = folder.put("large.bpk", content);
    let error = refused(&path, &["4294967295"]);
    assert!(matches!(error, CheckpointError::HeaderTooLarge { .. }));
}

#[test]
fn cbor_that_is_none() {
    let folder = Folder::new();
    let deep = [vec![0xa1, 0x61, b'x'], vec![0x81; 1_000_000], vec![0]].concat();
    // A list of 2^60, a text of 2^60, a map of 2^60.
    let long = |kind: u8| {
        let length = (1_u64 << 60).to_be_bytes();
        [&[0xa1, 0x67][..], b"tensors", &[kind], &length].concat()
    };
    let text = map(vec![(
        "tensors",
        map(vec![("a", tensor("F99", &[1], 0, 4))]),
    )]);
    for content in [
        deep,
        long(0x9b),
        long(0x7b),
        long(0xbb),
        vec![0xff; 20],
        cbor(&map(vec![])),
        cbor(&text),
    ] {
        let path = folder.put("bad.bpk", file(&content, &[0; 4]));
        let error = refused(&path, &["the header, at byte"]);
        assert!(matches!(error, CheckpointError::Header { .. }), "{error}");
    }
}

#[test]
fn a_name_that_is_there_twice() {
    let folder = Folder::new();
    let twice = vec![
        ("a", tensor("U8", &[1], 0, 1)),
        ("a", tensor("U8", &[1], 256, 257)),
    ];
    let path = folder.put("twice.bpk", of(twice, 257));
    let error = refused(&path, &["`a`"]);
    assert!(matches!(error, CheckpointError::DuplicateName { .. }));
    let texts = map(vec![("x", "1".into()), ("x", "2".into())]);
    let metadata = map(vec![("tensors", map(vec![])), ("metadata", texts)]);
    let path = folder.put("twice.bpk", file(&cbor(&metadata), b""));
    let error = refused(&path, &["`x`"]);
    assert!(matches!(error, CheckpointError::DuplicateName { .. }));
}

#[test]
fn offsets_beyond_the_file() {
    let folder = Folder::new();
    for (start, end) in [(0, 9), (8, 4), (u64::MAX - 4, u64::MAX), (0, u64::MAX)] {
        let tensors = vec![("layer.w", tensor("F32", &[1], start, end))];
        let path = folder.put("far.bpk", of(tensors, 8));
        let place = format!("from byte {start} to byte {end}");
        let error = refused(&path, &["`layer.w`", &place]);
        assert!(matches!(error, CheckpointError::OutOfRange { .. }));
    }
}

#[test]
fn tensors_that_overlap() {
    let folder = Folder::new();
    let tensors = vec![
        ("a", tensor("U8", &[4], 0, 4)),
        ("b", tensor("U8", &[4], 3, 7)),
    ];
    let path = folder.put("overlap.bpk", of(tensors, 7));
    let error = refused(&path, &["`b`", "byte 3"]);
    assert!(matches!(error, CheckpointError::NotAdjacent { .. }));
}

#[test]
fn sizes_that_are_not_those_of_the_shape() {
    let folder = Folder::new();
    let shapes: [&[u64]; 3] = [&[3], &[u64::MAX, u64::MAX], &[]];
    for shape in shapes {
        let tensors = vec![("layer.w", tensor("F32", shape, 0, 8))];
        let path = folder.put("wrong.bpk", of(tensors, 8));
        let error = refused(&path, &["`layer.w`", "F32", &format!("{shape:?}")]);
        assert!(matches!(error, CheckpointError::WrongSize { .. }));
    }
    let many = vec![1; 65];
    let path = folder.put("many.bpk", of(vec![("a", tensor("U8", &many, 0, 1))], 1));
    let error = refused(&path, &["64 dimensions"]);
    assert!(matches!(error, CheckpointError::Header { .. }));
}

#[test]
fn quantised_values_are_an_error_when_they_are_wanted() {
    let folder = Folder::new();
    let scheme = map(vec![
        ("value", "Q8S".into()),
        ("param", "F32".into()),
        ("store", "Native".into()),
        ("level", "Tensor".into()),
        ("mode", "Symmetric".into()),
    ]);
    let mut packed = tensor("", &[4], 0, 8);
    if let Value::Map(entries) = &mut packed {
        entries[0].1 = map(vec![("QFloat", scheme)]);
    }
    let mut bools = tensor("", &[1], 256, 260);
    if let Value::Map(entries) = &mut bools {
        entries[0].1 = map(vec![("Bool", "U32".into())]);
    }
    let tensors = vec![
        ("bools", bools),
        ("good", tensor("U8", &[2], 512, 514)),
        ("packed", packed),
    ];
    let path = folder.put("packed.bpk", of(tensors, 514));
    let checkpoint = Checkpoint::open(path).unwrap();
    assert_eq!(bytes(&checkpoint, "good"), [0, 1]);
    for name in ["packed", "bools"] {
        let dtype = checkpoint.tensor(name).unwrap().dtype;
        assert!(matches!(dtype, FileDType::Foreign(_)), "{dtype}");
        let error = checkpoint.read(name, None, Reading::Map).unwrap_err();
        assert!(matches!(error, CheckpointError::Unsupported { .. }));
    }
}

#[test]
fn empty_tensors_lie_anywhere() {
    let folder = Folder::new();
    let tensors = vec![
        ("a", tensor("F32", &[0], 0, 0)),
        ("b", tensor("F32", &[1], 0, 4)),
        ("c", tensor("F64", &[2, 0], 256, 256)),
    ];
    let path = folder.put("empty.bpk", of(tensors, 256));
    let checkpoint = Checkpoint::open(path).unwrap();
    for (name, len) in [("a", 0), ("b", 4), ("c", 0)] {
        assert_eq!(bytes(&checkpoint, name).len(), len);
    }
    let nothing = file(&cbor(&map(vec![("tensors", map(vec![]))])), b"");
    let path = folder.put("nothing.bpk", nothing);
    assert_eq!(Checkpoint::open(path).unwrap().names().len(), 0);
}
