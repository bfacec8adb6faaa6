//! Opening one accelerator: it is compiled in, it is there, and it computes.

use std::panic::catch_unwind;

use burn::backend::ops::FloatTensorOps;
use burn::backend::{Dispatch, Scalar};
use burn::tensor::{Device, FloatDType, Shape, read_sync};
use burn_materialize::is_meta_device;
use burn_meta::panic_text;

use super::Accelerator;
use crate::error::FabricError;

impl Accelerator {
    /// The device, without autodiff, once something small was computed on it.
    ///
    /// `float_dtype` is what its float tensors get that name no dtype, where that was said: Burn
    /// fixes it for the whole process with the first tensor.
    pub(crate) fn open(&self, float_dtype: Option<FloatDType>) -> Result<Device, FabricError> {
        self.open_once(float_dtype, |device| computes(device, FloatDType::F32))
    }

    fn open_once(
        &self,
        float_dtype: Option<FloatDType>,
        computes: impl FnOnce(&Device) -> Result<(), String>,
    ) -> Result<Device, FabricError> {
        let mut device = match self {
            Self::Device(device) => device.clone().without_autodiff(),
            // Set up by the user, and in no list.
            #[cfg(feature = "wgpu")]
            Self::Wgpu(kind @ burn::tensor::DeviceKind::Existing(_)) => Device::wgpu(kind.clone()),
            named => named.find()?,
        };
        if is_meta_device(&device) {
            return Err(FabricError::MetaAccelerator {
                device: format!("{device:?}"),
            });
        }
        if let Some(dtype) = float_dtype {
            configure(&mut device, dtype)?;
        }
        match computes(&device) {
            Ok(()) => Ok(device),
            Err(message) => Err(FabricError::DeviceFails {
                accelerator: self.to_string(),
                message,
            }),
        }
    }

    /// The device by its name, where it is compiled in and this machine has it.
    fn find(&self) -> Result<Device, FabricError> {
        if let Some(feature) = self.feature().filter(|feature| !is_compiled(feature)) {
            return Err(FabricError::NotCompiled {
                accelerator: self.to_string(),
                feature,
            });
        }
        let there = self.siblings();
        let device = there.iter().find(|(accelerator, _)| accelerator == self);
        match device {
            Some((_, device)) => self.start(device.clone()),
            None => Err(self.missing(there.into_iter().map(|(accelerator, _)| accelerator))),
        }
    }

    /// The feature of this crate that brings it.
    fn feature(&self) -> Option<&'static str> {
        match self {
            Self::Auto | Self::Device(_) => None,
            Self::Flex => Some("flex"),
            Self::Wgpu(_) => Some("wgpu"),
            Self::LibTorch(_) => Some("libtorch"),
            Self::Cuda(_) => Some("cuda"),
        }
    }

    /// Every accelerator of its feature that this machine has, with its device, the default first.
    pub(super) fn siblings(&self) -> Vec<(Self, Device)> {
        match self {
            Self::Auto | Self::Device(_) => Vec::new(),
            Self::Flex => vec![(Self::Flex, Device::flex())],
            Self::Wgpu(_) => wgpu(),
            Self::LibTorch(_) => libtorch(),
            Self::Cuda(_) => cuda(),
        }
    }

    /// Why it is not there.
    fn missing(&self, there: impl Iterator<Item = Self>) -> FabricError {
        FabricError::NoSuchDevice {
            accelerator: self.to_string(),
            there: there.map(|accelerator| accelerator.to_string()).collect(),
            help: match self {
                Self::Wgpu(_) => {
                    "install a graphics driver (for Vulkan in software on Debian: \
                     mesa-vulkan-drivers and libvulkan1)"
                }
                Self::LibTorch(_) => "give a libtorch that was built for it",
                _ => "install NVIDIA's driver",
            },
        }
    }

    /// Where a runtime can be started with an error instead of a panic, start it.
    fn start(&self, device: Device) -> Result<Device, FabricError> {
        #[cfg(feature = "wgpu")]
        if let Self::Wgpu(kind) = self {
            use burn::tensor::wgpu::WgpuInitError;

            let options = Device::wgpu_options().device_kind(kind.clone());
            return match options.init() {
                // It cannot be registered twice: it runs already.
                Ok(_) | Err(WgpuInitError::Registration { .. }) => Ok(device),
                Err(error) => Err(FabricError::DeviceFails {
                    accelerator: self.to_string(),
                    message: error.to_string(),
                }),
            };
        }
        Ok(device)
    }
}

/// Whether this crate was built with a feature.
fn is_compiled(feature: &str) -> bool {
    match feature {
        "flex" => cfg!(feature = "flex"),
        "wgpu" => cfg!(feature = "wgpu"),
        "libtorch" => cfg!(feature = "libtorch"),
        "cuda" => cfg!(feature = "cuda"),
        _ => false,
    }
}

#[cfg(feature = "wgpu")]
fn wgpu() -> Vec<(Accelerator, Device)> {
    use burn::tensor::{DeviceKind, DeviceType};

    let there = Device::enumerate(DeviceType::Wgpu).into_vec();
    let indexed = (0..there.len()).flat_map(|index| {
        [
            DeviceKind::DiscreteGpu(index),
            DeviceKind::IntegratedGpu(index),
            DeviceKind::VirtualGpu(index),
        ]
    });
    let mut kinds: Vec<DeviceKind> = indexed.chain([DeviceKind::Cpu]).collect();
    kinds.retain(|kind| there.contains(&Device::wgpu(kind.clone())));
    if !there.is_empty() {
        kinds.insert(0, DeviceKind::DefaultDevice);
    }
    let found = kinds.into_iter();
    found
        .map(|kind| (Accelerator::Wgpu(kind.clone()), Device::wgpu(kind)))
        .collect()
}

#[cfg(not(feature = "wgpu"))]
fn wgpu() -> Vec<(Accelerator, Device)> {
    Vec::new()
}

#[cfg(feature = "libtorch")]
#[allow(deprecated, reason = "libtorch itself is, upstream")]
fn libtorch() -> Vec<(Accelerator, Device)> {
    use burn::backend::LibTorchDevice;
    use burn::tensor::DeviceType;

    use super::LibTorchKind;

    let gpus = Device::enumerate(DeviceType::LibTorch).into_vec().len();
    let gpus = (0..gpus).map(|index| (LibTorchKind::Cuda(index), LibTorchDevice::Cuda(index)));
    let mps = (LibTorchKind::Mps, LibTorchDevice::Mps);
    let mps = cfg!(target_os = "macos").then_some(mps);
    let found = [(LibTorchKind::Cpu, LibTorchDevice::Cpu)].into_iter();
    let found = found.chain(gpus).chain(mps);
    found
        .map(|(kind, device)| (Accelerator::LibTorch(kind), Device::new(device)))
        .collect()
}

#[cfg(not(feature = "libtorch"))]
fn libtorch() -> Vec<(Accelerator, Device)> {
    Vec::new()
}

#[cfg(feature = "cuda")]
fn cuda() -> Vec<(Accelerator, Device)> {
    use burn::tensor::DeviceType;

    let found = Device::enumerate(DeviceType::Cuda).into_vec().len();
    (0..found)
        .map(|index| (Accelerator::Cuda(index), Device::cuda(index)))
        .collect()
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Vec<(Accelerator, Device)> {
    Vec::new()
}

/// Make `dtype` the device's default, unless the process has fixed it.
fn configure(device: &mut Device, dtype: FloatDType) -> Result<(), FabricError> {
    // What a driver says that it can, it may not.
    if !device.supports_dtype(dtype) || computes(device, dtype).is_err() {
        return Err(FabricError::UnsupportedDType {
            device: format!("{device:?}"),
            dtype,
        });
    }
    let settings = device.settings();
    // Defaults of the other kinds stay what they are.
    let wanted = (dtype, settings.int_dtype);
    match device.configure(wanted) {
        Ok(()) => Ok(()),
        Err(_) if device.settings().float_dtype == dtype => Ok(()),
        Err(_) => Err(FabricError::DefaultDType {
            device: format!("{device:?}"),
            wanted: dtype,
            fixed: device.settings().float_dtype,
        }),
    }
}

/// Compute something small; below `Tensor`, which would fix the device's default dtypes, so that
/// looking at a device changes nothing.
fn computes(device: &Device, dtype: FloatDType) -> Result<(), String> {
    let compute = || {
        let ones = Dispatch::float_ones(Shape::new([2, 2]), device.as_dispatch(), dtype);
        let twos = Dispatch::float_matmul(ones.clone(), ones);
        let twos = Dispatch::float_mul_scalar(twos, Scalar::Float(1.0));
        let data = read_sync(Dispatch::float_into_data(twos))
            .map_err(|error| error.reason().to_owned())?;
        let values: Vec<f64> = data.iter::<f64>().collect();
        if values == [2.0; 4] {
            Ok(())
        } else {
            Err(format!("one and one is computed as {values:?}"))
        }
    };
    catch_unwind(compute).unwrap_or_else(|panic| {
        Err(panic_text(&*panic).unwrap_or_else(|| "Burn panics without a reason".to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use burn::tensor::DeviceKind;

    use super::*;

    #[test]
    fn a_device_that_does_not_compute_is_not_opened() {
        let lost = |_: &Device| Err("the device was lost".to_owned());
        let device = Accelerator::Device(Device::flex());
        let error = device.open_once(None, lost).unwrap_err();
        assert!(matches!(error, FabricError::DeviceFails { .. }), "{error}");
        assert!(error.to_string().contains("the device was lost"), "{error}");
        assert_eq!(computes(&Device::flex(), FloatDType::F32), Ok(()));
        assert_eq!(computes(&Device::flex(), FloatDType::BF16), Ok(()));
    }

    #[test]
    fn what_is_not_there_is_told_with_what_is() {
        let error = Accelerator::Cuda(3).missing([Accelerator::Cuda(0)].into_iter());
        assert!(matches!(&error, FabricError::NoSuchDevice { there, .. } if there == &["cuda:0"]));
        let text = error.to_string();
        for part in ["`cuda:3`", "cuda:0"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = Accelerator::Wgpu(DeviceKind::Cpu).missing([].into_iter());
        let text = text.to_string();
        for part in ["`wgpu:cpu`", "mesa-vulkan-drivers"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
