//! Floats of one dtype as floats of another, and matrices transposed.

use burn_std::{DType, bf16, f16};

use crate::values::each;

/// What became of the values of a conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub values: u64,
    /// Not the same number any more, those below among them.
    pub changed: u64,
    /// Became zero.
    pub vanished: u64,
    /// Finite before, infinite after.
    pub overflowed: u64,
    /// The position of the first that overflowed.
    pub first_overflow: Option<u64>,
}

impl Counts {
    pub fn add(&mut self, other: Self) {
        self.values += other.values;
        self.changed += other.changed;
        self.vanished += other.vanished;
        self.overflowed += other.overflowed;
        self.first_overflow = self.first_overflow.or(other.first_overflow);
    }
}

pub fn is_float(dtype: DType) -> bool {
    matches!(
        dtype,
        DType::F64 | DType::F32 | DType::Flex32 | DType::F16 | DType::BF16
    )
}

/// Whether some finite value of the one is none of the other.
pub fn is_narrowing(from: DType, to: DType) -> bool {
    let bits = |dtype| match dtype {
        DType::F64 => (11, 52),
        DType::F16 => (5, 10),
        DType::BF16 => (8, 7),
        _ => (8, 23),
    };
    let ((exponent, mantissa), (to_exponent, to_mantissa)) = (bits(from), bits(to));
    to_exponent < exponent || to_mantissa < mantissa
}

/// `bytes` of floats `from` one dtype as floats of the other, each the nearest there is.
pub fn cast(from: DType, to: DType, bytes: &[u8]) -> (Vec<u8>, Counts) {
    let mut cast = Vec::with_capacity(bytes.len() / from.size() * to.size());
    let mut counts = Counts::default();
    each(from, bytes, |value| {
        let after = match to {
            DType::F64 => {
                cast.extend(value.to_le_bytes());
                value
            }
            DType::F16 => {
                let half = f16::from_f32(odd(value));
                cast.extend(half.to_le_bytes());
                half.to_f64()
            }
            DType::BF16 => {
                let half = bf16::from_f32(odd(value));
                cast.extend(half.to_le_bytes());
                half.to_f64()
            }
            _ => {
                let single = value as f32;
                cast.extend(single.to_le_bytes());
                f64::from(single)
            }
        };
        if after != value && !value.is_nan() {
            counts.changed += 1;
            counts.vanished += u64::from(after == 0.0);
            if value.is_finite() && after.is_infinite() {
                counts.overflowed += 1;
                counts.first_overflow = counts.first_overflow.or(Some(counts.values));
            }
        }
        counts.values += 1;
    });
    (cast, counts)
}

/// A value as a single whose last bit says that something was lost, so that rounding it once more
/// is rounding the value once. The conversion of doubles to halves that half has looks at the upper
/// 32 bits only, and would take what is just above the middle for the middle.
fn odd(value: f64) -> f32 {
    let near = value as f32;
    let bits = near.to_bits();
    if f64::from(near) == value || value.is_nan() || bits & 1 == 1 {
        return near;
    }
    // The neighbour on the other side of the value. The bits of a float grow with its size.
    let is_too_large = f64::from(near).abs() > value.abs();
    f32::from_bits(if is_too_large { bits - 1 } else { bits + 1 })
}

/// A matrix of `rows` and `columns` of elements of `size` bytes, transposed.
pub fn transpose(bytes: &[u8], rows: usize, columns: usize, size: usize) -> Vec<u8> {
    match size {
        1 => transpose_of::<1>(bytes, rows, columns),
        2 => transpose_of::<2>(bytes, rows, columns),
        4 => transpose_of::<4>(bytes, rows, columns),
        _ => transpose_of::<8>(bytes, rows, columns),
    }
}

fn transpose_of<const SIZE: usize>(bytes: &[u8], rows: usize, columns: usize) -> Vec<u8> {
    /// Elements along the side of a tile, so that what is read and written of one stays in cache.
    const TILE: usize = 32;
    let (from, _) = bytes.as_chunks::<SIZE>();
    let mut transposed = vec![0; bytes.len()];
    // A side of a matrix without elements may have any length.
    if bytes.is_empty() {
        return transposed;
    }
    let (to, _) = transposed.as_chunks_mut::<SIZE>();
    for top in (0..rows).step_by(TILE) {
        for left in (0..columns).step_by(TILE) {
            for row in top..rows.min(top + TILE) {
                for column in left..columns.min(left + TILE) {
                    to[column * rows + row] = from[row * columns + column];
                }
            }
        }
    }
    transposed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cast_one(value: f64, to: DType) -> (Vec<u8>, Counts) {
        cast(DType::F64, to, &value.to_le_bytes())
    }

    #[test]
    fn halves_are_the_nearest() {
        // Just above, at and just below the middle of 1 and the value after it.
        let middle = 1.0 + 2_f64.powi(-11);
        let tiny = 2_f64.powi(-50);
        for (value, half) in [
            (middle + tiny, 1.0 + 2_f64.powi(-10)),
            (middle, 1.0),
            (middle - tiny, 1.0),
            (-(middle + tiny), -(1.0 + 2_f64.powi(-10))),
            (65519.999, 65504.0),
            (65520.0, f64::INFINITY),
            (2_f64.powi(-25), 0.0),
            (2_f64.powi(-25) * 1.0000001, 2_f64.powi(-24)),
            (0.0, 0.0),
        ] {
            let (bytes, _) = cast_one(value, DType::F16);
            let near = f16::from_le_bytes([bytes[0], bytes[1]]).to_f64();
            assert_eq!(near, half, "{value}");
        }
        // Every single that is exact in f64 goes the way that half rounds singles.
        for bits in (0..u32::MAX).step_by(65_519) {
            let single = f32::from_bits(bits);
            if single.is_nan() {
                continue;
            }
            let (bytes, _) = cast_one(single.into(), DType::BF16);
            assert_eq!(bytes, bf16::from_f32(single).to_le_bytes(), "{single}");
        }
    }

    #[test]
    fn what_changes_is_counted() {
        let values = [1.0, 0.1, 1e-300, 1e300, f64::INFINITY, f64::NAN];
        let bytes: Vec<u8> = values.iter().flat_map(|v: &f64| v.to_le_bytes()).collect();
        let (singles, counts) = cast(DType::F64, DType::F32, &bytes);
        assert_eq!(singles.len(), 24);
        let expected = Counts {
            values: 6,
            changed: 3,
            vanished: 1,
            overflowed: 1,
            first_overflow: Some(3),
        };
        assert_eq!(counts, expected);
        let (doubles, counts) = cast(DType::F32, DType::F64, &singles);
        assert_eq!((doubles.len(), counts.changed), (48, 0));
        assert!(is_narrowing(DType::BF16, DType::F16));
        assert!(is_narrowing(DType::F16, DType::BF16));
        assert!(!is_narrowing(DType::F16, DType::F32));
    }

    #[test]
    fn matrices_are_transposed() {
        let bytes: Vec<u8> = (0..6_u16).flat_map(u16::to_le_bytes).collect();
        let columns: Vec<u8> = [0_u16, 3, 1, 4, 2, 5]
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        assert_eq!(transpose(&bytes, 2, 3, 2), columns);
        let large: Vec<u8> = (0..70 * 45).map(|i| (i % 251) as u8).collect();
        assert_eq!(transpose(&transpose(&large, 70, 45, 1), 45, 70, 1), large);
        assert_eq!(transpose(&[], usize::MAX, 0, 4), [0_u8; 0]);
    }
}
