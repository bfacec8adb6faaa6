//! Values out of bytes.

use burn_std::{DType, bf16, f16};

/// One value, exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Of a float.
    Float(f64),
    /// Of an integer or a bool.
    Integer(i128),
}

impl Value {
    pub fn float(self) -> f64 {
        match self {
            Self::Float(value) => value,
            Self::Integer(value) => value as f64,
        }
    }
}

/// Do `$body` with `$read`, which makes the value of as many bytes as the dtype has.
macro_rules! with_reader {
    ($dtype:expr, |$read:ident, $size:ident| $body:expr) => {{
        macro_rules! of {
            ($type:ty, $wrap:expr) => {{
                const $size: usize = size_of::<$type>();
                let $read = |bytes: &[u8; $size]| ($wrap)(<$type>::from_le_bytes(*bytes));
                $body
            }};
        }
        match $dtype {
            DType::F64 => of!(f64, Value::Float),
            DType::F32 | DType::Flex32 => of!(f32, |value| Value::Float(f64::from(value))),
            DType::F16 => of!(f16, |value: f16| Value::Float(value.to_f64())),
            DType::BF16 => of!(bf16, |value: bf16| Value::Float(value.to_f64())),
            DType::I64 => of!(i64, |value| Value::Integer(i128::from(value))),
            DType::I32 => of!(i32, |value| Value::Integer(i128::from(value))),
            DType::I16 => of!(i16, |value| Value::Integer(i128::from(value))),
            DType::I8 => of!(i8, |value| Value::Integer(i128::from(value))),
            DType::U64 => of!(u64, |value| Value::Integer(i128::from(value))),
            DType::U32 => of!(u32, |value| Value::Integer(i128::from(value))),
            DType::U16 => of!(u16, |value| Value::Integer(i128::from(value))),
            // Bools of other stores and packed values do not come from the readers.
            DType::U8 | DType::Bool(_) | DType::QFloat(_) => {
                of!(u8, |value| Value::Integer(i128::from(value)))
            }
        }
    }};
}

/// The value of an element's bytes.
pub fn one(dtype: DType, bytes: &[u8]) -> Option<Value> {
    with_reader!(dtype, |read, SIZE| {
        let bytes: Option<&[u8; SIZE]> = bytes.first_chunk();
        bytes.map(read)
    })
}

/// Every value, as a float.
pub fn each(dtype: DType, bytes: &[u8], mut take: impl FnMut(f64)) {
    with_reader!(dtype, |read, SIZE| {
        let (elements, _) = bytes.as_chunks::<SIZE>();
        for element in elements {
            take(read(element).float());
        }
    });
}

/// Statistics of the finite values, and how many others there are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    count: u64,
    mean: f64,
    /// The sum of squared deviations from the mean.
    squares: f64,
    range: Option<(f64, f64)>,
    pub non_finite: u64,
}

impl Statistics {
    /// Take more values of the tensor.
    pub fn add(&mut self, dtype: DType, bytes: &[u8]) {
        // A part in two passes, and parts put together: deviations from a mean that is far from
        // zero would vanish in a difference of sums.
        let (mut count, mut sum) = (0_u64, 0.0);
        each(dtype, bytes, |value| {
            if !value.is_finite() {
                self.non_finite += 1;
                return;
            }
            count += 1;
            sum += value;
            let (low, high) = self.range.unwrap_or((value, value));
            self.range = Some((low.min(value), high.max(value)));
        });
        if count == 0 {
            return;
        }
        let mean = sum / count as f64;
        let mut squares = 0.0;
        each(dtype, bytes, |value| {
            if value.is_finite() {
                squares += (value - mean).powi(2);
            }
        });
        let total = (self.count + count) as f64;
        let apart = mean - self.mean;
        let weight = count as f64 / total;
        self.squares += squares + apart.powi(2) * self.count as f64 * weight;
        self.mean += apart * weight;
        self.count += count;
    }

    pub fn min(&self) -> Option<f64> {
        self.range.map(|(low, _)| low)
    }

    pub fn max(&self) -> Option<f64> {
        self.range.map(|(_, high)| high)
    }

    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// The standard deviation of all the values, not of a sample of them.
    pub fn std(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.squares / self.count as f64).sqrt())
    }
}

/// How many values are not finite, and the first of them with its position.
pub fn non_finite(dtype: DType, bytes: &[u8]) -> (u64, Option<(u64, f64)>) {
    let (mut position, mut count, mut first) = (0, 0, None);
    each(dtype, bytes, |value| {
        if !value.is_finite() {
            count += 1;
            first = first.or(Some((position, value)));
        }
        position += 1;
    });
    (count, first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(values: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
        values.into_iter().flatten().collect()
    }

    #[test]
    fn statistics_of_parts_are_those_of_the_whole() {
        let values: Vec<f32> = (0..1000).map(|i| 1e6 + (i % 10) as f32).collect();
        let whole = bytes(values.iter().map(|value| value.to_le_bytes()));
        let mut parts = Statistics::default();
        for part in whole.chunks(4 * 77) {
            parts.add(DType::F32, part);
        }
        assert_eq!(parts.mean(), Some(1_000_004.5));
        assert!((parts.std().unwrap() - 8.25_f64.sqrt()).abs() < 1e-9);
        assert_eq!((parts.min(), parts.max()), (Some(1e6), Some(1e6 + 9.0)));
    }

    #[test]
    fn what_is_not_finite_is_counted_and_left_out() {
        let values = [f16::NAN, f16::ONE, f16::INFINITY, f16::from_f32(3.0)];
        let mut statistics = Statistics::default();
        let raw = bytes(values.map(f16::to_le_bytes));
        statistics.add(DType::F16, &raw);
        assert_eq!(statistics.non_finite, 2);
        assert_eq!(
            (statistics.mean(), statistics.std()),
            (Some(2.0), Some(1.0))
        );
        let (count, first) = non_finite(DType::F16, &raw);
        assert_eq!(count, 2);
        assert!(first.is_some_and(|(position, value)| position == 0 && value.is_nan()));
        let nothing = Statistics::default();
        assert_eq!(
            (nothing.min(), nothing.mean(), nothing.std()),
            (None, None, None)
        );
    }

    #[test]
    fn values_are_exact() {
        let max = u64::MAX.to_le_bytes();
        assert_eq!(one(DType::U64, &max), Some(Value::Integer(u64::MAX.into())));
        assert_eq!(one(DType::I8, &[0xff]), Some(Value::Integer(-1)));
        assert_eq!(
            one(DType::BF16, &bf16::ONE.to_le_bytes()),
            Some(Value::Float(1.0))
        );
        assert_eq!(one(DType::F32, &[0]), None);
    }
}
