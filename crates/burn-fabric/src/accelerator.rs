//! Which device a Fabric runs on.

use std::str::FromStr;

use burn::tensor::Device;

/// The device a Fabric sets modules up on.
#[derive(Clone, Debug, Default)]
pub enum Accelerator {
    /// The best device that is compiled in.
    #[default]
    Auto,
    /// The embedded pure-Rust CPU device.
    #[cfg(feature = "flex")]
    Flex,
    /// A device of your own choice.
    Device(Device),
}

/// The names [`Accelerator`] can be parsed from.
const NAMES: &[&str] = &[
    "auto",
    #[cfg(feature = "flex")]
    "flex",
];

impl Accelerator {
    /// The device, without autodiff.
    pub(crate) fn device(&self) -> Device {
        match self {
            Self::Device(device) => device.clone().without_autodiff(),
            _ => Device::flex(),
        }
    }
}

impl FromStr for Accelerator {
    type Err = UnknownAccelerator;

    fn from_str(name: &str) -> Result<Self, UnknownAccelerator> {
        match name {
            "auto" => Ok(Self::Auto),
            #[cfg(feature = "flex")]
            "flex" => Ok(Self::Flex),
            _ => Err(UnknownAccelerator { name: name.to_owned() }),
        }
    }
}

/// A name that no compiled-in accelerator has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no accelerator is called `{name}`: choose one of {}", NAMES.join(", "))]
pub struct UnknownAccelerator {
    /// The name.
    pub name: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_accelerator_lists_the_known_ones() {
        let error = "gpu".parse::<Accelerator>().unwrap_err();
        assert_eq!(error.to_string(), "no accelerator is called `gpu`: choose one of auto, flex");
    }
}
