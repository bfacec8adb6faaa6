//! Live memory over a pass.

use std::path::{Path, PathBuf};

use burn::optim::AdamWConfig;
use burn::tensor::Tensor;
use burn_fabric::burn_materialize::ByteCount;
use burn_fabric::prelude::*;
use burn_fabric::{MemoryPicture, Plan, Stage};

use super::model::{forward, loss, meta};
use super::{shows, svg, texts};

/// Where a picture is, written in both formats.
fn write(folder: &Path, picture: &MemoryPicture<'_>) -> PathBuf {
    let stem = folder.join("memory");
    for ending in ["svg", "png"] {
        picture.write(stem.with_extension(ending)).unwrap();
    }
    stem
}

fn drawn(picture: &MemoryPicture<'_>) -> String {
    let folder = tempfile::tempdir().unwrap();
    svg(&write(folder.path(), picture))
}

#[test]
fn a_pass_says_what_there_is_and_where_the_peak_is() {
    let meta = meta();
    let trace = meta
        .trace(|model, device| forward(model, device, 8))
        .unwrap();
    let svg = drawn(
        &MemoryPicture::of(&trace)
            .title("a <pass>")
            .base("something else", 1 << 20),
    );
    let memory = &trace.memory;
    let live = *memory.during.iter().max().unwrap();
    let peak = ByteCount(memory.peak + (1 << 20));
    for text in [
        "a &lt;pass&gt;".to_owned(),
        format!("parameters {}", ByteCount(memory.parameters)),
        format!("buffers {}", ByteCount(memory.buffers)),
        "something else 1.0 MiB".to_owned(),
        format!("activations, at most {}", ByteCount(live)),
        "forward".to_owned(),
    ] {
        assert!(shows(&svg, &text), "no {text}");
    }
    assert_eq!(texts(&svg, "peak ").len(), 1);
    assert!(texts(&svg, "peak ")[0].starts_with(&format!("peak {peak}")));
    for absent in ["backward", "step"] {
        assert!(!shows(&svg, absent), "{absent}");
    }
    assert!(texts(&svg, "budget").is_empty());
}

#[test]
fn training_is_drawn_to_the_end_of_the_step() {
    let meta = meta();
    let request = Plan::of(&meta).budget(1 << 20).batch(2);
    for (accumulate, precision) in [(1, Precision::F32), (3, Precision::MixedBf16)] {
        let request = request.clone().accumulate(accumulate).precision(precision);
        let plan = request.training(AdamWConfig::new(), loss).unwrap();
        let svg = drawn(&MemoryPicture::of_plan(&plan));
        for text in ["forward", "backward", "step", "budget 1.0 MiB"] {
            assert!(shows(&svg, text), "no {text}");
        }
        let state = format!("optimizer state {}", ByteCount(plan.memory.optimizer_state));
        assert!(shows(&svg, &state), "no {state}");
        let masters = texts(&svg, "master weights");
        assert_eq!(masters.is_empty(), precision == Precision::F32);
        // The picture's peak is the plan's.
        let peak = texts(&svg, "peak ")[0];
        let expected = format!("peak {}", ByteCount(plan.memory.peak));
        assert!(
            peak.starts_with(&expected),
            "{peak}, not {expected}: {plan}"
        );
        // So it is of a plan that was written and read.
        let read: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        let of_read = drawn(&MemoryPicture::of_plan(&read));
        let held = format!("parameters {}", ByteCount(plan.memory.parameters));
        assert!(shows(&of_read, &held), "no {held}");
        let is_in_step = peak.ends_with("in the optimizer's step");
        assert_eq!(
            is_in_step,
            plan.memory.peak_in == Stage::Step,
            "{peak}: {plan}"
        );
    }
}

#[test]
fn a_budget_far_above_is_said_and_not_drawn_to() {
    let meta = meta();
    let trace = meta
        .trace(|model, device| forward(model, device, 1))
        .unwrap();
    let svg = drawn(&MemoryPicture::of(&trace).budget(1 << 40));
    assert!(shows(&svg, "↑ budget 1.0 TiB, far above"));
    let svg = drawn(&MemoryPicture::of(&trace).budget(1));
    assert!(shows(&svg, "budget 1 B"));
}

#[test]
fn odd_passes_are_drawn_too() {
    let meta = meta();
    // Nothing is computed.
    let trace = meta.trace(|model, _| model.head.val()).unwrap();
    assert!(
        shows(&drawn(&MemoryPicture::of(&trace)), "no operation") || trace.operations().len() > 0
    );
    // More operations than there are columns, and a title that no picture has room for.
    let trace = meta.trace(|_, device| {
        let x = Tensor::<1>::zeros([4], device);
        (0..5000).fold(x, |x, _| x.exp())
    });
    let trace = trace.unwrap();
    let svg = drawn(&MemoryPicture::of(&trace).title("title ".repeat(100)));
    assert!(svg.len() < 200_000, "{} bytes", svg.len());
    assert!(texts(&svg, "title ")[0].contains('…'));
}
