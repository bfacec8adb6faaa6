//! Precisions that cannot be had.

use std::path::Path;

use burn::optim::AdamWConfig;
use burn::tensor::{FloatDType, Tensor};
use burn_fabric::prelude::*;
use burn_fabric::{SettingProblem, StateProblem};

use super::{child, fabric, job};
use crate::support::{builder, model};

#[test]
fn a_precision_that_the_process_excludes_is_refused_when_the_fabric_is_built() {
    // In this process the default is fixed by the first tensor, whatever test made it.
    let _ = Tensor::<1>::zeros([1], &crate::support::device());
    let fixed = crate::support::device().settings().float_dtype;
    assert_eq!(fixed, FloatDType::F32);
    for precision in [Precision::Bf16, Precision::MixedBf16, Precision::MixedF16] {
        let error = builder().precision(precision).build().unwrap_err();
        match &error {
            FabricError::DefaultDType { wanted, fixed, .. } => {
                assert_eq!(
                    (*wanted, *fixed),
                    (precision.float_dtype(), FloatDType::F32)
                );
            }
            FabricError::UnsupportedDType { dtype, .. } => {
                assert_eq!(*dtype, precision.float_dtype());
                assert_ne!(device_under_test::name(), "flex");
            }
            error => panic!("{error}"),
        }
    }
    let fabric = builder().precision(Precision::F32).build().unwrap();
    assert_eq!(fabric.settings().precision, Some(Precision::F32));
    assert_eq!(fabric.settings().float_dtype, Some(FloatDType::F32));
    assert_eq!(fabric.loss_scale(), None);
}

#[test]
fn names_round_trip_and_an_unknown_one_lists_them() {
    for precision in Precision::ALL {
        assert_eq!(precision.to_string().parse(), Ok(precision));
        let json = serde_json::to_string(&precision).unwrap();
        assert_eq!(json, format!("\"{precision}\""));
    }
    let error: burn_fabric::UnknownPrecision = "fp8".parse::<Precision>().unwrap_err();
    for part in ["`fp8`", "mixed-bf16"] {
        assert!(error.to_string().contains(part), "{error}");
    }
    let error = FabricConfig::from_toml("precision = \"fp8\"").unwrap_err();
    assert!(error.to_string().contains("mixed-f16"), "{error}");
}

#[test]
fn settings_of_precision_are_checked_together() {
    let problems = |builder: burn_fabric::FabricBuilder| match builder.build().unwrap_err() {
        FabricError::Settings { problems } => problems,
        error => panic!("{error}"),
    };
    let both = builder()
        .precision(Precision::F32)
        .float_dtype(FloatDType::F32);
    let found = problems(both.loss_scale(3.0).loss_scale_interval(0));
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found
            .iter()
            .any(|one| matches!(one, SettingProblem::Exclusive { .. }))
    );
    // What is stronger wins over what it excludes.
    let file = FabricConfig::from_toml("precision = \"mixed-bf16\"").unwrap();
    let fabric = builder()
        .config(file)
        .float_dtype(FloatDType::F32)
        .build()
        .unwrap();
    assert_eq!(fabric.settings().precision, None);
    let text = fabric.to_string();
    assert!(
        text.contains("precision               the device's own"),
        "{text}"
    );
}

const NAME: &str = "refused::a_checkpoint_of_another_precision_is_refused_and_says_why";

/// Saves, or loads what was saved, as another precision.
fn run(precision: Precision, folder: &Path) {
    #[derive(TrainingState)]
    struct Only {
        optimizer: FabricOptimizer,
    }
    let Some(fabric) = fabric(precision) else {
        return;
    };
    let mut model = model(&fabric);
    let mut optimizer = fabric.setup_optimizer(&model, AdamWConfig::new()).unwrap();
    let x = crate::support::input(fabric.device());
    let gradients = fabric.backward(model.loss(&x), &model).unwrap();
    optimizer.step(1e-3, &mut model, gradients).unwrap();
    let mut only = Only { optimizer };
    if !folder.join("manifest.json").exists() {
        fabric.save(folder, &only).unwrap();
        return;
    }
    let error = fabric.load(folder, &mut only).unwrap_err();
    let FabricError::Checkpoint { problems, .. } = &error else {
        panic!("{error}");
    };
    assert!(
        matches!(&problems[..], [StateProblem::OtherOptimizer { .. }]),
        "{error}"
    );
    println!("says {}", error.to_string().replace('\n', " "));
}

#[test]
fn a_checkpoint_of_another_precision_is_refused_and_says_why() {
    if let Some((precision, folder)) = job(NAME) {
        return run(precision, Path::new(&folder));
    }
    for (from, to, words) in [
        (
            Precision::MixedBf16,
            Precision::Bf16,
            "updated in f32 there, in bf16 here",
        ),
        (
            Precision::MixedBf16,
            Precision::F32,
            "a master weight there, none here",
        ),
        (
            Precision::F32,
            Precision::MixedBf16,
            "none there, a master weight here",
        ),
        (
            Precision::MixedBf16,
            Precision::MixedF16,
            "kept in bf16 there, in f16 here",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        if child(NAME, from, folder.path()).is_none() {
            continue;
        }
        let said = child(NAME, to, folder.path());
        assert!(said.is_none_or(|said| said.contains(words)), "{from} {to}");
    }
}
