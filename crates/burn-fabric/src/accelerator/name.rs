//! Accelerators by name: in files, in the environment, on command lines.

use std::fmt;
use std::str::FromStr;

use burn::tensor::DeviceKind;

use super::{Accelerator, LibTorchKind};

impl Accelerator {
    /// The names it can be parsed from; `N` is an index, 0 where it is left out.
    pub const NAMES: &[&str] = &[
        "auto",
        "flex",
        "wgpu",
        "wgpu:discrete:N",
        "wgpu:integrated:N",
        "wgpu:virtual:N",
        "wgpu:cpu",
        "libtorch",
        "libtorch:cuda:N",
        "libtorch:mps",
        "cuda:N",
    ];
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Flex => f.pad("flex"),
            Self::Wgpu(DeviceKind::DefaultDevice) => f.pad("wgpu"),
            Self::Wgpu(DeviceKind::DiscreteGpu(index)) => f.pad(&format!("wgpu:discrete:{index}")),
            Self::Wgpu(DeviceKind::IntegratedGpu(index)) => {
                f.pad(&format!("wgpu:integrated:{index}"))
            }
            Self::Wgpu(DeviceKind::VirtualGpu(index)) => f.pad(&format!("wgpu:virtual:{index}")),
            Self::Wgpu(DeviceKind::Cpu) => f.pad("wgpu:cpu"),
            Self::Wgpu(DeviceKind::Existing(id)) => f.pad(&format!("wgpu:existing:{id}")),
            Self::LibTorch(LibTorchKind::Cpu) => f.pad("libtorch"),
            Self::LibTorch(LibTorchKind::Cuda(index)) => f.pad(&format!("libtorch:cuda:{index}")),
            Self::LibTorch(LibTorchKind::Mps) => f.pad("libtorch:mps"),
            Self::Cuda(index) => f.pad(&format!("cuda:{index}")),
            Self::Device(device) => f.pad(&format!("{device:?}")),
        }
    }
}

impl FromStr for Accelerator {
    type Err = UnknownAccelerator;

    fn from_str(name: &str) -> Result<Self, UnknownAccelerator> {
        let parts: Vec<&str> = name.split(':').collect();
        let accelerator = match parts.as_slice() {
            ["auto"] => Some(Self::Auto),
            ["flex"] => Some(Self::Flex),
            ["wgpu"] => Some(Self::Wgpu(DeviceKind::DefaultDevice)),
            ["wgpu", "cpu"] => Some(Self::Wgpu(DeviceKind::Cpu)),
            ["wgpu", kind, index @ ..] => {
                read(index).and_then(|index| wgpu_kind(kind, index).map(Self::Wgpu))
            }
            ["libtorch"] | ["libtorch", "cpu"] => Some(Self::LibTorch(LibTorchKind::Cpu)),
            ["libtorch", "mps"] => Some(Self::LibTorch(LibTorchKind::Mps)),
            ["libtorch", "cuda", index @ ..] => {
                read(index).map(|index| Self::LibTorch(LibTorchKind::Cuda(index)))
            }
            ["cuda", index @ ..] => read(index).map(Self::Cuda),
            _ => None,
        };
        accelerator.ok_or_else(|| UnknownAccelerator {
            name: name.to_owned(),
        })
    }
}

fn wgpu_kind(kind: &str, index: usize) -> Option<DeviceKind> {
    match kind {
        "discrete" => Some(DeviceKind::DiscreteGpu(index)),
        "integrated" => Some(DeviceKind::IntegratedGpu(index)),
        "virtual" => Some(DeviceKind::VirtualGpu(index)),
        _ => None,
    }
}

/// An index, or none at all, which is the first.
fn read(index: &[&str]) -> Option<usize> {
    match index {
        [] => Some(0),
        [index] => index.parse().ok(),
        _ => None,
    }
}

/// Written by its name; a device that only code can give has none.
impl serde::Serialize for Accelerator {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Device(_) | Self::Wgpu(DeviceKind::Existing(_)) => {
                Err(serde::ser::Error::custom(format!(
                    "{self} is a device of your own, which only code can give"
                )))
            }
            named => serializer.collect_str(named),
        }
    }
}

impl<'de> serde::Deserialize<'de> for Accelerator {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(serde::de::Error::custom)
    }
}

/// A name that no accelerator has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no accelerator is called `{name}`: choose one of {}", Accelerator::NAMES.join(", "))]
pub struct UnknownAccelerator {
    /// The name.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_accelerator_lists_the_known_ones() {
        for name in [
            "gpu",
            "",
            "wgpu:",
            "wgpu:discrete:",
            "cuda:-1",
            "flex:0",
            "cuda:0:1",
        ] {
            let error: UnknownAccelerator = name.parse::<Accelerator>().unwrap_err();
            let error = error.to_string();
            assert!(
                error.contains(&format!("`{name}`")) && error.contains("wgpu:discrete:N, "),
                "{error}"
            );
        }
    }

    #[test]
    fn names_round_trip() {
        for name in Accelerator::NAMES {
            let name = name.replace('N', "3");
            assert_eq!(name.parse::<Accelerator>().unwrap().to_string(), name);
        }
        for (short, whole) in [("cuda", "cuda:0"), ("wgpu:integrated", "wgpu:integrated:0")] {
            assert_eq!(short.parse::<Accelerator>().unwrap().to_string(), whole);
        }
    }
}
