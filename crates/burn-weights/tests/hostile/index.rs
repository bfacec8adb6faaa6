//! Indices of shards.

use burn_weights::{Checkpoint, CheckpointError};
use serde_json::json;

use crate::support::safetensors::{entry, of, sample};
use crate::support::{Folder, bytes, named, refused};

const NAME: &str = "model.safetensors.index.json";

fn index(folder: &Folder, files: &[(&str, &str)]) -> std::path::PathBuf {
    let files: std::collections::BTreeMap<_, _> = files.iter().copied().collect();
    folder.put(
        NAME,
        json!({ "metadata": {}, "weight_map": files }).to_string(),
    )
}

fn shard(folder: &Folder, file: &str, tensor: &str) {
    folder.put(file, of(&[entry(tensor, "U8", &[2], 0..2)], 2));
}

#[test]
fn files_outside_of_its_folder() {
    let outside = Folder::new();
    shard(&outside, "x.safetensors", "a");
    let folder = Folder::new();
    let absolute = outside.join("x.safetensors");
    std::fs::create_dir(folder.join("sub")).unwrap();
    shard(&folder, "sub/x.safetensors", "a");
    for file in [
        "../x.safetensors",
        "..",
        ".",
        "",
        "/",
        absolute.to_str().unwrap(),
        "sub/x.safetensors",
        "sub/../sub/x.safetensors",
        "./sub",
        "sub\\x.safetensors",
        "..\\x.safetensors",
        "C:x.safetensors",
        "C:\\x.safetensors",
        "\\\\server\\share\\x",
        "x.safetensors:stream",
    ] {
        let path = index(&folder, &[("layer.w", file)]);
        let error = refused(&path, &["`layer.w`", "outside"]);
        assert!(
            matches!(error, CheckpointError::ShardOutside { .. }),
            "{error}"
        );
    }
}

#[test]
fn files_that_are_not_there() {
    let folder = Folder::new();
    std::fs::create_dir(folder.join("folder.safetensors")).unwrap();
    for file in [
        "gone.safetensors",
        "folder.safetensors",
        "a\0b",
        &"x".repeat(5000),
    ] {
        let path = index(&folder, &[("layer.w", file)]);
        let error = refused(&path, &["`layer.w`", "fetch"]);
        assert!(
            matches!(error, CheckpointError::ShardMissing { .. }),
            "{error}"
        );
    }
}

#[test]
fn a_shard_without_its_tensor() {
    let folder = Folder::new();
    shard(&folder, "1.safetensors", "a");
    let path = index(&folder, &[("a", "1.safetensors"), ("b", "1.safetensors")]);
    let checkpoint = Checkpoint::open(path).unwrap();
    assert_eq!(bytes(&checkpoint, "a"), [0, 1]);
    let error = checkpoint.tensor("b").unwrap_err();
    named(&error, &folder.join("1.safetensors"), &["`b`"]);
    assert!(matches!(error, CheckpointError::NotInShard { .. }));
    assert_eq!(checkpoint.tensors().unwrap_err(), error);
}

#[test]
fn a_bad_shard_is_an_error_when_it_is_wanted() {
    let folder = Folder::new();
    shard(&folder, "1.safetensors", "a");
    folder.put("2.safetensors", "no tensors at all");
    // An index in place of a shard leads nowhere.
    folder.put("3.safetensors", r#"{"weight_map":{"c":"3.safetensors"}}"#);
    let files = [
        ("a", "1.safetensors"),
        ("b", "2.safetensors"),
        ("c", "3.safetensors"),
    ];
    let checkpoint = Checkpoint::open(index(&folder, &files)).unwrap();
    assert_eq!(bytes(&checkpoint, "a"), [0, 1]);
    for (tensor, file) in &files[1..] {
        let error = checkpoint.tensor(tensor).unwrap_err();
        named(&error, &folder.join(file), &[]);
        assert!(matches!(error, CheckpointError::UnknownFormat { .. }));
    }
}

#[test]
fn a_name_that_is_there_twice() {
    let folder = Folder::new();
    folder.put("1.safetensors", sample());
    for (json, name) in [
        (
            r#"{"weight_map":{"a":"1.safetensors","a":"1.safetensors"}}"#,
            "a",
        ),
        (r#"{"metadata":{"x":"","y":1,"x":[]},"weight_map":{}}"#, "x"),
    ] {
        let path = folder.put(NAME, json);
        let error = refused(&path, &[&format!("`{name}`")]);
        assert!(
            matches!(error, CheckpointError::DuplicateName { .. }),
            "{error}"
        );
    }
}

#[test]
fn json_that_is_no_index() {
    let folder = Folder::new();
    let deep = format!("{{\"metadata\":{{\"a\":{}", "[".repeat(1_000_000));
    for json in [
        "{",
        "{}",
        r#"{"weight_map":[]}"#,
        r#"{"weight_map":{"a":3}}"#,
        r#"{"weight_map":{},"weight_map":{}}"#,
        r#"{"weight_map":{}} and more"#,
        r#"{"metadata":[],"weight_map":{}}"#,
        "{\"weight_map\":{\"a\":\"\u{0}\"}}",
        &deep,
    ] {
        let path = folder.put(NAME, json);
        let error = refused(&path, &["index of shards"]);
        assert!(matches!(error, CheckpointError::Index { .. }), "{error}");
    }
}

#[test]
fn an_index_of_gigabytes() {
    let folder = Folder::new();
    let path = folder.put(NAME, "{");
    // A hole: nothing on the disk.
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    let error = refused(&path, &["1099511627776"]);
    assert!(matches!(error, CheckpointError::HeaderTooLarge { .. }));
}

#[test]
fn metadata_is_text_or_passed_over() {
    let folder = Folder::new();
    let json = r#"{"weight_map":{},"other":[[{}]],"metadata":{
        "a":"text","b":3,"c":-3,"d":1.5,"e":null,"f":true,"g":[[1],{}],"h":{"i":[{}]}}}"#;
    let path = folder.put(NAME, json);
    let checkpoint = Checkpoint::open(path).unwrap();
    let texts = checkpoint.metadata().iter().collect::<Vec<_>>();
    assert_eq!(texts, [(&"a".to_owned(), &"text".to_owned())]);
    let path = folder.put(NAME, r#"{"weight_map":{},"metadata":null}"#);
    assert!(Checkpoint::open(path).unwrap().metadata().is_empty());
}
