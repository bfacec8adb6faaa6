//! Headers of safetensors.

use burn_weights::{Checkpoint, CheckpointError};

use crate::support::safetensors::{announcing, entry, file, of};
use crate::support::{Folder, bytes, refused};

#[test]
fn an_empty_file() {
    let folder = Folder::new();
    let path = folder.put("model.safetensors", b"");
    let error = refused(&path, &["empty"]);
    assert!(matches!(error, CheckpointError::Empty { .. }));
    let error = Checkpoint::from_bytes("included", &b""[..]).unwrap_err();
    assert!(matches!(error, CheckpointError::Empty { .. }));
}

#[test]
fn nothing_that_is_known() {
    let folder = Folder::new();
    for content in [
        &b"GGUF\x03\x00\x00\x00 and so on"[..],
        b"<",
        b"\0\0\0\0\0\0\0\0\0",
    ] {
        let path = folder.put("model.safetensors", content);
        let error = refused(&path, &["begins with"]);
        assert!(
            matches!(error, CheckpointError::UnknownFormat { .. }),
            "{error}"
        );
    }
}

#[test]
fn a_header_that_is_cut_off() {
    let folder = Folder::new();
    let path = folder.put("cut.safetensors", announcing(500, "{", b""));
    let error = refused(&path, &["9 bytes", "508"]);
    let expected = CheckpointError::Truncated {
        path,
        expected: 508,
        found: 9,
    };
    assert_eq!(error, expected);
}

#[test]
fn a_header_of_gigabytes() {
    let folder = Folder::new();
    for length in [100_000_001, 1 << 40, u64::MAX] {
        let path = folder.put("large.safetensors", announcing(length, "{}", b""));
        let error = refused(&path, &[&length.to_string(), "100000000"]);
        let is_right =
            matches!(error, CheckpointError::HeaderTooLarge { bytes, .. } if bytes == length);
        assert!(is_right, "{error}");
    }
}

#[test]
fn a_header_that_is_no_json_names_the_place() {
    let folder = Folder::new();
    for (header, at) in [
        ("{\"a\":\n 5}", 15),
        ("{\"a\"", 11),
        ("{\"a\":{\"dtype\":3}}", 22),
        ("{} {", 11),
        (
            "{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}",
            38,
        ),
        (
            "{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}",
            39,
        ),
        (
            "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,8]}}",
            60,
        ),
    ] {
        let path = folder.put("bad.safetensors", file(header, &[0; 4]));
        let error = refused(&path, &[&format!("at byte {at} ")]);
        assert!(matches!(error, CheckpointError::Header { .. }), "{error}");
        // Within an entry, the tensor is named.
        let within = header.contains("\"a\"");
        assert_eq!(error.to_string().contains("`a`"), within, "{error}");
    }
    let mut bad = file("{\"a\":\"?\"}", b"");
    bad[14] = 0xff;
    let path = folder.put("bad.safetensors", bad);
    assert!(matches!(
        refused(&path, &[]),
        CheckpointError::Header { .. }
    ));
}

#[test]
fn json_that_is_nested_deeply() {
    let folder = Folder::new();
    for levels in [200, 1_000_000] {
        let nested = format!("{{\"a\":{}", "[".repeat(levels));
        let path = folder.put("deep.safetensors", file(&nested, b""));
        assert!(matches!(
            refused(&path, &[]),
            CheckpointError::Header { .. }
        ));
        // Where a value is passed over, too.
        let ignored = format!("{{\"a\":{{\"other\":{}", "[".repeat(levels));
        let path = folder.put("deep.safetensors", file(&ignored, b""));
        assert!(matches!(
            refused(&path, &[]),
            CheckpointError::Header { .. }
        ));
    }
}

#[test]
fn a_name_that_is_there_twice() {
    let folder = Folder::new();
    let tensor = |name| entry(name, "U8", &[2], 0..2);
    let texts = |texts: &str| format!(r#""__metadata__":{{{texts}}}"#);
    for (entries, name) in [
        (vec![tensor("a"), tensor("b"), tensor("a")], "a"),
        // The same letters, written otherwise.
        (vec![tensor("a"), tensor(r"\u0061")], "a"),
        (vec![texts(r#""x":"1","y":"2","x":"1""#), tensor("a")], "x"),
        (vec![texts(""), tensor("a"), texts("")], "__metadata__"),
    ] {
        let path = folder.put("twice.safetensors", of(&entries, 2));
        let error = refused(&path, &[&format!("`{name}`")]);
        assert!(
            matches!(error, CheckpointError::DuplicateName { .. }),
            "{error}"
        );
    }
    // A key of an entry.
    let header = r#"{"a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}}"#;
    let path = folder.put("twice.safetensors", file(header, b"1"));
    assert!(matches!(
        refused(&path, &["dtype"]),
        CheckpointError::Header { .. }
    ));
}

#[test]
fn offsets_beyond_the_file() {
    let folder = Folder::new();
    let far = u64::MAX;
    for (start, end, len) in [(0, 8, 7), (8, 4, 8), (far - 8, far, 8), (0, far, 8)] {
        let entries = [entry("layer.w", "F32", &[2], start..end)];
        let path = folder.put("far.safetensors", of(&entries, len));
        let parts = [&format!("from byte {start} to byte {end}"), "`layer.w`"];
        let error = refused(&path, &parts);
        assert!(
            matches!(error, CheckpointError::OutOfRange { .. }),
            "{error}"
        );
    }
}

#[test]
fn tensors_that_overlap_or_leave_a_gap() {
    let folder = Folder::new();
    let first = || entry("a", "U8", &[4], 0..4);
    for (second, len, name) in [
        (entry("b", "U8", &[4], 3..7), 7, "`b`"),
        (entry("b", "U8", &[4], 0..4), 4, "`b`"),
        (entry("b", "U8", &[4], 5..9), 9, "`b`"),
        (entry("b", "U8", &[4], 4..8), 9, "`end of file`"),
    ] {
        let path = folder.put("gap.safetensors", of(&[first(), second], len));
        let error = refused(&path, &[]);
        let CheckpointError::NotAdjacent { tensor, .. } = &error else {
            panic!("{error}");
        };
        // Of two in one place, either is named.
        assert!(name.contains(tensor) || len == 4, "{error}");
    }
    // Bytes without a tensor.
    let path = folder.put("gap.safetensors", file("{}", b"hidden"));
    assert!(matches!(
        refused(&path, &[]),
        CheckpointError::NotAdjacent { .. }
    ));
}

#[test]
fn sizes_that_are_not_those_of_the_shape() {
    let folder = Folder::new();
    let huge = u64::MAX;
    let cases: [(&str, &[u64]); 6] = [
        ("F32", &[3]),
        ("F64", &[2]),
        ("F32", &[huge, huge]),
        ("F32", &[huge, 2, 0]),
        ("F8_E4M3", &[7]),
        ("F4", &[17]),
    ];
    for (dtype, shape) in cases {
        let entries = [entry("layer.w", dtype, shape, 0..8)];
        let path = folder.put("wrong.safetensors", of(&entries, 8));
        let error = refused(&path, &["`layer.w`", dtype, &format!("{shape:?}")]);
        let CheckpointError::WrongSize { offset, found, .. } = error else {
            panic!("{error}");
        };
        let header = std::fs::metadata(&path).unwrap().len() - 8;
        assert_eq!((offset, found), (header, 8));
    }
}

#[test]
fn a_header_may_begin_as_other_formats_do() {
    let folder = Folder::new();
    // The lowest byte of the length is a brace, or what a pickle begins with.
    for length in [0x7b, 0x80, 0x180, 0x280, 0x380, 0x480, 0x580] {
        let entries = [entry("a", "U8", &[4], 0..4)];
        let header = format!("{{{:length$}}}", entries[0], length = length - 2);
        assert_eq!(header.len(), length);
        let path = folder.put("model.safetensors", file(&header, &[1, 2, 3, 4]));
        let checkpoint = Checkpoint::open(&path).unwrap();
        assert_eq!(bytes(&checkpoint, "a"), [1, 2, 3, 4]);
    }
}

#[test]
fn any_name_is_a_name() {
    let folder = Folder::new();
    let names = [
        "",
        "\u{202e}evil",
        "a/../../b",
        "\\u0000",
        "x".repeat(10_000).leak(),
    ];
    let entries: Vec<String> = (0..names.len() as u64)
        .map(|at| entry(names[at as usize], "U8", &[1], at..at + 1))
        .collect();
    let path = folder.put("names.safetensors", of(&entries, names.len()));
    let checkpoint = Checkpoint::open(path).unwrap();
    assert_eq!(checkpoint.names().len(), names.len());
    for name in checkpoint.names() {
        assert_eq!(bytes(&checkpoint, name).len(), 1);
    }
    // The hint looks at names of a like length only.
    let error = checkpoint.tensor("a/b").unwrap_err();
    assert!(matches!(error, CheckpointError::NoTensor { .. }));
}
