//! Which device a Fabric runs on.

mod candidates;
mod name;
mod open;

pub use candidates::{Candidate, Candidates};
pub use name::UnknownAccelerator;

use burn::tensor::{Device, DeviceKind};

/// The device a Fabric sets modules up on.
///
/// Every name exists whatever this crate's features are, so that a configuration means the same
/// everywhere; what is not compiled in is refused when the Fabric is built, with the feature to turn
/// on.
///
/// ```
/// use burn_fabric::prelude::*;
///
/// // By the names that a file and the environment take, too.
/// let accelerator: Accelerator = "cuda:7".parse()?;
/// assert_eq!(accelerator, Accelerator::Cuda(7));
/// // What is not compiled in, or not there, is an error and no panic.
/// assert!(Fabric::builder().accelerator(accelerator).build().is_err());
/// # Ok::<(), burn_fabric::UnknownAccelerator>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Accelerator {
    /// The best device that works on this machine: it is opened, and something small is computed.
    ///
    /// In this order: CUDA; wgpu on a GPU; libtorch on a GPU, then on the CPU; flex; wgpu on a
    /// software adapter.
    #[default]
    Auto,
    /// The embedded pure-Rust CPU device. Feature `flex`, a default one.
    Flex,
    /// A GPU by Vulkan, Metal, DirectX or OpenGL, or a software adapter. Feature `wgpu`.
    Wgpu(DeviceKind),
    /// libtorch. Feature `libtorch`.
    LibTorch(LibTorchKind),
    /// The CUDA device with this index. Feature `cuda`.
    Cuda(usize),
    /// A device of your own choice; whether it has autodiff, and of what kind, is left out.
    Device(Device),
}

/// Where libtorch computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LibTorchKind {
    /// On the CPU.
    #[default]
    Cpu,
    /// On the CUDA device with this index.
    Cuda(usize),
    /// On Apple's Metal Performance Shaders.
    Mps,
}
