//! Choosing a device: what there is, what is compiled in, what works.

mod support;

use burn::tensor::DeviceKind;
use burn_fabric::LibTorchKind;
use burn_fabric::prelude::*;
use support::{builder, device};

/// One of each kind, with the feature that brings it and whether these tests have it.
fn kinds() -> [(Accelerator, &'static str, bool); 4] {
    [
        (Accelerator::Flex, "flex", cfg!(feature = "flex")),
        (
            Accelerator::Wgpu(DeviceKind::DefaultDevice),
            "wgpu",
            cfg!(feature = "wgpu"),
        ),
        (
            Accelerator::LibTorch(LibTorchKind::Cpu),
            "libtorch",
            cfg!(feature = "libtorch"),
        ),
        (Accelerator::Cuda(0), "cuda", cfg!(feature = "cuda")),
    ]
}

#[test]
fn the_device_of_the_environment_is_the_one_that_is_opened() {
    let fabric = builder().build().unwrap();
    assert_eq!(fabric.inference_device(), device());
    assert!(fabric.candidates().0.is_empty());
}

#[test]
fn what_is_not_compiled_in_is_an_error_that_names_the_feature() {
    for (accelerator, feature, is_compiled) in kinds() {
        if is_compiled {
            continue;
        }
        let name = accelerator.to_string();
        match builder().accelerator(accelerator).build().unwrap_err() {
            error @ FabricError::NotCompiled { .. } => {
                let text = error.to_string();
                assert!(text.contains(&format!("`{name}` needs")), "{text}");
                assert!(
                    text.contains(&format!("features = [\"{feature}\"]")),
                    "{text}"
                );
            }
            error => panic!("{name}: {error}"),
        }
    }
}

#[test]
fn an_index_that_does_not_exist_lists_the_devices() {
    let far = [
        Accelerator::Wgpu(DeviceKind::DiscreteGpu(77)),
        Accelerator::LibTorch(LibTorchKind::Cuda(77)),
        Accelerator::Cuda(77),
    ];
    for accelerator in far {
        let name = accelerator.to_string();
        let kind = name.split(':').next().unwrap();
        match builder().accelerator(accelerator).build().unwrap_err() {
            FabricError::NotCompiled { feature, .. } => assert_eq!(feature, kind),
            error @ FabricError::NoSuchDevice { .. } => {
                let text = error.to_string();
                assert!(text.contains(&name), "{text}");
                if device_under_test::name() == kind {
                    assert!(text.contains(&format!("choose one of {kind}")), "{text}");
                }
            }
            error => panic!("{name}: {error}"),
        }
    }
}

#[test]
fn auto_takes_one_that_works_and_says_what_stands_against_the_others() {
    let fabric = builder().accelerator(Accelerator::Auto).build().unwrap();
    let candidates = &fabric.candidates().0;
    let (chosen, others) = candidates.split_last().unwrap();
    assert!(chosen.is_usable);
    assert!(
        others.iter().all(|other| !other.is_usable),
        "{candidates:?}"
    );
    let printed = fabric.to_string();
    let name = chosen.accelerator.to_string();
    let row = printed.lines().next().unwrap();
    assert!(
        row.starts_with("accelerator") && row.contains(&name),
        "{row}"
    );
    // CUDA comes first and is not compiled into tests.
    let table = fabric.candidates().to_string();
    assert!(table.starts_with("cuda"), "{table}");
    assert!(table.contains("without the feature `cuda`"), "{table}");
}

#[test]
fn devices_are_listed_with_what_they_are() {
    let devices = Fabric::devices();
    for (accelerator, feature, is_compiled) in kinds() {
        let kind: Vec<_> = devices
            .0
            .iter()
            .filter(|candidate| candidate.accelerator.to_string().starts_with(feature))
            .collect();
        assert!(!kind.is_empty(), "{accelerator}: {devices}");
        if !is_compiled {
            assert!(
                kind.iter().all(|candidate| !candidate.is_usable),
                "{devices}"
            );
        }
    }
    let mut here = devices.0.iter();
    let name = device_under_test::name();
    assert!(
        here.any(|candidate| candidate.is_usable && candidate.accelerator.to_string() == name),
        "{devices}"
    );
}
