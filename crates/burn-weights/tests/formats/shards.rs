//! Several files and their index.

use std::sync::{Arc, Mutex};

use burn_std::DType;
use burn_weights::{Checkpoint, Reading, WriteOptions, write};
use serde_json::{Value, json};

use crate::support::Folder;
use crate::written::{FORMATS, many, overwriting, seeds, sharded, tensor};

#[test]
fn limits_and_the_files_they_make() {
    let folder = Folder::new();
    // Ten bytes each: how many of them fit.
    for (limit, expected) in [
        (1, vec![1, 1, 1, 1, 1]),
        (10, vec![1, 1, 1, 1, 1]),
        (19, vec![1, 1, 1, 1, 1]),
        (20, vec![2, 2, 1]),
        (49, vec![4, 1]),
        (50, vec![5]),
        (u64::MAX, vec![5]),
    ] {
        for format in FORMATS {
            let name = format!("limit{limit}.{}", format.extension());
            let written = write(folder.join(&name), many(5, 10, 0), &sharded(limit)).unwrap();
            assert_eq!(written.bytes, 50);
            let counts = written.files.iter().map(|file| {
                let checkpoint = Checkpoint::open(file).unwrap();
                checkpoint.names().len()
            });
            assert_eq!(counts.collect::<Vec<_>>(), expected, "{limit}");
            let checkpoint = Checkpoint::open(&written.path).unwrap();
            assert_eq!(checkpoint.is_sharded(), expected.len() > 1);
            assert_eq!(checkpoint.files(), written.files);
            assert_eq!(seeds(&written.path), [0, 1, 2, 3, 4]);
        }
    }
}

#[test]
fn a_tensor_larger_than_the_limit_has_a_file_of_its_own() {
    let folder = Folder::new();
    let bytes = [4, 100, 4, 4, 100];
    let tensors = bytes
        .iter()
        .enumerate()
        .map(|(at, len)| tensor(&format!("t{at}"), DType::U8, &[*len], vec![0; *len]));
    let written = write(folder.join("m.bpk"), tensors.collect(), &sharded(10)).unwrap();
    let names = written.files.iter().map(|file| {
        let checkpoint = Checkpoint::open(file).unwrap();
        checkpoint.names().map(str::to_owned).collect::<Vec<_>>()
    });
    let expected: [&[&str]; 4] = [&["t0"], &["t1"], &["t2", "t3"], &["t4"]];
    assert_eq!(names.collect::<Vec<_>>(), expected);
}

#[test]
fn the_index_is_what_hubs_have() {
    let folder = Folder::new();
    let options = WriteOptions {
        metadata: [("format".to_owned(), "pt".to_owned())].into(),
        ..sharded(10)
    };
    let written = write(folder.join("model.safetensors"), many(2, 10, 0), &options).unwrap();
    assert_eq!(written.path, folder.join("model.safetensors.index.json"));
    let index: Value = serde_json::from_slice(&std::fs::read(&written.path).unwrap()).unwrap();
    let expected = json!({
        "metadata": { "format": "pt", "total_size": 20 },
        "weight_map": {
            "layer.0": "model-00001-of-00002.safetensors",
            "layer.1": "model-00002-of-00002.safetensors",
        },
    });
    assert_eq!(index, expected);
    // Each file has the metadata as well, for who opens one by itself.
    let checkpoint = Checkpoint::open(&written.files[1]).unwrap();
    assert_eq!(checkpoint.metadata()["format"], "pt");
}

#[test]
fn a_shard_is_opened_when_a_tensor_of_it_is_wanted() {
    let folder = Folder::new();
    let written = write(folder.join("m.safetensors"), many(4, 10, 0), &sharded(20)).unwrap();
    let checkpoint = Checkpoint::open(&written.path).unwrap();
    assert_eq!(checkpoint.names().len(), 4);
    assert!(checkpoint.contains("layer.3"));
    assert_eq!(
        checkpoint.file_of("layer.3"),
        Some(written.files[1].as_path())
    );
    assert!(checkpoint.opened().is_empty());
    checkpoint.read("layer.3", None, Reading::Map).unwrap();
    assert_eq!(checkpoint.opened(), [&written.files[1]]);
    // What is not opened may be broken.
    std::fs::write(&written.files[0], "broken").unwrap();
    checkpoint.tensor("layer.2").unwrap();
    assert!(checkpoint.tensor("layer.0").is_err());
    let infos: Vec<bool> = checkpoint.file_infos().map(|info| info.is_ok()).collect();
    assert_eq!(infos, [false, true]);
}

#[test]
fn each_save_has_files_of_its_own_and_removes_the_old_ones() {
    let folder = Folder::new();
    let path = folder.join("model.safetensors");
    let options = WriteOptions {
        max_shard_bytes: Some(10),
        ..overwriting()
    };
    let index = "model.safetensors.index.json".to_owned();
    let names = |stem: &str, count: usize| -> Vec<String> {
        let parts = 1..=count;
        let parts = parts.map(|part| format!("{stem}-{part:05}-of-{count:05}.safetensors"));
        let mut names: Vec<String> = parts.chain([index.clone()]).collect();
        names.sort();
        names
    };
    write(&path, many(2, 10, 0), &options).unwrap();
    assert_eq!(folder.names(), names("model", 2));
    // An open one stays whole, in memory and on the disk, as long as it is open.
    let old = Checkpoint::open(folder.path()).unwrap();
    old.tensors().unwrap();
    write(&path, many(2, 10, 50), &options).unwrap();
    assert_eq!(folder.names(), names("model.1", 2));
    write(&path, many(3, 10, 100), &options).unwrap();
    assert_eq!(folder.names(), names("model", 3));
    assert_eq!(seeds(folder.path()), [100, 101, 102]);
    let read = old.read("layer.0", None, Reading::Map).unwrap();
    assert_eq!(read.bytes[..], [0; 10]);
}

#[test]
fn one_file_over_several_and_back() {
    let folder = Folder::new();
    let path = folder.join("model.bpk");
    let several = WriteOptions {
        max_shard_bytes: Some(10),
        ..overwriting()
    };
    write(&path, many(2, 10, 0), &overwriting()).unwrap();
    assert_eq!(folder.names(), ["model.bpk"]);
    write(&path, many(2, 10, 10), &several).unwrap();
    assert_eq!(folder.names().len(), 3);
    assert_eq!(seeds(folder.path()), [10, 11]);
    write(&path, many(2, 10, 20), &overwriting()).unwrap();
    assert_eq!(folder.names(), ["model.bpk"]);
    assert_eq!(seeds(folder.path()), [20, 21]);
}

#[cfg(unix)]
#[test]
fn names_that_an_index_must_not_have_are_not_given() {
    let folder = Folder::new();
    for name in [
        "a:b.safetensors",
        "a\\b.bpk",
        "dots.in.it.safetensors",
        "none",
        "übung.bpk",
    ] {
        let written = write(folder.join(name), many(2, 10, 7), &sharded(10)).unwrap();
        assert_eq!(seeds(&written.path), [7, 8]);
    }
}

#[test]
fn progress_is_told() {
    let folder = Folder::new();
    for format in FORMATS {
        let told = Arc::new(Mutex::new(Vec::new()));
        let listener = Arc::clone(&told);
        let options = WriteOptions {
            format: Some(format),
            on_progress: Some(Arc::new(move |done, all| {
                listener.lock().unwrap().push((done, all));
            })),
            ..sharded(20)
        };
        let name = format!("m.{}", format.extension());
        write(folder.join(&name), many(4, 10, 0), &options).unwrap();
        let told = told.lock().unwrap();
        assert!(told.is_sorted() && told.iter().all(|(_, all)| *all == 40));
        assert_eq!(told.last(), Some(&(40, 40)));
    }
}
