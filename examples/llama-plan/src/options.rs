//! What the program is told.

use std::path::PathBuf;

use burn_fabric::Accelerator;
use burn_fabric::burn_materialize::ByteCount;
use clap::{Args, ValueEnum};

use crate::Shape;

/// Which model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Size {
    /// Llama 3 8B
    #[value(name = "8b")]
    B8,
    /// Llama 3 70B
    #[value(name = "70b")]
    B70,
    /// Of the same form, with 28,832 parameters
    Tiny,
}

impl Size {
    /// Its sizes.
    pub fn shape(self) -> Shape {
        match self {
            Self::B8 => Shape::B8,
            Self::B70 => Shape::B70,
            Self::Tiny => Shape::TINY,
        }
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::B8 => "Llama 3 8B",
            Self::B70 => "Llama 3 70B",
            Self::Tiny => "a tiny Llama",
        }
    }
}

/// What the program is told.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Which model
    #[arg(long, value_enum, default_value = "8b")]
    pub size: Size,
    /// Sequences at once
    #[arg(long, default_value_t = 1, value_parser = number)]
    pub batch: usize,
    /// Tokens of each
    #[arg(long, default_value_t = 8192, value_parser = number)]
    pub sequence: usize,
    /// The memory there is, as in 80GiB or 24GB [default: that of the device]
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    pub memory: Option<ByteCount>,
    /// Draw memory over the operations and costs of the modules into this folder; created where it is
    /// missing
    #[arg(long, value_name = "DIR")]
    pub pictures: Option<PathBuf>,
    /// Print all of it as JSON
    #[arg(long)]
    pub json: bool,
    /// Make the tiny model real instead, hold it against PyTorch and train it for a hundred steps
    #[arg(long, conflicts_with_all = ["size", "batch", "sequence", "memory", "pictures", "json"])]
    pub tiny: bool,
    /// Where to make it: auto, flex; wgpu, libtorch or cuda in a build with the feature of that name;
    /// also one of several, as in cuda:1 [default: BURN_FABRIC_ACCELERATOR, else auto]
    #[arg(long)]
    pub device: Option<Accelerator>,
}

/// More sequences, or more tokens of each, are nobody's plan.
const MOST: usize = 1 << 17;

fn number(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number @ 1..=MOST) => Ok(number),
        _ => Err(format!("give a whole number from 1 to {MOST}")),
    }
}

/// `80GiB`, `24 GB`, `8589934592`.
fn bytes(text: &str) -> Result<ByteCount, String> {
    const UNITS: [(&str, u64); 9] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("B", 1),
    ];
    let unit = UNITS.iter().find(|(unit, _)| text.ends_with(unit));
    let (number, unit) = unit.map_or((text, 1), |(unit, bytes)| {
        (&text[..text.len() - unit.len()], *bytes)
    });
    match number.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number * (unit as f64) < u64::MAX as f64 => {
            Ok(ByteCount((number * unit as f64) as u64))
        }
        _ => Err("give bytes as in 80GiB, 24GB or 8589934592".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{ByteCount, bytes};

    #[test]
    fn bytes_are_read_in_both_kinds_of_units() {
        assert_eq!(bytes("80GiB"), Ok(ByteCount(80 << 30)));
        assert_eq!(bytes("1.5 GB"), Ok(ByteCount(1_500_000_000)));
        assert_eq!(bytes("7"), Ok(ByteCount(7)));
        assert_eq!(bytes("7B"), Ok(ByteCount(7)));
        for wrong in [
            "",
            "GiB",
            "-1GiB",
            "0",
            "NaN",
            "inf",
            "12 parsecs",
            "1e30TB",
        ] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
