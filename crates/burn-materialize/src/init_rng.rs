//! Which generator draws initial values.

use std::str::FromStr;

/// Which generator draws the random initial values of a module.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::Device;
/// use burn_materialize::{InitRng, Meta};
///
/// let device = Device::flex();
/// let meta = Meta::build(|device| LinearConfig::new(64, 10).init(device))?.with_seed(7);
/// let portable = meta.materialize(&device)?; // these bits on every device
/// let drawn = meta.with_rng(InitRng::Device).materialize(&device)?; // flex's own
/// assert_ne!(portable.weight.to_data(), drawn.weight.to_data());
/// # Ok::<(), burn_materialize::MaterializeError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InitRng {
    /// Ours, on the host: the same bits on every device, whatever the order, the part or the number
    /// of threads (in f16 and bf16 the rounded f32 values).
    ///
    /// Its price: a tensor is filled in the machine's memory, one at a time, and uploaded. On a
    /// device that computes there nothing is copied.
    #[default]
    Portable,
    /// The device's own, seeded once for each materialisation: nothing is filled on the host and
    /// nothing uploaded.
    ///
    /// Its price: values of its own on each kind of device, that follow from the seed, from the
    /// order of the tensors, from which of them are materialised, and from whatever else draws on
    /// that kind of device in the meantime, in any thread; seeding it is seen by the whole process.
    /// What is computed from a draw (an orthogonal matrix, a column-layout weight) and what two
    /// tensors share is still drawn portably.
    Device,
}

impl InitRng {
    /// The names it can be parsed from.
    pub const NAMES: &[&str] = &["portable", "device"];
}

impl std::fmt::Display for InitRng {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Portable => "portable",
            Self::Device => "device",
        })
    }
}

/// What random initial values are drawn from; a seed alone is [`InitRng::Portable`]'s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Draws {
    /// The seed of every draw.
    pub seed: u64,
    /// The generator.
    pub rng: InitRng,
}

impl From<u64> for Draws {
    fn from(seed: u64) -> Self {
        Self {
            seed,
            rng: InitRng::default(),
        }
    }
}

/// A name that no generator has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no generator is called `{name}`: choose one of {}", InitRng::NAMES.join(", "))]
pub struct UnknownRng {
    /// The name.
    pub name: String,
}

impl FromStr for InitRng {
    type Err = UnknownRng;

    fn from_str(name: &str) -> Result<Self, UnknownRng> {
        match name {
            "portable" => Ok(Self::Portable),
            "device" => Ok(Self::Device),
            _ => Err(UnknownRng {
                name: name.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_an_unknown_one_lists_them() {
        for name in InitRng::NAMES {
            assert_eq!(name.parse::<InitRng>().unwrap().to_string(), *name);
        }
        let error: UnknownRng = "torch".parse::<InitRng>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "no generator is called `torch`: choose one of portable, device"
        );
    }
}
