//! Element types as files name them.

use burn_std::{BoolStore, DType};

/// The element type of a tensor in a file: one of Burn's, or one that Burn lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileDType {
    /// One of Burn's.
    Burn(DType),
    /// One that Burn lacks, by its name: eight-bit floats, complex numbers, quantised values.
    Foreign(String),
}

/// What safetensors calls Burn's dtypes.
const NAMES: [(&str, DType); 13] = [
    ("F64", DType::F64),
    ("F32", DType::F32),
    ("F16", DType::F16),
    ("BF16", DType::BF16),
    ("I64", DType::I64),
    ("I32", DType::I32),
    ("I16", DType::I16),
    ("I8", DType::I8),
    ("U64", DType::U64),
    ("U32", DType::U32),
    ("U16", DType::U16),
    ("U8", DType::U8),
    ("BOOL", DType::Bool(BoolStore::Native)),
];

/// Bits of the dtypes that safetensors has and Burn lacks.
const FOREIGN_BITS: [(&str, u64); 9] = [
    ("F4", 4),
    ("F8_E5M2", 8),
    ("F8_E4M3", 8),
    ("F8_E8M0", 8),
    ("F8_E4M3FNUZ", 8),
    ("F8_E5M2FNUZ", 8),
    ("F6_E2M3", 6),
    ("F6_E3M2", 6),
    ("C64", 64),
];

impl FileDType {
    /// By the name that safetensors has for it.
    pub fn of_name(name: &str) -> Self {
        let known = NAMES.iter().find(|(known, _)| *known == name);
        known.map_or_else(
            || Self::Foreign(name.to_owned()),
            |(_, dtype)| Self::Burn(*dtype),
        )
    }

    /// Burn's dtype, where there is one.
    pub fn burn(&self) -> Option<DType> {
        match self {
            Self::Burn(dtype) => Some(*dtype),
            Self::Foreign(_) => None,
        }
    }

    /// Its name, as safetensors has it.
    pub fn name(&self) -> String {
        match self {
            // A word each, which no file has.
            Self::Burn(DType::Bool(BoolStore::U32)) => "BOOL32".to_owned(),
            Self::Burn(DType::Bool(_)) => "BOOL".to_owned(),
            Self::Burn(dtype) => {
                let known = NAMES.iter().find(|(_, known)| known == dtype);
                known.map_or_else(|| format!("{dtype:?}"), |(name, _)| (*name).to_owned())
            }
            Self::Foreign(name) => name.clone(),
        }
    }

    /// The bytes that a tensor of `shape` takes; unknown for a dtype that nobody here knows.
    ///
    /// An error means that the number is larger than any file.
    pub(crate) fn bytes(&self, shape: &[usize]) -> Result<Option<u64>, TooLarge> {
        let bits = match self {
            Self::Burn(dtype) => dtype.size() as u64 * 8,
            Self::Foreign(name) => match FOREIGN_BITS.iter().find(|(known, _)| known == name) {
                Some((_, bits)) => *bits,
                None => return Ok(None),
            },
        };
        let mut dims = shape.iter();
        let values = dims.try_fold(1_u64, |values, dim| values.checked_mul(*dim as u64));
        let bits = values.and_then(|values| values.checked_mul(bits));
        Ok(Some(bits.ok_or(TooLarge)?.div_ceil(8)))
    }
}

/// More bytes than can be counted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl std::fmt::Display for FileDType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_as_it_is_written() {
        for (name, dtype) in NAMES {
            assert_eq!(FileDType::of_name(name), FileDType::Burn(dtype));
            assert_eq!(FileDType::Burn(dtype).name(), name);
        }
        assert_eq!(FileDType::of_name("F8_E4M3").burn(), None);
        assert_eq!(FileDType::of_name("F8_E4M3").to_string(), "F8_E4M3");
    }

    #[test]
    fn bytes_are_counted_without_overflow() {
        let f32 = FileDType::of_name("F32");
        assert_eq!(f32.bytes(&[2, 3]), Ok(Some(24)));
        assert_eq!(f32.bytes(&[]), Ok(Some(4)));
        assert_eq!(f32.bytes(&[usize::MAX, 2]), Err(TooLarge));
        assert_eq!(FileDType::of_name("F6_E2M3").bytes(&[3]), Ok(Some(3)));
        assert_eq!(FileDType::of_name("new").bytes(&[3]), Ok(None));
    }
}
