//! What is on the disk: damaged, replaced, beside files of the user's.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use burn_fabric::prelude::*;
use burn_fabric::{FabricError, StateProblem};

use crate::run::{Training, alone, manifest};
use crate::support::{fabric, values};

fn saved() -> (Training, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut training = Training::new("Adam", "Linear", 0);
    training.train(4);
    training.save(folder.path());
    (training, folder)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    entries.map(|entry| name(entry.unwrap())).collect()
}

fn problems(result: Result<impl Sized, FabricError>) -> Vec<StateProblem> {
    match result {
        Ok(_) => panic!("it was not refused"),
        Err(FabricError::Checkpoint { problems, .. }) => problems,
        Err(error) => panic!("{error}"),
    }
}

fn tensors(folder: &Path) -> Vec<PathBuf> {
    let names = names(folder).into_iter();
    let files = names.filter(|name| name.ends_with(".safetensors"));
    files.map(|name| folder.join(name)).collect()
}

/// Each file with tensors, damaged in each way: its name is told, and nothing changes.
#[test]
fn a_damaged_file_is_named_and_nothing_is_loaded() {
    let _alone = alone();
    let (there, folder) = saved();
    let mut here = Training::new("Adam", "Linear", 0);
    let before = values(&*here.model);
    assert_ne!(before, values(&*there.model));
    let files = tensors(folder.path());
    assert_eq!(files.len(), 4);
    for file in &files {
        let whole = fs::read(file).unwrap();
        let mut check = |bytes: Option<&[u8]>, what: &str| {
            match bytes {
                Some(bytes) => fs::write(file, bytes).unwrap(),
                None => fs::remove_file(file).unwrap(),
            }
            let problems = problems(fabric().load(folder.path(), &mut here));
            let [problem] = &problems[..] else {
                panic!("{what}: {problems:?}");
            };
            let told = match problem {
                StateProblem::ChangedFile { path, .. } if bytes.is_some() => path,
                StateProblem::MissingFile { path } if bytes.is_none() => path,
                other => panic!("{what}: {other}"),
            };
            assert_eq!(told, file, "{what}");
            let verified = SavedState::open(folder.path()).unwrap().verify();
            assert!(verified.is_err(), "{what}");
            fs::write(file, &whole).unwrap();
        };
        check(None, "missing");
        check(Some(&[]), "empty");
        check(Some(&whole[..whole.len() - 1]), "cut off");
        for place in [0, 8, whole.len() / 2, whole.len() - 1] {
            let mut changed = whole.clone();
            changed[place] ^= 1;
            check(Some(&changed), "one bit of it");
        }
        check(Some(&[&whole[..], b" "].concat()), "longer");
    }
    assert_eq!(values(&*here.model), before);
    assert_eq!(
        (here.steps, here.data.position().batch, here.rng.steps()),
        (0, 0, 0)
    );
    // And now it is whole again.
    fabric().load(folder.path(), &mut here).unwrap();
    assert_eq!(values(&*here.model), values(&*there.model));
}

#[test]
fn a_manifest_that_is_not_the_one_that_was_written_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fabric().save(folder.path(), &12_345_u64).unwrap();
    let path = folder.path().join("manifest.json");
    let whole = fs::read(&path).unwrap();
    let mut number = 0_u64;
    let mut refused = |bytes: &[u8], what: &str| {
        fs::write(&path, bytes).unwrap();
        let problems = problems(fabric().load(folder.path(), &mut number));
        let is_told =
            matches!(&problems[..], [StateProblem::Manifest { path: told, .. }] if *told == path);
        assert!(is_told, "{what}: {problems:?}");
    };
    for place in 0..whole.len() {
        let mut changed = whole.clone();
        changed[place] ^= 1;
        refused(&changed, &format!("changed at {place}"));
        refused(&whole[..place], &format!("cut off at {place}"));
    }
    refused(&[0xFF; 40], "no text");
    assert_eq!(number, 0);
    fs::write(&path, &whole).unwrap();
    fabric().load(folder.path(), &mut number).unwrap();
    assert_eq!(number, 12_345);
}

/// A manifest with a text of the test's own, sound as far as its hash goes.
fn forge(folder: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let mut body = manifest(folder);
    change(&mut body);
    let body = serde_json::to_string_pretty(&body).unwrap();
    let hash = blake3::hash(body.as_bytes()).to_hex();
    let text = format!("{{\n\"blake3\": \"{hash}\",\n\"manifest\": {body}\n}}\n");
    fs::write(folder.join("manifest.json"), text).unwrap();
}

#[test]
fn a_later_format_is_refused_by_its_number() {
    let folder = tempfile::tempdir().unwrap();
    fabric().save(folder.path(), &1_u64).unwrap();
    forge(folder.path(), |body| {
        body["version"] = 99.into();
        body["burn_fabric"] = "7.0.0".into();
        body["parts"] = "of another kind".into();
    });
    let problems = problems(SavedState::open(folder.path()));
    assert!(
        matches!(&problems[..], [StateProblem::Version { found: 99, readable: 1, written_by, .. }]
            if written_by == "7.0.0"),
        "{problems:?}"
    );
}

#[test]
fn no_file_outside_of_the_folder_is_opened() {
    let (_, folder) = saved();
    for name in ["../else.safetensors", "/etc/hostname", "", ".."] {
        forge(folder.path(), |body| {
            body["parts"]["model"]["file"]["name"] = name.into()
        });
        let problems = problems(SavedState::open(folder.path()));
        assert!(
            matches!(&problems[..], [StateProblem::Manifest { .. }]),
            "{problems:?}"
        );
    }
}

#[test]
fn a_folder_without_a_manifest_is_no_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    for place in [folder.path().to_owned(), folder.path().join("nowhere")] {
        let problems = problems(fabric().load(&place, &mut 0_u64));
        assert!(
            matches!(&problems[..], [StateProblem::NotACheckpoint { path }] if *path == place),
            "{problems:?}"
        );
    }
}

#[test]
fn what_the_system_refuses_is_told_and_the_old_one_stays() {
    let (there, folder) = saved();
    let file = folder.path().join("file");
    fs::write(&file, "of the user's").unwrap();
    let problems = problems(fabric().save(&file, &1_u64));
    assert!(
        matches!(&problems[..], [StateProblem::Io { path, .. }] if *path == file),
        "{problems:?}"
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "of the user's");
    // A folder in the place of the scratch file of nothing: the state saves as before.
    there.save(folder.path());
}

/// A save over a save: the old files go, the user's stay.
#[test]
fn a_save_replaces_the_one_before_it_and_nothing_else() {
    let _alone = alone();
    let (mut training, folder) = saved();
    let first = names(folder.path());
    let users = [
        "notes.txt",
        "model.safetensors",
        "weights-1.safetensors",
        "x.tmp",
    ];
    for name in users {
        fs::write(folder.path().join(name), name).unwrap();
    }
    // What saves that were killed left: a part that was complete, and what was being written.
    let left = [
        "model-7.safetensors",
        "manifest.json.1-2.tmp",
        "optimizer-2.safetensors.9-9.tmp",
    ];
    for name in left {
        fs::write(folder.path().join(name), name).unwrap();
    }
    training.steps += 1;
    training.save(folder.path());
    let second = names(folder.path());
    for name in users {
        assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), name);
    }
    for name in left.iter().copied().chain(first.iter().map(String::as_str)) {
        assert!(name == "manifest.json" || !second.contains(name), "{name}");
    }
    assert_eq!(second.len(), first.len() + users.len());
    SavedState::open(folder.path()).unwrap().verify().unwrap();
}

#[test]
fn saves_into_one_folder_end_in_the_order_they_were_begun() {
    let folder = tempfile::tempdir().unwrap();
    let fabric = fabric();
    let saves: Vec<_> = (0..20_u64)
        .map(|number| fabric.save_in_background(folder.path(), &number).unwrap())
        .collect();
    fabric.save(folder.path(), &20_u64).unwrap();
    for save in saves {
        save.wait().unwrap();
    }
    let mut number = 0_u64;
    fabric.load(folder.path(), &mut number).unwrap();
    assert_eq!(number, 20);
}

#[test]
fn the_weights_of_a_checkpoint_set_a_module_up() {
    let _alone = alone();
    let (there, folder) = saved();
    let saved = SavedState::open(folder.path()).unwrap();
    let weights = saved.weights("model").unwrap();
    let fabric = crate::run::flex();
    let meta = fabric.init_module(crate::run::Net::new).unwrap();
    let model = fabric.setup_with(meta, &weights).unwrap();
    assert_eq!(values(&*model), values(&*there.model));
    let missing = problems(saved.weights("modle"));
    assert!(
        matches!(&missing[..], [StateProblem::MissingPart { .. }]),
        "{missing:?}"
    );
    let value = problems(saved.weights("steps"));
    assert!(
        matches!(&value[..], [StateProblem::OtherKind { .. }]),
        "{value:?}"
    );
}

/// Its hash is right, and it holds no tensors.
#[test]
fn a_file_that_is_none_is_told_with_the_reason() {
    let (_, folder) = saved();
    let name = manifest(folder.path())["parts"]["model"]["file"]["name"].clone();
    let junk = [0xEE; 64];
    fs::write(folder.path().join(name.as_str().unwrap()), junk).unwrap();
    forge(folder.path(), |body| {
        let file = &mut body["parts"]["model"]["file"];
        file["bytes"] = junk.len().into();
        file["blake3"] = blake3::hash(&junk).to_hex().as_str().into();
    });
    let problems = problems(fabric().load(folder.path(), &mut Training::new("Adam", "Linear", 0)));
    assert!(
        matches!(&problems[..], [StateProblem::File(_)]),
        "{problems:?}"
    );
}

/// One folder under two names is one folder.
#[cfg(unix)]
#[test]
fn saves_by_two_names_of_a_folder_do_not_meet() {
    let root = tempfile::tempdir().unwrap();
    let (folder, link) = (root.path().join("run"), root.path().join("link"));
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(&folder, &link).unwrap();
    let training = Training::new("Adam", "Linear", 0);
    for _ in 0..10 {
        let fabric = training.fabric();
        let saves =
            [&folder, &link].map(|path| fabric.save_in_background(path, &training).unwrap());
        for save in saves {
            save.wait().unwrap();
        }
        SavedState::open(&link).unwrap().verify().unwrap();
    }
}

/// What could be written and not read replaces nothing.
#[test]
fn a_value_that_would_not_be_read_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    fabric().save(folder.path(), &7_u64).unwrap();
    struct Nested(usize);
    impl serde::Serialize for Nested {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeSeq;
            let mut list = serializer.serialize_seq(Some(1))?;
            match self.0 {
                0 => {}
                left => list.serialize_element(&Nested(left - 1))?,
            }
            list.end()
        }
    }
    struct HoldsNested(Nested);
    impl TrainingState for HoldsNested {
        fn save_state(&self, saving: &mut burn_fabric::Saving) {
            saving.value("nested", &self.0);
        }
        fn load_state<'s>(&'s mut self, _: &mut burn_fabric::Loading<'s>) {}
    }
    let problems = problems(fabric().save(folder.path(), &HoldsNested(Nested(150))));
    assert!(
        matches!(&problems[..], [StateProblem::Value { .. }]),
        "{problems:?}"
    );
    let mut number = 0_u64;
    fabric().load(folder.path(), &mut number).unwrap();
    assert_eq!(number, 7);
}

#[test]
fn a_load_waits_for_a_save_into_the_same_folder() {
    let (training, folder) = saved();
    let mut here = Training::new("Adam", "Linear", 0);
    for _ in 0..20 {
        let pending = training
            .fabric()
            .save_in_background(folder.path(), &training)
            .unwrap();
        fabric().load(folder.path(), &mut here).unwrap();
        pending.wait().unwrap();
    }
}
