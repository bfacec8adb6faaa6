use std::fs;

use burn_std::{BoolStore, DType};
use burn_weights::write;
use serde_json::{Value, json};
use tempfile::tempdir;

use crate::files::{raw, singles, with, write_header, write_model, write_pytorch, write_shards};
use crate::run;

#[test]
fn sound_files_are_sound() {
    let folder = tempdir().unwrap();
    write_model(&folder.path().join("model.safetensors"));
    write_pytorch(&folder.path().join("model.pt"));
    let sound = run(folder.path(), "check model.safetensors").succeeded();
    let line = "model.safetensors: sound (looked at 1 file, 7 tensors, 22 values)\n";
    assert_eq!(sound, line);
    let sound = run(folder.path(), "check model.pt").succeeded();
    assert_eq!(
        sound,
        "model.pt: sound (looked at 1 file, 1 tensor, 6 values)\n"
    );
    let json = run(folder.path(), "check model.safetensors --json --headers").succeeded();
    let json: Value = serde_json::from_str(&json).unwrap();
    let expected = json!({
        "path": "model.safetensors",
        "sound": true,
        "files": 1,
        "tensors": 7,
        "values": null,
        "findings": [],
    });
    assert_eq!(json, expected);
}

#[test]
fn values_that_are_not_finite_are_found() {
    let folder = tempdir().unwrap();
    let tensors = vec![
        singles("a", &[2, 2], &[0.0, 1.0, f32::INFINITY, f32::NAN]),
        singles("b", &[1], &[f32::NAN]),
        singles("c", &[1], &[0.0]),
    ];
    write(folder.path().join("a.bpk"), tensors, &with(&[])).unwrap();
    let expected = "\
a.bpk: `a` has 2 of 4 values not finite, the first is inf at [1, 0]
a.bpk: `b` has 1 of 1 value not finite, the first is NaN at [0]
a.bpk: 2 findings (looked at 1 file, 3 tensors, 6 values)
";
    assert_eq!(run(folder.path(), "check a.bpk").found(), expected);
    run(folder.path(), "check a.bpk --headers").succeeded();
    let json = run(folder.path(), "check a.bpk --json").found();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["sound"], false);
    assert_eq!(json["findings"][1]["kind"], "value");
    assert_eq!(json["findings"][1]["tensor"], "b");
}

#[test]
fn a_value_that_is_no_bool_is_found_and_the_rest_looked_at() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    let tensors = vec![
        singles("z", &[1], &[f32::NAN]),
        raw("mask", DType::Bool(BoolStore::Native), &[2], vec![1, 0]),
    ];
    write(&path, tensors, &with(&[])).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() = 3;
    fs::write(&path, bytes).unwrap();
    let found = run(folder.path(), "check a.safetensors").found();
    assert!(
        found.contains("has the value 3, where only 0 and 1 are bools\n"),
        "{found}"
    );
    assert!(found.contains("`z` has 1 of 1 value not finite"), "{found}");
}

#[test]
fn a_bad_structure_is_a_finding() {
    let folder = tempdir().unwrap();
    let header = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    write_header(&folder.path().join("a.safetensors"), header, 7);
    let found = run(folder.path(), "check a.safetensors").found();
    assert!(
        found.contains("`a` would lie from byte 0 to byte 8"),
        "{found}"
    );
    assert!(
        found.ends_with("1 finding (looked at 1 file, 0 tensors, 0 values)\n"),
        "{found}"
    );
}

#[test]
fn index_and_shards_are_held_against_each_other() {
    let folder = tempdir().unwrap();
    write_shards(folder.path());
    run(folder.path(), "check .").succeeded();
    let index = folder.path().join("model.safetensors.index.json");
    let mut json: Value = serde_json::from_slice(&fs::read(&index).unwrap()).unwrap();
    let map = json["weight_map"].as_object_mut().unwrap();
    // One that is in no shard, one that is said to be elsewhere, one that is not said to be.
    map.insert("extra".to_owned(), map["mask"].clone());
    map.insert("fc.weight".to_owned(), map["mask"].clone());
    map.remove("norm.bias");
    fs::write(&index, json.to_string()).unwrap();
    let found = run(folder.path(), "check . --headers").found();
    for line in [
        "`extra` should be in this shard by its index",
        "`fc.weight` should be in this shard by its index",
        "`fc.weight` is in this shard, and the index puts it into \"model-",
        "`norm.bias` is in this shard, and the index does not name it\n",
        "4 findings",
    ] {
        assert!(found.contains(line), "{line}: {found}");
    }
    let json = run(folder.path(), "check . --json").found();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["findings"][0]["kind"], "index");

    // A shard that is no file of tensors is one finding.
    let shard = folder.path().join("model-00001-of-00003.safetensors");
    fs::write(&shard, "nothing of the kind").unwrap();
    let found = run(folder.path(), "check .").found();
    assert_eq!(found.matches("00001-of-00003").count(), 1, "{found}");
    fs::remove_file(&shard).unwrap();
    let found = run(folder.path(), "check .").found();
    assert!(found.contains("which is not in its folder"), "{found}");
}

#[test]
fn ties_that_cannot_be_followed_are_found() {
    let folder = tempdir().unwrap();
    let ties = [("a", "b"), ("x", "y"), ("y", "b"), ("note", "nothing")];
    let tensors = vec![singles("a", &[1], &[0.0]), singles("b", &[1], &[0.0])];
    write(folder.path().join("t.safetensors"), tensors, &with(&ties)).unwrap();
    let expected = "\
t.safetensors: `a` is said to be `b`, and is there as a tensor of its own
t.safetensors: `x` is said to be `y`, which is no tensor but tied itself
t.safetensors: 2 findings (looked at 1 file, 2 tensors, 2 values)
";
    assert_eq!(run(folder.path(), "check t.safetensors").found(), expected);
}
