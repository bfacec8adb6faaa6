//! Fetching, with archives made here in place of the package index.

use std::cell::Cell;
use std::io::Write;

use sha2::{Digest, Sha256};
use tempfile::TempDir;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::hash::hexadecimal;
use super::*;

const CONTENT: &[u8] = b"weights";

fn hash(bytes: &[u8]) -> String {
    let mut hasher = Sha256::new();
    hasher.update(bytes);
    hexadecimal(hasher)
}

/// Pins live as long as the program; those made here do too.
fn leak(text: String) -> &'static str {
    text.leak()
}

/// A wheel with these entries, and the pin of a file of it.
struct Index {
    wheel: Vec<u8>,
    asset: Asset,
    calls: Cell<usize>,
    home: TempDir,
}

impl Index {
    fn new(entries: &[&str], entry: &'static str) -> Self {
        let mut writer = ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for name in entries {
            let options = SimpleFileOptions::default();
            writer.start_file(*name, options).unwrap();
            writer.write_all(CONTENT).unwrap();
        }
        let wheel = writer.finish().unwrap().into_inner();
        let files = [AssetFile {
            name: "model.bin",
            entry,
            bytes: CONTENT.len() as u64,
            sha256: leak(hash(CONTENT)),
        }];
        let asset = Asset {
            name: "test",
            package: "test-package",
            version: "1",
            wheel: leak(hash(&wheel)),
            files: Vec::from(files).leak(),
        };
        Self {
            wheel,
            asset,
            calls: Cell::new(0),
            home: tempfile::tempdir().unwrap(),
        }
    }

    fn with_file(mut self, change: impl FnOnce(&mut AssetFile)) -> Self {
        let mut file = self.asset.files[0];
        change(&mut file);
        self.asset.files = Vec::from([file]).leak();
        self
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("test-1")
    }

    fn fill(&self) -> Result<()> {
        fill(&self.asset, &self.folder(), &|_, folder| {
            self.calls.set(self.calls.get() + 1);
            let path = folder.join("test.whl");
            fs::write(&path, &self.wheel)?;
            Ok(path)
        })
    }

    fn refusal(&self) -> String {
        format!("{:#}", self.fill().unwrap_err())
    }

    /// Every file below the folder that stands for the cache.
    fn files(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut folders = vec![self.home.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        names
    }
}

#[test]
fn an_asset_is_fetched_once_and_then_checked() {
    let index = Index::new(
        &["package/model.bin", "package/code.py"],
        "package/model.bin",
    );
    index.fill().unwrap();
    assert_eq!(fs::read(index.folder().join("model.bin")).unwrap(), CONTENT);
    assert_eq!(index.files(), ["model.bin"]);
    index.fill().unwrap();
    assert_eq!(index.calls.get(), 1);
}

#[test]
fn a_kept_file_of_another_hash_is_removed_and_fetched_by_the_next_call() {
    let index = Index::new(&["model.bin"], "model.bin");
    index.fill().unwrap();
    let path = index.folder().join("model.bin");
    fs::write(&path, "tampered").unwrap();
    let error = index.refusal();
    for part in [
        "call this again".to_owned(),
        format!("expected {}", hash(CONTENT)),
        format!("found {}", hash(b"tampered")),
    ] {
        assert!(error.contains(&part), "{error}");
    }
    assert!(!path.exists());
    index.fill().unwrap();
    assert_eq!(fs::read(path).unwrap(), CONTENT);
}

#[test]
fn a_package_of_another_hash_leaves_nothing() {
    let mut index = Index::new(&["model.bin"], "model.bin");
    let (expected, found) = (leak(hash(b"another")), index.asset.wheel);
    index.asset.wheel = expected;
    let error = index.refusal();
    let parts = ["test-package", expected, found];
    assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    assert!(index.files().is_empty());
}

#[test]
fn an_entry_of_another_hash_or_size_leaves_nothing() {
    let build = || Index::new(&["model.bin"], "model.bin");
    let index = build().with_file(|file| file.sha256 = leak(hash(b"another")));
    let error = index.refusal();
    assert!(
        error.contains(&hash(b"another")) && error.contains(&hash(CONTENT)),
        "{error}"
    );
    assert!(index.files().is_empty());

    for bytes in [6, 8] {
        let index = build().with_file(|file| file.bytes = bytes);
        let error = index.refusal();
        assert!(
            error.contains(&format!("expected {bytes} bytes, found 7")),
            "{error}"
        );
        assert!(index.files().is_empty());
    }
}

#[test]
fn an_entry_that_is_not_there_is_named() {
    let index = Index::new(&["package/model.bin"], "model.bin");
    let error = index.refusal();
    assert!(error.contains("the package has no `model.bin`"), "{error}");
    assert!(index.files().is_empty());
}

#[test]
fn entries_that_lead_out_of_the_folder_are_never_written() {
    let outside = ["../model.bin", "../../escaped", "/absolute", "a/../../up"];
    let entries: Vec<&str> = outside.into_iter().chain(["model.bin"]).collect();
    let index = Index::new(&entries, "model.bin");
    index.fill().unwrap();
    assert_eq!(index.files(), ["model.bin"]);

    // And one that is meant lands under the name of the pin.
    let index = Index::new(&entries, "../../escaped");
    index.fill().unwrap();
    assert_eq!(index.files(), ["model.bin"]);
    assert!(index.folder().join("model.bin").exists());
}

#[test]
fn what_is_no_archive_is_refused() {
    let mut index = Index::new(&["model.bin"], "model.bin");
    index.wheel = b"<html>not found</html>".to_vec();
    index.asset.wheel = leak(hash(&index.wheel));
    let error = index.refusal();
    assert!(error.contains("is no wheel"), "{error}");
    assert!(index.files().is_empty());
}
