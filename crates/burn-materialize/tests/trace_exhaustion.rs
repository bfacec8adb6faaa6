//! A trace where Burn's ids are used up; alone in this file, since they are the process's and never
//! come back.

use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use burn_materialize::{DefaultDTypes, Meta, RecordError, TraceError};
use burn_meta::MetaDevice;

#[test]
fn a_trace_needs_a_meta_device_of_its_own() {
    let meta = Meta::build(|device| LinearConfig::new(4, 4).init(device)).unwrap();
    let forward =
        |linear: &Linear, device: &Device| linear.forward(Tensor::<2>::zeros([2, 4], device));
    let mut held = Vec::new();
    while let Ok(device) = MetaDevice::new(DefaultDTypes::default()) {
        device.record(|_| ()).unwrap();
        held.push(device);
    }
    let error = meta.trace(forward).unwrap_err();
    assert!(
        matches!(error, TraceError::Record(RecordError::TooManyDevices)),
        "{error}"
    );
    assert_eq!(error.reached(), None);
    // Any that is given back serves again.
    held.pop();
    meta.trace(forward).unwrap();
}
