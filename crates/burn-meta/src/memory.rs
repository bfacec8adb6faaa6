//! What a device can hold, and whether it holds what it was given.

use std::panic::{AssertUnwindSafe, catch_unwind};

#[cfg(feature = "libtorch")]
#[allow(deprecated, reason = "libtorch itself is, upstream")]
use burn::backend::LibTorchDevice;
use burn::backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn::backend::{Dispatch, DispatchDevice, DispatchTensorKind, ExecutionError};
use burn::tensor::kind::BridgeTensor;
use burn::tensor::{Device, Slice};
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use crate::byte_count::ByteCount;
use crate::record::panic_text;
use crate::tensor::read;

/// The memory of a device, in bytes, as far as it says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceMemory {
    /// All of it. For devices that compute in the machine's own memory: that, swap included, or
    /// what the process is limited to.
    pub total: Option<u64>,
    /// The largest single tensor.
    pub largest: Option<u64>,
}

impl DeviceMemory {
    /// Ask `device`, which is opened for it.
    ///
    /// WebGPU, and wgpu without Burn's feature `vulkan`, say nothing of the total.
    ///
    /// # Errors
    /// Burn's own text where the device cannot be opened.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use burn_meta::DeviceMemory;
    ///
    /// let memory = DeviceMemory::of(&Device::flex())?;
    /// assert!(memory.total.unwrap() > 1 << 20);
    /// assert_eq!(memory.largest, None);
    /// # Ok::<(), String>(())
    /// ```
    #[allow(deprecated, reason = "libtorch itself is, upstream")]
    pub fn of(device: &Device) -> Result<Self, String> {
        let ask = || match device.clone().without_autodiff().as_dispatch() {
            DispatchDevice::Flex(_) => Self::of_host(),
            #[cfg(feature = "libtorch")]
            DispatchDevice::LibTorch(LibTorchDevice::Cpu) => Self::of_host(),
            #[cfg(any(feature = "wgpu", feature = "cuda"))]
            DispatchDevice::Cube(device) => {
                let client = device.client();
                let memory = &client.properties().memory;
                Self {
                    total: memory.max_memory(),
                    largest: Some(memory.max_page_size),
                }
            }
            _ => Self::default(),
        };
        catch_unwind(ask)
            .map_err(|panic| panic_text(&*panic).unwrap_or_else(|| "it gives no reason".to_owned()))
    }

    fn of_host() -> Self {
        let memory = MemoryRefreshKind::everything();
        let system = System::new_with_specifics(RefreshKind::nothing().with_memory(memory));
        let total = system.total_memory().saturating_add(system.total_swap());
        // A container's limit, where there is one.
        let total = match system.cgroup_limits() {
            Some(limits) => total.min(limits.total_memory.saturating_add(system.total_swap())),
            None => total,
        };
        Self {
            total: (total > 0).then_some(total),
            largest: None,
        }
    }
}

impl std::fmt::Display for DeviceMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.total, self.largest) {
            (None, None) => f.pad("says nothing of its memory"),
            (Some(total), None) => write!(f, "{}", ByteCount(total)),
            (None, Some(largest)) => write!(f, "tensors up to {}", ByteCount(largest)),
            (Some(total), Some(largest)) => {
                write!(
                    f,
                    "{}, tensors up to {}",
                    ByteCount(total),
                    ByteCount(largest)
                )
            }
        }
    }
}

/// Wait until the device has made `tensor`, and find out whether it could.
///
/// A device that works on its own tells of a failed allocation only when something reads the
/// tensor, and not when it is synchronised: so one element is read. Devices that work in the calling
/// thread have failed or succeeded by then, and are not asked.
///
/// # Errors
/// The device's own.
///
/// ```
/// use burn::tensor::{Device, Tensor};
///
/// let tensor = Tensor::<2>::zeros([3, 2], &Device::flex());
/// assert!(burn_meta::confirm(&tensor.into_bridge()).is_ok());
/// ```
pub fn confirm(tensor: &BridgeTensor) -> Result<(), ExecutionError> {
    let shape = tensor.shape();
    let works_here = match &tensor.as_parts().1.kind {
        DispatchTensorKind::Flex(_) => true,
        #[cfg(feature = "libtorch")]
        DispatchTensorKind::LibTorch(_) => true,
        _ => false,
    };
    if works_here || shape.num_elements() == 0 {
        return Ok(());
    }
    let first = vec![Slice::from(0..1); shape.num_dims()];
    let dtype = tensor.dtype();
    let (_, tensor) = tensor.clone().into_parts();
    let read_first = AssertUnwindSafe(move || {
        read(if dtype.is_float() {
            BridgeTensor::float(Dispatch::float_slice(tensor, &first))
        } else if dtype.is_bool() {
            BridgeTensor::bool(Dispatch::bool_slice(tensor, &first))
        } else {
            BridgeTensor::int(Dispatch::int_slice(tensor, &first))
        })
    });
    let read = catch_unwind(read_first).unwrap_or_else(|panic| {
        let text = panic_text(&*panic).unwrap_or_else(|| "it gives no reason".to_owned());
        Err(ExecutionError::with_context(text))
    });
    read.map(drop)
}
