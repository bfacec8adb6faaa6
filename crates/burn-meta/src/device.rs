//! Meta devices, pooled: Burn's capture ids are 16 bits wide and never given back, so a device is
//! lent for one scope and then used again.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use burn::tensor::{BoolDType, Device, DeviceConfig, FloatDType, IntDType};

/// The dtypes a device gives to tensors that name none.
///
/// A meta device records with those of the device its tensors will go to. Burn fixes the defaults
/// of a device with its first tensor, for the whole process; hence one pool of meta devices for
/// each triple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DefaultDTypes {
    /// The float dtype.
    pub float: FloatDType,
    /// The int dtype.
    pub int: IntDType,
    /// The bool dtype.
    pub bool: BoolDType,
}

impl DefaultDTypes {
    /// The defaults of `device`, without fixing them.
    pub fn of(device: &Device) -> Self {
        let settings = device.settings();
        Self { float: settings.float_dtype, int: settings.int_dtype, bool: settings.bool_dtype }
    }
}

impl Default for DefaultDTypes {
    /// F32, I64 and bytes for bools: what Burn's capture device starts with.
    fn default() -> Self {
        Self { float: FloatDType::F32, int: IntDType::I64, bool: BoolDType::U8 }
    }
}

static IDLE: LazyLock<Mutex<HashMap<DefaultDTypes, Vec<Device>>>> = LazyLock::new(Mutex::default);

/// A meta device for one scope; goes back to the pool when dropped, also while unwinding.
pub(crate) struct Lease {
    device: Device,
    dtypes: DefaultDTypes,
    fresh: bool,
}

impl Lease {
    pub(crate) fn new(dtypes: DefaultDTypes) -> Self {
        let idle = idle().get_mut(&dtypes).and_then(Vec::pop);
        let fresh = idle.is_none();
        Self { device: idle.unwrap_or_else(Device::capture), dtypes, fresh }
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// Fix the device's default dtypes; only a scope that is open can do it.
    pub(crate) fn configure(&self) {
        if self.fresh {
            let DefaultDTypes { float, int, bool } = self.dtypes;
            let dtypes = DeviceConfig::default().float_dtype(float).int_dtype(int).bool_dtype(bool);
            self.device
                .clone()
                .configure(dtypes)
                .expect("a capture device that made no tensor yet takes any default dtypes");
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        idle().entry(self.dtypes).or_default().push(self.device.clone());
    }
}

fn idle() -> std::sync::MutexGuard<'static, HashMap<DefaultDTypes, Vec<Device>>> {
    // A vector of devices is whole whatever the thread that held the lock did.
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}
