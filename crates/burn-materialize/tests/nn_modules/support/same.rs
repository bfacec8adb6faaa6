//! The same values on every device.

use burn::tensor::{DType, Device, FloatDType, TensorData};
use burn_materialize::{DefaultDTypes, Materialize, Meta};
use device_under_test::device;

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

/// Two leaves have the same path and values.
pub fn assert_same(ours: &Leaf, theirs: &Leaf) {
    assert_eq!(ours.path, theirs.path);
    assert_eq!(ours.data.shape(), theirs.data.shape(), "{}", ours.path);
    assert!(
        same(&ours.data, &theirs.data),
        "{}: {:?}",
        ours.path,
        ours.data.dtype()
    );
}

/// Floats by dtype and bits. Devices differ in the integers and the bools that are their default, so
/// these count by value.
pub fn same(ours: &TensorData, theirs: &TensorData) -> bool {
    let (dtype, other) = (ours.dtype(), theirs.dtype());
    match (dtype, other) {
        _ if dtype.is_float() => dtype == other && ours.as_bytes() == theirs.as_bytes(),
        (DType::Bool(_), DType::Bool(_)) => ours.iter::<bool>().eq(theirs.iter::<bool>()),
        _ => !other.is_float() && ours.iter::<i64>().eq(theirs.iter::<i64>()),
    }
}
