//! Several checkpoints of a run.

use std::fs;

use burn_fabric::prelude::*;

use crate::support::fabric;

fn steps(checkpoints: &Checkpoints) -> Vec<u64> {
    let list = checkpoints.list();
    list.iter().filter_map(SavedState::step).collect()
}

#[test]
fn all_are_kept_unless_told_otherwise() {
    let root = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::new(root.path().join("not there yet"));
    assert!(checkpoints.latest().unwrap().is_none() && checkpoints.list().is_empty());
    for step in [30, 10, 20] {
        checkpoints.save(&step, step, []).unwrap();
    }
    assert_eq!(steps(&checkpoints), [30, 10, 20]);
    let latest = checkpoints.latest().unwrap().unwrap();
    assert_eq!(latest.folder(), checkpoints.folder(20));
    // The folder of all stands for the latest.
    let mut number = 0_u64;
    fabric().load(checkpoints.root(), &mut number).unwrap();
    assert_eq!(number, 20);
    assert!(checkpoints.best().is_none());
}

#[test]
fn the_last_and_the_best_are_kept() {
    let root = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::new(root.path());
    let checkpoints = checkpoints.keep_last(2).keep_best(2, "loss", Better::Lower);
    let losses = [5.0, 1.0, f64::NAN, 3.0, 2.0, 4.0, 1.0];
    for (step, loss) in (1_u64..).zip(losses) {
        checkpoints
            .save(&step, step, [("loss", loss), ("else", 0.0)])
            .unwrap();
    }
    // 7 and 2 are the best, 6 and 7 the last.
    assert_eq!(steps(&checkpoints), [2, 6, 7]);
    let best = checkpoints.best().unwrap();
    assert_eq!((best.step(), best.metrics()["loss"]), (Some(7), 1.0));
    let folders = fs::read_dir(root.path()).unwrap().count();
    assert_eq!(folders, 3);
}

#[test]
fn the_best_alone_keep_the_latest_beside_them() {
    let root = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::new(root.path()).keep_best(1, "accuracy", Better::Higher);
    for (step, accuracy) in [(1_u64, 0.5), (2, 0.9), (3, 0.7), (4, 0.6)] {
        let pending = checkpoints.save_in_background(&step, step, [("accuracy", accuracy)]);
        pending.unwrap().wait().unwrap();
    }
    assert_eq!(steps(&checkpoints), [2, 4]);
}

/// What killed saves left goes with the next, files of the user's never.
#[test]
fn what_is_no_checkpoint_is_neither_listed_nor_in_the_way() {
    let root = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::new(root.path()).keep_last(1);
    let unfinished = checkpoints.folder(5);
    fs::create_dir(&unfinished).unwrap();
    fs::write(unfinished.join("model-1.safetensors"), "half of it").unwrap();
    fs::write(root.path().join("step-notes"), "of the user's").unwrap();
    fs::create_dir(root.path().join("plots")).unwrap();
    let with_notes = checkpoints.folder(1);
    fs::create_dir(&with_notes).unwrap();
    fs::write(with_notes.join("notes.txt"), "of the user's").unwrap();
    assert!(checkpoints.latest().unwrap().is_none());
    #[derive(TrainingState)]
    struct State {
        model: u64,
    }
    checkpoints.save(&State { model: 1 }, 7, []).unwrap();
    assert_eq!(steps(&checkpoints), [7]);
    assert!(!unfinished.exists());
    assert!(root.path().join("plots").is_dir() && root.path().join("step-notes").is_file());
    assert!(with_notes.join("notes.txt").is_file());
}

/// The latest is damaged: that is said, and no earlier one is taken for it.
#[test]
fn a_damaged_latest_is_told() {
    let root = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::new(root.path());
    for step in [1_u64, 2] {
        checkpoints.save(&step, step, []).unwrap();
    }
    fs::write(checkpoints.folder(2).join("manifest.json"), "{").unwrap();
    let error = checkpoints.latest().unwrap_err().to_string();
    assert!(error.contains("manifest.json is damaged"), "{error}");
    assert!(fabric().load(root.path(), &mut 0_u64).is_err());
    assert_eq!(steps(&checkpoints), [1]);
    let mut number = 0_u64;
    fabric().load(checkpoints.folder(1), &mut number).unwrap();
    assert_eq!(number, 1);
}

/// Files of the user's in a checkpoint that goes stay where they are, links are left alone.
#[test]
fn files_of_the_users_stay_in_what_is_removed() {
    let root = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::new(root.path()).keep_last(1);
    checkpoints.save(&1_u64, 1, []).unwrap();
    let users = checkpoints.folder(1).join("exported.safetensors");
    fs::write(&users, "of the user's").unwrap();
    let others = root.path().join("step-77");
    fs::create_dir(&others).unwrap();
    fs::write(others.join("model-1.safetensors"), "of another program").unwrap();
    #[cfg(unix)]
    let archive = {
        let archive = tempfile::tempdir().unwrap();
        fs::write(archive.path().join("model-1.safetensors"), "archived").unwrap();
        std::os::unix::fs::symlink(archive.path(), checkpoints.folder(78)).unwrap();
        archive
    };
    checkpoints.save(&2_u64, 2, []).unwrap();
    assert_eq!(steps(&checkpoints), [2]);
    assert_eq!(fs::read_to_string(users).unwrap(), "of the user's");
    assert!(others.join("model-1.safetensors").is_file());
    #[cfg(unix)]
    assert!(archive.path().join("model-1.safetensors").is_file());
}

/// A run that went on from an earlier step: what it saves is later than what it left behind.
#[test]
fn the_latest_is_what_was_saved_last() {
    let root = tempfile::tempdir().unwrap();
    let checkpoints = Checkpoints::new(root.path()).keep_last(3);
    for step in [200_u64, 300, 400, 250, 260] {
        checkpoints.save(&step, step, []).unwrap();
    }
    assert_eq!(steps(&checkpoints), [400, 250, 260]);
    assert_eq!(checkpoints.latest().unwrap().unwrap().step(), Some(260));
    let mut number = 0_u64;
    fabric().load(root.path(), &mut number).unwrap();
    assert_eq!(number, 260);
}
