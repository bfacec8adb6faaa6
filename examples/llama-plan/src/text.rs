//! Numbers and lines as people read them.

use std::fmt;

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Names at the left, values at the right, without a line's end at the last.
pub(crate) fn write_lines(f: &mut fmt::Formatter<'_>, lines: &[(&str, String)]) -> fmt::Result {
    let names = lines.iter().map(|(name, _)| name.chars().count());
    let values = lines.iter().map(|(_, value)| value.chars().count());
    let (left, right) = (names.max().unwrap_or(0), values.max().unwrap_or(0));
    for (i, (name, value)) in lines.iter().enumerate() {
        let end = if i > 0 { "\n" } else { "" };
        write!(f, "{end}  {name:left$}  {value:>right$}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(70_553_706_496), "70,553,706,496");
    }
}
