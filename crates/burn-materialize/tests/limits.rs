//! What the device under test cannot hold is refused before anything is allocated.

use burn::nn::LinearConfig;
use burn_materialize::{DeviceMemory, MaterializeError, Meta, Problem};
use device_under_test::device;

#[test]
fn sixteen_tebibytes_are_refused_by_tensor_or_all_together() {
    let memory = DeviceMemory::of(&device()).unwrap();
    assert!(
        memory.largest.is_some() || memory.total.is_some(),
        "{memory}"
    );
    let layer = LinearConfig::new(1 << 22, 1 << 20).with_bias(false);
    let meta = Meta::build_for(&device(), |device| layer.init(device)).unwrap();
    let error = meta.materialize(&device()).unwrap_err();
    let MaterializeError::Refused(problems) = &error else {
        panic!("{error}")
    };
    for problem in &problems.0 {
        match problem {
            Problem::TensorTooLarge {
                path,
                bytes,
                largest,
                ..
            } => {
                assert_eq!((path.as_str(), *bytes), ("weight", 1 << 44));
                assert_eq!(Some(*largest), memory.largest);
            }
            Problem::ModuleTooLarge {
                bytes,
                memory: total,
                largest,
                ..
            } => {
                assert_eq!((largest.as_str(), *bytes), ("weight", 1 << 44));
                assert_eq!(Some(*total), memory.total);
            }
            problem => panic!("{problem}"),
        }
    }
    let limits = [memory.largest, memory.total];
    assert_eq!(problems.0.len(), limits.iter().flatten().count(), "{error}");
    assert!(error.to_string().contains("16.0 TiB"), "{error}");
}

#[test]
fn a_tensor_of_exactly_the_largest_buffer_is_made_and_holds_its_values() {
    // Where there is no largest buffer, 128 MiB.
    let largest = DeviceMemory::of(&device()).unwrap().largest;
    let bytes = largest.unwrap_or(u64::MAX).min(128 << 20);
    let width = 1 << 10;
    let layer = LinearConfig::new(bytes as usize / 4 / width, width).with_bias(false);
    let meta = Meta::build_for(&device(), |device| layer.init(device)).unwrap();
    let weight = meta.materialize(&device()).unwrap().weight.val();
    let here = weight.clone().slice([0..1, 0..8]).into_data();
    let flex = Meta::build(|device| layer.init(device)).unwrap();
    let flex = flex.materialize(&burn::tensor::Device::flex()).unwrap();
    let flex = flex.weight.val();
    assert_eq!(here, flex.clone().slice([0..1, 0..8]).into_data());
    let last = weight.dims()[0] - 1;
    let end = [last..last + 1, width - 8..width];
    assert_eq!(
        weight.slice(end.clone()).into_data(),
        flex.slice(end).into_data()
    );
}
