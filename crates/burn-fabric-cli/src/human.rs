//! Numbers as people read and write them.

/// `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 tensor`, `2 tensors`.
pub fn several(number: u64, what: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {what}{ending}", count(number))
}

const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];

/// `12 B`, `497.8 MB`.
pub fn bytes(number: u64) -> String {
    if number < 1000 {
        return format!("{number} B");
    }
    let mut value = number as f64 / 1000.0;
    let mut units = UNITS.iter().peekable();
    while let Some(unit) = units.next() {
        // 999.95 would be printed as 1000.0.
        if value < 999.95 || units.peek().is_none() {
            return format!("{value:.1} {unit}");
        }
        value /= 1000.0;
    }
    unreachable!("the last unit takes whatever is left")
}

/// A number of bytes: `5GB`, `500 MB`, `2GiB`, `123`.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no number of bytes: write 5GB, 500MB, 2GiB or 123456");
    let text = text.trim();
    let letters = text.find(|letter: char| letter.is_ascii_alphabetic());
    let (number, unit) = text.split_at(letters.unwrap_or(text.len()));
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let unit = unit.to_ascii_lowercase();
    let factor = match unit.trim_end_matches('b') {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        "ki" => 1024.0,
        "mi" => 1048576.0,
        "gi" => 1073741824.0,
        "ti" => 1099511627776.0,
        _ => return Err(wrong()),
    };
    let bytes = number * factor;
    // Also what is no number.
    if !(1.0..=9e18).contains(&bytes) {
        return Err(wrong());
    }
    Ok(bytes as u64)
}

/// A value in six digits or so.
pub fn value(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    if !(1e-3..1e6).contains(&size) {
        return format!("{value:.4e}");
    }
    let decimals = (5 - size.log10().floor() as i32).clamp(0, 8) as usize;
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_scaled() {
        assert_eq!(count(7), "7");
        assert_eq!(count(123456), "123,456");
        assert_eq!(count(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(several(1, "tensor"), "1 tensor");
        assert_eq!(several(0, "tensor"), "0 tensors");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1000), "1.0 kB");
        assert_eq!(bytes(999_999), "1.0 MB");
        assert_eq!(bytes(100_000_000_000), "100.0 GB");
        assert_eq!(bytes(u64::MAX), "18446.7 PB");
    }

    #[test]
    fn sizes_are_read_as_they_are_written() {
        assert_eq!(parse_bytes("5GB"), Ok(5_000_000_000));
        assert_eq!(parse_bytes("1.5 mb"), Ok(1_500_000));
        assert_eq!(parse_bytes("2GiB"), Ok(2 << 30));
        assert_eq!(parse_bytes("16"), Ok(16));
        for wrong in ["", "GB", "5XB", "-1", "0", "nan", "inf", "1e30", "5 G B"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_have_six_digits() {
        assert_eq!(value(0.0), "0");
        assert_eq!(value(-1.5), "-1.5");
        assert_eq!(value(1.0 / 3.0), "0.333333");
        assert_eq!(value(123456.78), "123457");
        assert_eq!(value(1e-9), "1.0000e-9");
        assert_eq!(value(f64::INFINITY), "inf");
    }
}
