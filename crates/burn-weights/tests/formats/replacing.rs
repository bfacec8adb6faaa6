//! What may be replaced, and what else is in the folder.

use burn_weights::{CheckpointError, WriteOptions, write};
use serde_json::json;

use crate::support::Folder;
use crate::written::{FORMATS, many, overwriting, seeds, sharded};

#[test]
fn nothing_is_replaced_unasked() {
    let folder = Folder::new();
    for format in FORMATS {
        for limit in [None, Some(10)] {
            let path = folder.join(&format!("{}.{}", limit.is_some(), format.extension()));
            let options = WriteOptions {
                max_shard_bytes: limit,
                ..WriteOptions::default()
            };
            let written = write(&path, many(2, 10, 0), &options).unwrap();
            let before = folder.names();
            for options in [WriteOptions::default(), sharded(10)] {
                let error = write(&path, many(2, 10, 9), &options).unwrap_err();
                assert!(error.to_string().contains("`overwrite`"), "{error}");
                assert!(matches!(error, CheckpointError::Exists { .. }));
            }
            assert_eq!(folder.names(), before);
            assert_eq!(seeds(&written.path), [0, 1]);
        }
    }
}

#[test]
fn a_folder_is_not_replaced() {
    let folder = Folder::new();
    std::fs::create_dir(folder.join("model.bpk")).unwrap();
    for options in [overwriting(), WriteOptions::default()] {
        let error = write(folder.join("model.bpk"), many(1, 1, 0), &options).unwrap_err();
        assert!(matches!(error, CheckpointError::NotAFile { .. }), "{error}");
    }
    // A folder where the index goes.
    std::fs::create_dir(folder.join("m.safetensors.index.json")).unwrap();
    let options = WriteOptions {
        max_shard_bytes: Some(10),
        ..overwriting()
    };
    let error = write(folder.join("m.safetensors"), many(2, 10, 0), &options).unwrap_err();
    assert!(matches!(error, CheckpointError::Io { .. }), "{error}");
    assert_eq!(folder.names(), ["m.safetensors.index.json", "model.bpk"]);
}

#[test]
fn paths_that_cannot_be_written() {
    let folder = Folder::new();
    let file = folder.put("file", "text");
    for options in [WriteOptions::default(), sharded(10)] {
        for path in ["", "/", ".."] {
            let error = write(path, many(2, 10, 0), &options).unwrap_err();
            assert!(matches!(error, CheckpointError::NotAFile { .. }), "{error}");
        }
        for path in [
            folder.join("gone/model.bpk"),
            file.join("model.safetensors"),
        ] {
            let error = write(&path, many(2, 10, 0), &options).unwrap_err();
            assert!(matches!(error, CheckpointError::Io { .. }), "{error}");
        }
    }
    assert_eq!(folder.names(), ["file"]);
}

#[test]
fn an_index_of_somebody_else_removes_no_files_but_shards() {
    let folder = Folder::new();
    let kept = [
        "optimizer.safetensors",
        "readme.md",
        "model.txt",
        "other-1-of-2.safetensors",
    ];
    for name in kept {
        folder.put(name, "precious");
    }
    folder.put("model-1-of-2.safetensors", "a shard");
    let gone = ["model-1-of-2.safetensors"];
    let map = kept
        .iter()
        .chain(&gone)
        .map(|name| (name.to_string(), json!(name)));
    let map: serde_json::Map<_, _> = map.collect();
    let index = json!({ "weight_map": map }).to_string();
    folder.put("model.safetensors.index.json", index);
    write(
        folder.join("model.safetensors"),
        many(1, 10, 0),
        &overwriting(),
    )
    .unwrap();
    let mut expected: Vec<&str> = kept.into_iter().chain(["model.safetensors"]).collect();
    expected.sort_unstable();
    assert_eq!(folder.names(), expected);
}

#[cfg(unix)]
#[test]
fn an_old_index_that_has_no_end_is_replaced() {
    let folder = Folder::new();
    let index = folder.join("model.safetensors.index.json");
    std::os::unix::fs::symlink("/dev/zero", &index).unwrap();
    let options = WriteOptions {
        max_shard_bytes: Some(10),
        ..overwriting()
    };
    let written = write(folder.join("model.safetensors"), many(2, 10, 3), &options).unwrap();
    assert_eq!(written.path, index);
    assert_eq!(seeds(folder.path()), [3, 4]);
}

#[cfg(unix)]
#[test]
fn permissions_stay_as_they_were() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.join("model.safetensors");
    write(&path, many(1, 10, 0), &overwriting()).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    write(&path, many(1, 10, 1), &overwriting()).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
