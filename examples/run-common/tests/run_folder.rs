//! What an earlier run left, and where a run goes on.

use std::fs;
use std::path::Path;

use burn::nn::LinearConfig;
use burn_fabric::prelude::*;
use run_common::{RunError, RunFolder, Told};

const RESULTS: [&str; 2] = ["metrics.csv", "weights.bpk"];

fn run(out: &Path) -> RunFolder {
    RunFolder::new(out, &RESULTS, "loss", Better::Lower)
}

fn save(run: &RunFolder, steps: &[(u64, f64)]) {
    let fabric = Fabric::builder().build().unwrap();
    let model = LinearConfig::new(2, 1).init(&fabric.inference_device());
    let model = fabric.setup(model).unwrap();
    for (step, loss) in steps {
        let checkpoints = run.checkpoints();
        checkpoints.save(&model, *step, [("loss", *loss)]).unwrap();
    }
}

fn steps(run: &RunFolder) -> Vec<u64> {
    let saved = run.checkpoints().list();
    saved.iter().filter_map(|saved| saved.step()).collect()
}

#[test]
fn the_last_two_checkpoints_stay_and_the_best() {
    let out = tempfile::tempdir().unwrap();
    let run = run(out.path());
    save(&run, &[(1, 0.1), (2, 0.4), (3, 0.3), (4, 0.2)]);
    assert_eq!(steps(&run), [1, 3, 4]);
}

#[test]
fn a_run_that_did_not_end_stays_and_one_that_ended_is_removed() {
    let out = tempfile::tempdir().unwrap();
    let run = run(out.path());
    run.remove_run().unwrap();
    save(&run, &[(1, 0.1)]);
    fs::write(out.path().join("metrics.csv"), "").unwrap();
    let error = run.remove_run().unwrap_err();
    let RunError::Unfinished { folder } = &error else {
        panic!("{error}");
    };
    assert_eq!(folder, run.checkpoints().root());
    assert_eq!(steps(&run), [1]);
    assert!(out.path().join("metrics.csv").exists());

    fs::write(out.path().join("weights.bpk"), "").unwrap();
    fs::write(out.path().join("notes.txt"), "").unwrap();
    run.remove_run().unwrap();
    assert!(steps(&run).is_empty());
    for name in RESULTS {
        assert!(!out.path().join(name).exists(), "{name}");
    }
    assert!(out.path().join("notes.txt").exists());
}

#[test]
fn what_cannot_be_removed_is_named() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().join("weights.bpk");
    fs::create_dir(&folder).unwrap();
    let error = run(out.path()).remove_results().unwrap_err();
    let RunError::Remove { path, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(*path, folder);
}

#[test]
fn a_run_goes_on_from_a_run_or_from_a_checkpoint() {
    let (out, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let here = run(out.path());
    // Nothing to resume from: loading says so.
    assert_eq!(here.resume_from(None), out.path());
    save(&here, &[(1, 0.1)]);
    assert_eq!(here.resume_from(None), here.checkpoints().root());
    let there = run(other.path());
    save(&there, &[(1, 0.1)]);
    let root = there.checkpoints().root();
    assert_eq!(here.resume_from(Some(other.path())), root);
    assert_eq!(here.resume_from(Some(root)), root);
    let one = there.checkpoints().folder(1);
    assert_eq!(here.resume_from(Some(&one)), one);
}

#[test]
fn a_run_that_was_told_other_things_is_told() {
    let told = |seed, settings| Told { seed, settings };
    let folder = Path::new("run/checkpoints");
    let here = told(1, "rate 2");
    here.is_also(&told(1, "rate 2"), folder).unwrap();
    for there in [told(3, "rate 2"), told(1, "rate 3")] {
        let error = here.is_also(&there, folder).unwrap_err();
        assert!(matches!(error, RunError::OtherSettings { .. }), "{error}");
    }
    let error = here.is_also(&told(3, "rate 4"), folder).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the run in run/checkpoints has seed 3, rate 4; this one was told seed 1, rate 2"
    );
}
