//! Folders with nothing, too much, or what an interrupted save left.

use std::io;

use burn_weights::{Checkpoint, CheckpointError};
use serde_json::json;

use crate::support::safetensors::{entry, of, sample};
use crate::support::torch;
use crate::support::{Folder, bytes, refused};

fn part(tensor: &str) -> Vec<u8> {
    of(&[entry(tensor, "U8", &[2], 0..2)], 2)
}

#[test]
fn a_path_with_nothing_there() {
    let folder = Folder::new();
    let file = folder.put("file", sample());
    for path in [
        folder.join("gone"),
        folder.join("gone/model.bpk"),
        file.join("below"),
    ] {
        let error = refused(&path, &[]);
        assert!(matches!(error, CheckpointError::Io { .. }), "{error}");
    }
    let error = refused(&folder.join("gone"), &["no such file"]);
    let kind = match error {
        CheckpointError::Io { kind, .. } => kind,
        _ => panic!("{error}"),
    };
    assert_eq!(kind, io::ErrorKind::NotFound);
}

#[test]
fn a_folder_without_a_checkpoint() {
    let folder = Folder::new();
    folder.put("readme.md", "text");
    // Folders are no files, whatever their names.
    std::fs::create_dir(folder.join("model.safetensors")).unwrap();
    let error = refused(folder.path(), &["*.safetensors"]);
    assert!(matches!(error, CheckpointError::NothingInFolder { .. }));
}

#[test]
fn a_folder_with_several() {
    let folder = Folder::new();
    folder.put("a.safetensors", sample());
    folder.put("b.safetensors", sample());
    let error = refused(folder.path(), &["a.safetensors", "b.safetensors"]);
    assert!(matches!(error, CheckpointError::SeveralInFolder { .. }));
    let folder = Folder::new();
    folder.put("a.safetensors.index.json", "{}");
    folder.put("b.safetensors.index.json", "{}");
    let error = refused(folder.path(), &["a.safetensors.index.json"]);
    assert!(matches!(error, CheckpointError::SeveralInFolder { .. }));
    let folder = Folder::new();
    folder.put("a-1-of-2.bpk", "");
    folder.put("b-2-of-2.bpk", "");
    let error = refused(folder.path(), &["a-1-of-2.bpk"]);
    assert!(matches!(error, CheckpointError::SeveralInFolder { .. }));
}

#[test]
fn the_same_weights_in_two_formats() {
    let folder = Folder::new();
    folder.put("pytorch_model.bin", torch::sample());
    folder.put("model.safetensors", sample());
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    assert!(checkpoint.contains("linear.weight"));
}

#[test]
fn parts_without_an_index() {
    let folder = Folder::new();
    folder.put("model-00001-of-00002.safetensors", part("a"));
    folder.put("model-00002-of-00002.safetensors", part("b"));
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    assert!(checkpoint.is_sharded());
    assert_eq!(checkpoint.names().collect::<Vec<_>>(), ["a", "b"]);
    folder.put("model-00002-of-00002.safetensors", part("a"));
    let error = Checkpoint::open(folder.path()).unwrap_err();
    assert!(matches!(error, CheckpointError::DuplicateName { tensor, .. } if tensor == "a"));
}

#[test]
fn parts_of_which_one_is_missing() {
    let folder = Folder::new();
    for (there, missing) in [("00003", "00001"), ("00001", "00002")] {
        folder.put(&format!("model-{there}-of-00003.safetensors"), part(there));
        let missing = format!("model-{missing}-of-00003.safetensors");
        let error = refused(folder.path(), &[&missing]);
        assert!(
            matches!(error, CheckpointError::PartMissing { .. }),
            "{error}"
        );
    }
}

#[test]
fn parts_that_an_interrupted_save_left_beside_a_whole_file() {
    let folder = Folder::new();
    folder.put("model.safetensors", part("whole"));
    folder.put("model-00001-of-00003.safetensors", part("a"));
    folder.put("model.safetensors.17-0.tmp", "half");
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    assert_eq!(bytes(&checkpoint, "whole"), [0, 1]);
    // An index says which parts are meant.
    let json = json!({ "weight_map": { "a": "model-00001-of-00003.safetensors" } });
    folder.put("model.safetensors.index.json", json.to_string());
    let checkpoint = Checkpoint::open(folder.path()).unwrap();
    assert_eq!(checkpoint.names().collect::<Vec<_>>(), ["a"]);
}
