//! Links, what is no file, and what may not be read.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::time::{Duration, Instant};

use burn_weights::{Checkpoint, CheckpointError};
use serde_json::json;

use crate::support::safetensors::sample;
use crate::support::{Folder, bytes, refused};

#[test]
fn a_link_to_a_file_is_that_file() {
    let hub = Folder::new();
    let blob = hub.put("0f3c", sample());
    let folder = Folder::new();
    symlink(&blob, folder.join("model.safetensors")).unwrap();
    let by_file = Checkpoint::open(folder.join("model.safetensors")).unwrap();
    let by_folder = Checkpoint::open(folder.path()).unwrap();
    let json = json!({ "weight_map": { "linear.weight": "model.safetensors" } });
    let index = folder.put("model.safetensors.index.json", json.to_string());
    let by_index = Checkpoint::open(index).unwrap();
    for checkpoint in [by_file, by_folder, by_index] {
        assert_eq!(bytes(&checkpoint, "linear.weight").len(), 24);
    }
    // A link to a folder is that folder.
    let link = hub.join("snapshot");
    symlink(folder.path(), &link).unwrap();
    assert!(Checkpoint::open(link).unwrap().contains("linear.weight"));
}

#[test]
fn a_link_to_nothing_and_a_loop() {
    let folder = Folder::new();
    let dangling = folder.join("model.safetensors");
    symlink(folder.join("gone"), &dangling).unwrap();
    assert!(matches!(
        refused(&dangling, &[]),
        CheckpointError::Io { .. }
    ));
    let error = Checkpoint::open(folder.path()).unwrap_err();
    assert!(matches!(error, CheckpointError::Io { path, .. } if path == dangling));
    let folder = Folder::new();
    let looped = folder.join("model.safetensors");
    symlink(&looped, &looped).unwrap();
    assert!(matches!(refused(&looped, &[]), CheckpointError::Io { .. }));
    // A folder in itself.
    let folder = Folder::new();
    symlink(folder.path(), folder.join("model.safetensors")).unwrap();
    let error = refused(folder.path(), &[]);
    assert!(matches!(error, CheckpointError::NothingInFolder { .. }));
    for target in ["gone", "model-2.safetensors", "."] {
        let folder = Folder::new();
        symlink(target, folder.join("model-2.safetensors")).unwrap();
        let json = json!({ "weight_map": { "w": "model-2.safetensors" } });
        let index = folder.put("model.safetensors.index.json", json.to_string());
        let error = refused(&index, &["`w`", "model-2.safetensors"]);
        assert!(matches!(error, CheckpointError::ShardMissing { .. }));
    }
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let folder = Folder::new();
    let pipe = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let socket = folder.join("socket");
    let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let start = Instant::now();
    for target in [pipe, socket, "/dev/zero".into(), "/dev/null".into()] {
        let error = refused(&target, &["neither a file nor a folder"]);
        assert!(matches!(error, CheckpointError::NotAFile { .. }));
        let link = folder.join("model.safetensors");
        symlink(&target, &link).unwrap();
        assert!(matches!(
            refused(&link, &[]),
            CheckpointError::NotAFile { .. }
        ));
        let error = Checkpoint::open(folder.path()).unwrap_err();
        assert!(matches!(error, CheckpointError::NotAFile { .. }));
        let json = json!({ "weight_map": { "w": "model.safetensors" } });
        let index = folder.put("model.safetensors.index.json", json.to_string());
        let error = refused(&index, &["`w`"]);
        assert!(matches!(error, CheckpointError::ShardMissing { .. }));
        std::fs::remove_file(index).unwrap();
        std::fs::remove_file(link).unwrap();
    }
    assert!(start.elapsed() < Duration::from_secs(5));
}

/// The superuser may read everything, so a child of this test looks as somebody else.
#[test]
fn a_file_that_may_not_be_read() {
    const PATH: &str = "BURN_WEIGHTS_UNREADABLE";
    if let Some(path) = std::env::var_os(PATH) {
        let error = refused(
            path.as_ref(),
            &["check the file's and the folder's permissions"],
        );
        let kind = std::io::ErrorKind::PermissionDenied;
        assert!(matches!(error, CheckpointError::Io { kind: found, .. } if found == kind));
        return;
    }
    let folder = Folder::new();
    let file = folder.put("model.safetensors", sample());
    let closed = folder.join("closed");
    std::fs::create_dir(&closed).unwrap();
    let forbid = |path| std::fs::set_permissions(path, PermissionsExt::from_mode(0o000)).unwrap();
    forbid(&file);
    forbid(&closed);
    let allow = PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), allow).unwrap();
    let looks = |path: &std::path::Path| {
        let name = "links::a_file_that_may_not_be_read";
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", name]).env(PATH, path);
        child
    };
    for path in [&file, &closed, &closed.join("below")] {
        let mut child = looks(path);
        if std::fs::File::open(&file).is_ok() {
            use std::os::unix::process::CommandExt;
            child.uid(65534).gid(65534);
        }
        match child.output() {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout);
                assert!(output.status.success(), "{text}");
                assert!(text.contains("1 passed"), "{text}");
            }
            // The superuser of a container may lack other users, or the right to become one.
            Err(error) => eprintln!("SKIPPED: permissions bind nobody here, {error}"),
        }
    }
}
