//! Curves: both pictures are whole and name what they show, whatever was logged; resumes.

use std::fs;
use std::path::Path;

use burn_fabric::prelude::*;
use burn_fabric::{CurvesLogger, LoggerError};

use super::{shows, svg};

fn open(folder: &Path) -> Loggers {
    Loggers::new().with(CurvesLogger::at(folder.join("run.1")))
}

fn drawn(folder: &Path, loggers: &mut Loggers) -> String {
    loggers.flush();
    assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
    svg(&folder.join("run.1"))
}

#[test]
fn names_with_the_same_end_share_a_panel() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut loggers = open(folder.path());
    for step in 0..20 {
        loggers.log(
            step,
            [("train/loss", 0.5), ("valid/loss", 0.25), ("a<b", 1.0)],
        );
    }
    let svg = drawn(folder.path(), &mut loggers);
    for text in ["train/loss", "valid/loss", "loss", "a&lt;b"] {
        assert!(shows(&svg, text), "no {text}");
    }
    // One axis a panel.
    assert_eq!(svg.lines().filter(|line| line.trim() == "step").count(), 2);
}

#[test]
fn one_point_is_a_dot_and_what_is_not_finite_a_gap() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut loggers = open(folder.path());
    loggers.log(7, [("loss", 0.5)]);
    let svg = drawn(folder.path(), &mut loggers);
    assert_eq!(svg.matches("<circle").count(), 1);
    assert!(shows(&svg, "7"));

    for (step, value) in [(8, 0.5), (9, f64::NAN), (10, f64::INFINITY), (11, 1e300)] {
        loggers.log(step, [("loss", value), ("never", f64::NAN)]);
    }
    let svg = drawn(folder.path(), &mut loggers);
    assert_eq!(svg.matches("<circle").count(), 3);
    assert!(shows(&svg, "no finite value"));
}

#[test]
fn many_points_are_thinned_out_and_no_peak_is_lost() {
    let pictures: Vec<String> = (0..2)
        .map(|_| {
            let folder = tempfile::tempdir().expect("a folder");
            let lines = (0..100_000_u32).map(|step| {
                let value = if step == 77_777 {
                    50.0
                } else {
                    f64::from(step % 10)
                };
                format!("{{\"loss\":{value},\"step\":{step}}}\n")
            });
            // As an earlier process left them.
            let points = folder.path().join("run.1.points.jsonl");
            fs::write(points, lines.collect::<String>()).expect("written");
            let mut loggers = open(folder.path());
            loggers.log(100_000, [("loss", 1.0)]);
            drawn(folder.path(), &mut loggers)
        })
        .collect();
    assert!(pictures[0] == pictures[1]);
    assert!(pictures[0].len() < 60_000, "{}", pictures[0].len());
    // The axis goes up to the peak.
    assert!(shows(&pictures[0], "50") && shows(&pictures[0], "100k"));
}

#[test]
fn a_resumed_run_draws_what_was_before_and_nothing_twice() {
    let draw = |folder: &Path, parts: &[(u64, u64)]| {
        let mut svg = String::new();
        for (first, end) in parts {
            let mut loggers = open(folder);
            loggers.resume_at(*first);
            for step in *first..*end {
                loggers.log(step, [("loss", step as f64)]);
            }
            svg = drawn(folder, &mut loggers);
        }
        svg
    };
    let (whole, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let expected = draw(whole.path(), &[(0, 30)]);
    assert!(expected == draw(parts.path(), &[(0, 20), (12, 30)]));
    assert!(expected != draw(parts.path(), &[(12, 29)]));
}

#[test]
fn a_process_that_does_not_flush_leaves_a_picture() {
    let folder = tempfile::tempdir().expect("a folder");
    open(folder.path()).log(0, [("loss", 0.5)]);
    assert!(shows(&svg(&folder.path().join("run.1")), "loss"));
}

#[test]
fn pictures_of_something_else_are_left_as_they_are() {
    let folder = tempfile::tempdir().expect("a folder");
    let photo = folder.path().join("run.1.png");
    fs::write(&photo, "a photo").expect("written");
    let mut loggers = open(folder.path());
    loggers.log(0, [("loss", 0.5)]);
    loggers.flush();
    let problems = loggers.problems();
    assert!(matches!(problems[0].error, LoggerError::OtherFile { .. }));
    drop(loggers);
    assert_eq!(fs::read_to_string(photo).expect("the photo"), "a photo");
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
}

#[test]
fn more_panels_than_a_picture_has_room_for_are_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut loggers = open(folder.path());
    loggers.log(0, (0..30).map(|i| (format!("value {i}"), 1.0)));
    let svg = drawn(folder.path(), &mut loggers);
    assert!(shows(
        &svg,
        "and 6 more panels, which a picture has no room for"
    ));
}

/// A best value that none has beaten yet, and others at the ends of what a float holds.
#[test]
fn the_greatest_floats_have_an_axis_with_an_end() {
    let constant = [f64::MAX, f64::MIN, 1.2e308, -1.2e308, 1.1e308, 5e-324];
    let two = [(f64::MAX, f64::MIN), (f64::MAX, 0.5), (1e300, 1.1e300)];
    let constant = constant.map(|value| vec![value]).into_iter();
    for values in constant.chain(two.map(|(first, second)| vec![first, second])) {
        let (done, is_done) = std::sync::mpsc::channel();
        let logged = values.clone();
        // In a thread, so that a drawing without an end fails this test instead of all.
        std::thread::spawn(move || {
            let folder = tempfile::tempdir().expect("a folder");
            let mut loggers = open(folder.path());
            for (step, value) in (0..).zip(logged) {
                loggers.log(step, [("best", value)]);
            }
            done.send(drawn(folder.path(), &mut loggers))
        });
        let svg = is_done.recv_timeout(std::time::Duration::from_secs(60));
        let svg = svg.unwrap_or_else(|error| panic!("{values:?}: {error}"));
        assert!(shows(&svg, "best"), "{values:?}");
    }
}

#[test]
fn names_with_control_characters_are_escaped() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut loggers = open(folder.path());
    let names = ["a\nb", "\u{0}", "c\u{ffff}\t", "train/\u{1b}[1m"];
    loggers.log(0, names.map(|name| (name, 1.0)));
    let svg = drawn(folder.path(), &mut loggers);
    let refused = |letter: char| letter.is_control() && !"\n\r\t".contains(letter);
    assert!(!svg.contains(|letter| refused(letter) || letter == '\u{ffff}'));
    for text in ["a\\nb", "\\u{0}", "c\\u{ffff}\\t", "\\u{1b}[1m"] {
        assert!(shows(&svg, text), "no {text}");
    }
}
