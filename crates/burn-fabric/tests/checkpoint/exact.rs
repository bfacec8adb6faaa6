//! N steps, save, another process, M steps: the same bits as N + M.

use std::path::Path;
use std::process::Command;

use burn_fabric::prelude::*;

use crate::run::{OPTIMIZERS, SCHEDULERS, Training, alone, manifest, scheduler};

/// Micro-batches before the checkpoint: inside the second epoch, with one of three accumulated.
const BEFORE: usize = 21;
const AFTER: usize = 15;

const JOB: &str = "BURN_FABRIC_TEST_RESUME";

/// In the process that resumes: do what was asked, and say that there is nothing else to do.
fn resumed() -> bool {
    let Ok(job) = std::env::var(JOB) else {
        return false;
    };
    let [optimizer, scheduler, except, from, to] = job.split('\n').collect::<Vec<_>>()[..] else {
        panic!("{job}");
    };
    let mut training = Training::new(optimizer, scheduler, 4);
    let except = Some(except).filter(|part| !part.is_empty());
    training.load_except(Path::new(from), except);
    training.train(AFTER);
    training.save(Path::new(to));
    true
}

/// Resume in a process of its own, which runs `test` of this program.
fn resume(test: &str, optimizer: &str, scheduler: &str, except: &str, from: &Path, to: &Path) {
    let (from, to) = (from.display(), to.display());
    let job = format!("{optimizer}\n{scheduler}\n{except}\n{from}\n{to}");
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test]).env(JOB, job);
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

/// Both ways, with what the last checkpoints say.
fn both(test: &str, optimizer: &str, scheduler: &str, except: &str) -> [serde_json::Value; 2] {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut training = Training::new(optimizer, scheduler, 0);
    training.train_and(BEFORE + AFTER, |count, training| {
        if count == BEFORE {
            training.save(&at("between"));
            let position = training.data.position();
            assert!(position.epoch == 1 && position.batch > 0, "{position:?}");
        }
    });
    let between = manifest(&at("between"));
    assert_eq!(between["parts"]["accumulation"]["record"]["done"], 1);
    training.save(&at("whole"));
    resume(
        test,
        optimizer,
        scheduler,
        except,
        &at("between"),
        &at("resumed"),
    );
    [manifest(&at("whole")), manifest(&at("resumed"))]
}

fn differences(whole: &serde_json::Value, resumed: &serde_json::Value) -> String {
    let parts = whole["parts"].as_object().unwrap().iter();
    let other = parts.filter(|(name, part)| resumed["parts"][name.as_str()] != **part);
    other.map(|(name, _)| format!("{name} differs; ")).collect()
}

#[test]
fn case_16_a_resume_of_each_optimizer_is_exact() {
    if resumed() {
        return;
    }
    for optimizer in OPTIMIZERS {
        let test = "exact::case_16_a_resume_of_each_optimizer_is_exact";
        let [whole, resumed] = both(test, optimizer, "Cosine", "");
        assert!(
            whole == resumed,
            "{optimizer}: {}",
            differences(&whole, &resumed)
        );
    }
}

#[test]
fn case_16_a_resume_of_each_scheduler_is_exact() {
    if resumed() {
        return;
    }
    for scheduler in SCHEDULERS {
        let test = "exact::case_16_a_resume_of_each_scheduler_is_exact";
        let [whole, resumed] = both(test, "AdamW", scheduler, "");
        assert!(
            whole == resumed,
            "{scheduler}: {}",
            differences(&whole, &resumed)
        );
    }
}

/// That the test above can fail, for each part: without it, training goes another way.
#[test]
fn case_16_without_any_one_part_the_weights_are_others() {
    if resumed() {
        return;
    }
    let test = "exact::case_16_without_any_one_part_the_weights_are_others";
    for part in [
        "model",
        "optimizer",
        "scheduler",
        "data",
        "accumulation",
        "rng",
    ] {
        let [whole, resumed] = both(test, "AdamW", "Cosine", part);
        let weights = |manifest: &serde_json::Value| {
            let hash = &manifest["parts"]["model"]["file"]["blake3"];
            hash.as_str().unwrap().to_owned()
        };
        assert_ne!(weights(&whole), weights(&resumed), "{part}");
    }
    // No weight depends on these.
    for part in ["average", "steps", "history"] {
        let [whole, resumed] = both(test, "AdamW", "Cosine", part);
        let of = |manifest: &serde_json::Value| manifest["parts"][part].clone();
        assert_ne!(of(&whole), of(&resumed), "{part}");
    }
}

/// A snapshot is what the state was, whatever training does meanwhile.
#[test]
fn a_save_in_the_background_is_of_one_moment() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut training = Training::new("Adam", "Linear", 2);
    let mut pending = None;
    training.train_and(BEFORE + AFTER, |count, training| {
        if count == BEFORE {
            training.save(&at("then"));
            let fabric = training.fabric();
            pending = Some(
                fabric
                    .save_in_background(at("meanwhile"), training)
                    .unwrap(),
            );
        }
    });
    let pending = pending.unwrap();
    assert_eq!(pending.folder(), at("meanwhile"));
    pending.wait().unwrap();
    assert_eq!(manifest(&at("then")), manifest(&at("meanwhile")));
}

#[test]
fn case_18_each_scheduler_has_the_same_next_ten_rates() {
    #[derive(TrainingState)]
    struct Rates {
        scheduler: burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler,
    }
    let fabric = crate::support::fabric();
    for name in SCHEDULERS {
        for steps in [0, 1, 7, 30] {
            let folder = tempfile::tempdir().unwrap();
            let mut there = Rates {
                scheduler: scheduler(name),
            };
            for _ in 0..steps {
                there.scheduler.step();
            }
            fabric.save(folder.path(), &there).unwrap();
            let mut here = Rates {
                scheduler: scheduler(name),
            };
            fabric.load(folder.path(), &mut here).unwrap();
            for _ in 0..10 {
                let (here, there) = (here.scheduler.step().base(), there.scheduler.step().base());
                assert_eq!(here.to_bits(), there.to_bits(), "{name} after {steps}");
            }
        }
    }
}
