//! Which device a Fabric runs on.

use std::str::FromStr;

use burn::tensor::Device;

/// The device a Fabric sets modules up on.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Accelerator {
    /// The best device that is compiled in.
    #[default]
    Auto,
    /// The embedded pure-Rust CPU device.
    #[cfg(feature = "flex")]
    Flex,
    /// A device of your own choice; whether it has autodiff, and of what kind, is left out.
    Device(Device),
}

impl Accelerator {
    /// The names it can be parsed from: what is compiled in.
    pub const NAMES: &[&str] = &[
        "auto",
        #[cfg(feature = "flex")]
        "flex",
    ];

    /// The device, without autodiff.
    pub(crate) fn device(&self) -> Device {
        match self {
            Self::Device(device) => device.clone().without_autodiff(),
            _ => Device::flex(),
        }
    }
}

impl std::fmt::Display for Accelerator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            #[cfg(feature = "flex")]
            Self::Flex => f.pad("flex"),
            Self::Device(device) => write!(f, "{device:?}"),
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
            _ => Err(UnknownAccelerator {
                name: name.to_owned(),
            }),
        }
    }
}

/// Written by its name; a device of your own has none.
impl serde::Serialize for Accelerator {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Device(device) => Err(serde::ser::Error::custom(format!(
                "{device:?} is a device of your own, which only code can give"
            ))),
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

/// A name that no compiled-in accelerator has.
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
        let error: UnknownAccelerator = "gpu".parse::<Accelerator>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "no accelerator is called `gpu`: choose one of auto, flex"
        );
    }
}
