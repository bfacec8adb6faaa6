//! Logarithm, sine and cosine in `f64`: the `f32` ones at double width, with more terms.

use std::f64::consts::{PI, SQRT_2};

/// The leading 32 bits of ln 2, so that its product with an exponent is exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
/// The remaining bits, `ln 2 - LN_2_HIGH`.
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Bits of the square root of one half, the lower end of the reduced interval.
const SQRT_HALF: u64 = (SQRT_2 * 0.5).to_bits();
const ONE: u64 = 1.0f64.to_bits();

/// `2 / (2k + 1)` for `k` from 10 down to 1: the series of `2 atanh(s) / s - 2`.
const ATANH: [f64; 10] = [
    2.0 / 21.0,
    2.0 / 19.0,
    2.0 / 17.0,
    2.0 / 15.0,
    2.0 / 13.0,
    2.0 / 11.0,
    2.0 / 9.0,
    2.0 / 7.0,
    2.0 / 5.0,
    2.0 / 3.0,
];

/// `(-1)^k / (2k + 1)!` for `k` from 8 down to 1.
const SIN: [f64; 8] = [
    1.0 / 355_687_428_096_000.0,
    -1.0 / 1_307_674_368_000.0,
    1.0 / 6_227_020_800.0,
    -1.0 / 39_916_800.0,
    1.0 / 362_880.0,
    -1.0 / 5_040.0,
    1.0 / 120.0,
    -1.0 / 6.0,
];

/// `(-1)^k / (2k)!` for `k` from 9 down to 2.
const COS: [f64; 8] = [
    -1.0 / 6_402_373_705_728_000.0,
    1.0 / 20_922_789_888_000.0,
    -1.0 / 87_178_291_200.0,
    1.0 / 479_001_600.0,
    -1.0 / 3_628_800.0,
    1.0 / 40_320.0,
    -1.0 / 720.0,
    1.0 / 24.0,
];

/// Horner's rule, the highest power first.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    coefficients
        .into_iter()
        .reduce(|sum, coefficient| sum * x + coefficient)
        .unwrap_or(0.0)
}

/// The 64-bit integer `high * 2^32 + low`, rounded once.
///
/// Both halves convert exactly on every instruction set; a direct conversion of 64 bits is a
/// vector instruction on few.
#[inline(always)]
fn to_f64(high: f64, low: u32) -> f64 {
    high * (1u64 << 32) as f64 + f64::from(low)
}

/// The number `x` in `[0, 2^64)`, rounded once, scaled to the middle of its cell in `(0, 1]`.
#[inline(always)]
pub(super) fn open_unit(x: u64) -> f64 {
    const SCALE: f64 = 1.0 / (1u128 << 64) as f64;
    to_f64(f64::from((x >> 32) as u32), x as u32) * SCALE + 0.5 * SCALE
}

/// Natural logarithm of a normal positive number, within 1 ulp; see [`super::math32::ln`].
///
/// The first term left out is below 2^-60 of the sum.
#[inline(always)]
pub(super) fn ln(x: f64) -> f64 {
    let shifted = x.to_bits().wrapping_add(ONE - SQRT_HALF);
    let exponent = f64::from((shifted >> 52) as i32 - 1023);
    let f = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff) + SQRT_HALF) - 1.0;
    let s = f / (2.0 + f);
    let s2 = s * s;
    let rest = s2 * polynomial(s2, ATANH);
    let half_square = 0.5 * f * f;
    let correction = half_square - (s * (half_square + rest) + exponent * LN_2_LOW);
    exponent * LN_2_HIGH + (f - correction)
}

/// Cosine and sine of the angle `2 pi x / 2^64`, within 2 ulp; see [`super::math32::cos_sin`].
#[inline(always)]
pub(super) fn cos_sin(x: u64) -> (f64, f64) {
    let quarter = x.wrapping_add(1 << 61) >> 62;
    let rest = x.wrapping_sub(quarter << 62);
    let a = to_f64(f64::from((rest >> 32) as i32), rest as u32) * (PI / (1u64 << 63) as f64);
    let a2 = a * a;
    let sin = a + a * a2 * polynomial(a2, SIN);
    let cos = 1.0 - (0.5 * a2 - a2 * a2 * polynomial(a2, COS));
    let (cos, sin) = if quarter & 1 == 0 {
        (cos, sin)
    } else {
        (sin, cos)
    };
    let cos_sign = ((quarter + 1) & 2) << 62;
    let sin_sign = (quarter & 2) << 62;
    (
        f64::from_bits(cos.to_bits() ^ cos_sign),
        f64::from_bits(sin.to_bits() ^ sin_sign),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance in units of the last place of `reference`.
    fn ulps(found: f64, reference: f64) -> f64 {
        let near = reference.abs().max(f64::MIN_POSITIVE);
        (found - reference).abs() / (near.next_up() - near)
    }

    /// A fixed walk over all 64-bit words.
    fn walk() -> impl Iterator<Item = u64> {
        (0..1u64 << 20).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// One ulp here and one of the reference.
    #[test]
    fn ln_is_within_one_ulp_of_the_standard_one() {
        let mut worst = 0f64;
        for x in walk() {
            for u in [
                open_unit(x),
                1.0 - (x >> 32) as f64 * 2f64.powi(-53),
                (x | 1) as f64,
            ] {
                worst = worst.max(ulps(ln(u), u.ln()));
            }
        }
        assert!(worst <= 1.0, "{worst} ulp");
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn cos_and_sin_are_within_two_ulp_of_the_standard_ones() {
        let mut worst = 0f64;
        for x in walk() {
            // Exact reduction, then at most half an ulp of the angle.
            let quarter = (u128::from(x) + (1 << 61)) >> 62;
            let rest = (i128::from(x) - ((quarter as i128) << 62)) as f64 * (PI / 2f64.powi(63));
            let (c, s) = match quarter % 4 {
                0 => (rest.cos(), rest.sin()),
                1 => (-rest.sin(), rest.cos()),
                2 => (-rest.cos(), -rest.sin()),
                _ => (rest.sin(), -rest.cos()),
            };
            let (cos, sin) = cos_sin(x);
            worst = worst.max(ulps(cos, c)).max(ulps(sin, s));
        }
        assert!(worst <= 2.0, "{worst} ulp");
    }

    #[test]
    fn quarter_turns_and_unit_ends_are_exact() {
        assert_eq!(cos_sin(0), (1.0, 0.0));
        assert_eq!(cos_sin(1 << 62), (0.0, 1.0));
        assert_eq!(cos_sin(2 << 62), (-1.0, 0.0));
        assert_eq!(cos_sin(3 << 62), (0.0, -1.0));
        assert_eq!(open_unit(0), 2f64.powi(-65));
        assert_eq!(open_unit(u64::MAX), 1.0);
    }

    #[test]
    fn split_conversion_equals_the_direct_one() {
        for x in walk() {
            assert_eq!(to_f64(f64::from((x >> 32) as u32), x as u32), x as f64);
            assert_eq!(
                to_f64(f64::from((x >> 32) as i32), x as u32),
                x as i64 as f64
            );
        }
    }
}
