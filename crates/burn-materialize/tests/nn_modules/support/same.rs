//! The same values on every device.

use burn::tensor::{Device, FloatDType};
use burn_materialize::{DefaultDTypes, Materialize, Meta};
use device_under_test::{device, in_common};

use super::snapshot::{Leaf, Snapshot};

/// Initial values on the device under test are those on flex, in each float dtype that both hold.
/// Returns the values in these dtypes.
pub fn check_same_on_flex<M: Materialize>(
    build: impl Fn(&Device) -> M,
) -> Vec<(FloatDType, Snapshot)> {
    let mut checked = Vec::new();
    for dtype in [FloatDType::F32, FloatDType::F16, FloatDType::BF16] {
        let devices = [device(), Device::flex()];
        if !devices.iter().all(|device| device.supports_dtype(dtype)) {
            continue;
        }
        let [here, flex] = devices.map(|device| {
            let dtypes = DefaultDTypes {
                float: dtype,
                ..DefaultDTypes::of(&device)
            };
            let meta = Meta::build_with(dtypes, &build).expect("it records");
            let real = meta.with_seed(11).materialize(&device);
            Snapshot::of(&real.expect("it materialises"))
        });
        assert_eq!(here.leaves.len(), flex.leaves.len());
        for (here, flex) in here.leaves.iter().zip(&flex.leaves) {
            assert_same(here, flex);
        }
        checked.push((dtype, here));
    }
    checked
}

/// Two leaves have the same path, dtype and bits; integers and bools that are a device's default count
/// by value.
pub fn assert_same(ours: &Leaf, theirs: &Leaf) {
    assert_eq!(ours.path, theirs.path);
    let [ours_data, theirs_data] = [ours, theirs].map(|leaf| in_common(leaf.data.clone()));
    assert_eq!(ours_data, theirs_data, "{}", ours.path);
}
