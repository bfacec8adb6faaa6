//! Where pictures go, and what is in the way.

use std::fs;
use std::path::Path;

use burn_fabric::{MemoryPicture, ModulesPicture, PictureError};

use super::model::{forward, meta};

/// Have both pictures written there.
fn write(path: &Path) -> [Result<(), PictureError>; 2] {
    let meta = meta();
    let trace = meta
        .trace(|model, device| forward(model, device, 2))
        .unwrap();
    let summary = meta.summary().traced(&trace);
    [
        MemoryPicture::of(&trace).write(path),
        ModulesPicture::of(&summary).write(path),
    ]
}

#[test]
fn folders_that_are_missing_are_made_and_pictures_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some/where/picture.SVG");
    for written in write(&path) {
        written.unwrap();
    }
    let first = fs::read(&path).unwrap();
    write(&path)[1].as_ref().unwrap();
    assert_eq!(fs::read(&path).unwrap(), first);
    let beside: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(beside.len(), 1);
}

#[test]
fn other_formats_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, ending) in [("picture.pdf", "pdf"), ("picture", ""), ("svg", "")] {
        let path = folder.path().join(name);
        for written in write(&path) {
            let error = written.unwrap_err();
            let is_it = matches!(&error, PictureError::Format { found, .. } if found == ending);
            assert!(is_it, "{error}");
            assert!(error.to_string().contains("`svg` or `png`"), "{error}");
        }
        assert!(!path.exists());
    }
}

#[test]
fn what_is_no_file_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("folder.png");
    fs::create_dir(&path).unwrap();
    for written in write(&path) {
        let error = written.unwrap_err();
        assert!(matches!(&error, PictureError::NotAFile { .. }), "{error}");
    }
    assert!(path.is_dir());
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    for written in write(&file.join("picture.svg")) {
        let error = written.unwrap_err();
        assert!(matches!(&error, PictureError::File { .. }), "{error}");
    }
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}
