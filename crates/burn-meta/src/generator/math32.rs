//! Logarithm, sine and cosine in `f32`, from IEEE operations only.
//!
//! Straight-line code with selections instead of branches, so that loops over it vectorise. The
//! polynomials are Taylor sums: over these small intervals they cost one term more than minimax
//! ones and every coefficient can be checked by eye.

use std::f64::consts::{LN_2, PI, SQRT_2};

/// The leading 17 bits of ln 2, so that its product with an exponent is exact.
const LN_2_HIGH: f32 = f32::from_bits(0x3f31_7180);
const LN_2_LOW: f32 = (LN_2 - LN_2_HIGH as f64) as f32;
/// Bits of the square root of one half, the lower end of the reduced interval.
const SQRT_HALF: u32 = (SQRT_2 as f32 * 0.5).to_bits();
/// The angle of one step, 2 pi / 2^32.
const STEP: f64 = PI / (1u64 << 31) as f64;
/// Its leading 12 bits: pi is near 3217 / 1024.
const STEP_HIGH: f32 = 3_217.0 / (1u64 << 41) as f32;
const STEP_LOW: f32 = (STEP - STEP_HIGH as f64) as f32;
const ONE: u32 = 1.0f32.to_bits();

/// Natural logarithm of a normal positive number, within 1 ulp.
///
/// With `x = 2^e m` and `m` in `[sqrt(1/2), sqrt(2))`, `ln x = e ln 2 + 2 atanh(s)` where
/// `s = f / (2 + f)`, `f = m - 1`, `|s| < 0.172`; the first term left out is below 2^-28 of the sum.
#[inline(always)]
pub(super) fn ln(x: f32) -> f32 {
    let shifted = x.to_bits().wrapping_add(ONE - SQRT_HALF);
    let exponent = ((shifted >> 23) as i32 - 127) as f32;
    let f = f32::from_bits((shifted & 0x007f_ffff) + SQRT_HALF) - 1.0;
    let s = f / (2.0 + f);
    let s2 = s * s;
    let rest = s2 * (2.0 / 3.0 + s2 * (2.0 / 5.0 + s2 * (2.0 / 7.0 + s2 * (2.0 / 9.0))));
    // 2 atanh(s) = f - s (f - rest), arranged so that the leading term `f` is exact.
    let half_square = 0.5 * f * f;
    let correction = half_square - (s * (half_square + rest) + exponent * LN_2_LOW);
    exponent * LN_2_HIGH + (f - correction)
}

/// Cosine and sine of the angle `2 pi x / 2^32`, within 2 ulp.
///
/// The integer splits exactly into a quarter turn and a rest of at most an eighth of a turn.
#[inline(always)]
pub(super) fn cos_sin(x: u32) -> (f32, f32) {
    let quarter = x.wrapping_add(1 << 29) >> 30;
    let rest = x.wrapping_sub(quarter << 30) as i32;
    // Twelve bits times twelve bits are exact, so the angle is rounded only where it is summed.
    let head = rest.wrapping_add(1 << 17) & !0x3_ffff;
    let tail = rest.wrapping_sub(head) as f32;
    let a = head as f32 * STEP_HIGH + (head as f32 * STEP_LOW + tail * STEP as f32);
    let a2 = a * a;
    let sin_sum = -1.0 / 6.0 + a2 * (1.0 / 120.0 + a2 * (-1.0 / 5_040.0 + a2 * (1.0 / 362_880.0)));
    let cos_sum =
        1.0 / 24.0 + a2 * (-1.0 / 720.0 + a2 * (1.0 / 40_320.0 + a2 * (-1.0 / 3_628_800.0)));
    let sin = a + a * a2 * sin_sum;
    let cos = 1.0 - (0.5 * a2 - a2 * a2 * cos_sum);
    // Each quarter turn takes (cos, sin) to (-sin, cos).
    let (cos, sin) = if quarter & 1 == 0 {
        (cos, sin)
    } else {
        (sin, cos)
    };
    let cos_sign = ((quarter + 1) & 2) << 30;
    let sin_sign = (quarter & 2) << 30;
    (
        f32::from_bits(cos.to_bits() ^ cos_sign),
        f32::from_bits(sin.to_bits() ^ sin_sign),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance between `found` and `exact` in units of the last place of `exact`.
    fn ulps(found: f32, exact: f64) -> f64 {
        let near = (exact as f32).abs().max(f32::MIN_POSITIVE);
        let ulp = f64::from(near.next_up()) - f64::from(near);
        (f64::from(found) - exact).abs() / ulp
    }

    /// A fixed walk over all 32-bit words.
    fn walk() -> impl Iterator<Item = u32> {
        (0..1u32 << 21).map(|i| i.wrapping_mul(0x9e37_79b1))
    }

    #[test]
    fn ln_is_within_one_ulp() {
        let mut worst = 0f64;
        for x in walk() {
            for u in [
                x as f32 * 2f32.powi(-32) + 2f32.powi(-33),
                1.0 - (x >> 16) as f32 * 2f32.powi(-24),
                (x | 1) as f32,
            ] {
                worst = worst.max(ulps(ln(u), f64::from(u).ln()));
            }
        }
        assert!(worst < 1.0, "{worst} ulp");
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(ln(0.5), -std::f32::consts::LN_2);
    }

    #[test]
    fn cos_and_sin_are_within_two_ulp() {
        let mut worst = 0f64;
        for x in walk().chain(
            (0..8u32).flat_map(|k| (0..100).map(move |d| (k << 29) + d - 50 * u32::from(k > 0))),
        ) {
            // The reduction in f64 keeps the reference accurate next to the zeros.
            let quarter = (f64::from(x) / 2f64.powi(30)).round();
            let rest = (f64::from(x) - quarter * 2f64.powi(30)) * (PI / 2f64.powi(31));
            let (c, s) = match quarter as u32 % 4 {
                0 => (rest.cos(), rest.sin()),
                1 => (-rest.sin(), rest.cos()),
                2 => (-rest.cos(), -rest.sin()),
                _ => (rest.sin(), -rest.cos()),
            };
            let (cos, sin) = cos_sin(x);
            worst = worst.max(ulps(cos, c)).max(ulps(sin, s));
        }
        assert!(worst < 2.0, "{worst} ulp");
    }

    #[test]
    fn quarter_turns_are_exact() {
        assert_eq!(cos_sin(0), (1.0, 0.0));
        assert_eq!(cos_sin(1 << 30), (0.0, 1.0));
        assert_eq!(cos_sin(2 << 30), (-1.0, 0.0));
        assert_eq!(cos_sin(3 << 30), (0.0, -1.0));
    }
}
