//! The device that tests run on: one for each process, by the variable that chooses a Fabric's, so
//! that what a Fabric opens by itself is the same one. `cargo xtask test --device` sets it.

use burn::tensor::{BoolStore, DType, Device, TensorData};

/// The variable.
pub const VARIABLE: &str = "BURN_FABRIC_ACCELERATOR";

/// Its value; `flex` where it is not set.
pub fn name() -> String {
    std::env::var(VARIABLE).unwrap_or_else(|_| "flex".to_owned())
}

/// The device of that name, without autodiff.
///
/// # Panics
/// When this crate was built without it: no test may pass on another device than it was meant for.
pub fn device() -> Device {
    match name().as_str() {
        "flex" => Device::flex(),
        #[cfg(feature = "wgpu")]
        "wgpu" => Device::wgpu(burn::tensor::DeviceKind::DefaultDevice),
        #[cfg(feature = "libtorch")]
        #[allow(deprecated, reason = "libtorch itself is, upstream")]
        "libtorch" => Device::new(burn::backend::LibTorchDevice::Cpu),
        name => panic!("{VARIABLE} is `{name}`, which these tests were built without"),
    }
}

/// The device under test where it computes in `dtype`, else flex, which does in most.
pub fn device_with(dtype: impl Into<DType>) -> Device {
    let (dtype, device) = (dtype.into(), device());
    match device.supports_dtype(dtype) {
        true => device,
        false => Device::flex(),
    }
}

/// The same values in types that every device's data can be compared in: devices differ in the
/// integers and the bools that are their default.
pub fn in_common(data: TensorData) -> TensorData {
    match data.dtype() {
        dtype if dtype.is_float() => data,
        DType::Bool(_) => data.convert_dtype(DType::Bool(BoolStore::Native)),
        _ => data.convert_dtype(DType::I64),
    }
}
