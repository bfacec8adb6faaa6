//! Meta devices, pooled: Burn's capture ids are 16 bits wide and never given back, so a device is
//! lent and then used again.

use std::collections::HashMap;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

use burn::tensor::{BoolDType, Device, DeviceConfig, FloatDType, IntDType};

use crate::error::RecordError;

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
        Self {
            float: settings.float_dtype,
            int: settings.int_dtype,
            bool: settings.bool_dtype,
        }
    }
}

impl Default for DefaultDTypes {
    /// F32, I64 and bytes for bools: what Burn's capture device starts with.
    fn default() -> Self {
        Self {
            float: FloatDType::F32,
            int: IntDType::I64,
            bool: BoolDType::U8,
        }
    }
}

static IDLE: LazyLock<Mutex<HashMap<DefaultDTypes, Vec<Device>>>> = LazyLock::new(Mutex::default);

/// A meta device: what is recorded on it has shapes and dtypes and no memory.
///
/// Cloning shares it. Its tensors can be recorded with in one scope at a time, and only together
/// with tensors of the same scope; but a later scope on the same device may build beside them
/// (attach LoRA, say). When the last clone is dropped the device goes back to the pool.
#[derive(Clone, Debug)]
pub struct MetaDevice(Arc<Lease>);

#[derive(Debug)]
struct Lease {
    device: Device,
    dtypes: DefaultDTypes,
    /// Whether the default dtypes are fixed on the device.
    configured: AtomicBool,
    /// The thread that has a scope open.
    scope: Mutex<Option<ThreadId>>,
    closed: Condvar,
}

impl MetaDevice {
    /// A meta device with these default dtypes.
    ///
    /// # Errors
    /// [`RecordError::TooManyDevices`] when 65,536 are in use at once.
    pub fn new(dtypes: DefaultDTypes) -> Result<Self, RecordError> {
        let idle = idle().get_mut(&dtypes).and_then(Vec::pop);
        let configured = AtomicBool::new(idle.is_some());
        let device = match idle {
            Some(device) => device,
            // Burn panics when its ids are used up.
            None => catch_unwind(Device::capture).map_err(|_| RecordError::TooManyDevices)?,
        };
        let (scope, closed) = (Mutex::default(), Condvar::default());
        Ok(Self(Arc::new(Lease {
            device,
            dtypes,
            configured,
            scope,
            closed,
        })))
    }

    /// The dtypes it gives to tensors that name none.
    pub fn dtypes(&self) -> DefaultDTypes {
        self.0.dtypes
    }

    pub(crate) fn device(&self) -> &Device {
        &self.0.device
    }

    /// Wait until no other thread records here.
    ///
    /// # Errors
    /// [`RecordError::Nested`] where this thread is the one that does.
    pub(crate) fn enter(&self) -> Result<Turn<'_>, RecordError> {
        let current = std::thread::current().id();
        let mut scope = self.0.scope();
        while let Some(owner) = *scope {
            if owner == current {
                return Err(RecordError::Nested);
            }
            scope = self
                .0
                .closed
                .wait(scope)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *scope = Some(current);
        Ok(Turn(&self.0))
    }

    /// Fix the device's default dtypes; only a scope that is open can do it.
    pub(crate) fn configure(&self) {
        if !self.0.configured.swap(true, Ordering::Relaxed) {
            let DefaultDTypes { float, int, bool } = self.0.dtypes;
            let dtypes = DeviceConfig::default()
                .float_dtype(float)
                .int_dtype(int)
                .bool_dtype(bool);
            self.0
                .device
                .clone()
                .configure(dtypes)
                .expect("a capture device that made no tensor yet takes any default dtypes");
        }
    }
}

impl Lease {
    fn scope(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.scope.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // One that was never configured is as good as used up: the next would not know.
        if *self.configured.get_mut() {
            idle()
                .entry(self.dtypes)
                .or_default()
                .push(self.device.clone());
        }
    }
}

/// The right to record on a device; ends when dropped, also while unwinding.
pub(crate) struct Turn<'d>(&'d Lease);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.scope() = None;
        self.0.closed.notify_one();
    }
}

fn idle() -> MutexGuard<'static, HashMap<DefaultDTypes, Vec<Device>>> {
    // A vector of devices is whole whatever the thread that held the lock did.
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}
