//! Using up Burn's ids; alone in this file, since they are the process's and never come back.

use burn_meta::{DefaultDTypes, MetaDevice, RecordError, record};

#[test]
fn more_meta_devices_at_once_than_burn_has_ids_are_refused() {
    let mut held = Vec::new();
    let error = loop {
        match MetaDevice::new(DefaultDTypes::default()) {
            Ok(device) => {
                device.record(|_| ()).unwrap();
                held.push(device);
            }
            Err(error) => break error,
        }
    };
    assert!(matches!(error, RecordError::TooManyDevices), "{error}");
    assert_eq!(held.len(), 65_536);
    // Any that is given back serves again.
    held.pop();
    record(DefaultDTypes::default(), |_| ()).unwrap();
}
