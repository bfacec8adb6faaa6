//! Tables as text.

use std::fmt;

/// Which side of its column a cell stands at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Write rows whose columns align, the first of them underlined.
pub(crate) fn write_table<const N: usize>(
    f: &mut fmt::Formatter<'_>,
    align: [Align; N],
    rows: &[[String; N]],
) -> fmt::Result {
    let widths: [usize; N] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0)
    });
    for (i, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            line += &match align[column] {
                Align::Left => format!("{cell:<width$}  "),
                Align::Right => format!("{cell:>width$}  "),
            };
        }
        writeln!(f, "{}", line.trim_end())?;
        if i == 0 {
            let width = widths.iter().sum::<usize>() + 2 * N.saturating_sub(1);
            writeln!(f, "{}", "-".repeat(width))?;
        }
    }
    Ok(())
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A count, of operations or of parameters, as people read it: in decimal units, with one decimal.
///
/// ```
/// use burn_materialize::Flops;
///
/// assert_eq!(Flops(34_359_738_368).to_string(), "34.4 G");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flops(pub u64);

impl fmt::Display for Flops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 7] = ["", " k", " M", " G", " T", " P", " E"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 999.95 && unit + 1 < UNITS.len() {
            value /= 1000.0;
            unit += 1;
        }
        match unit {
            0 => f.pad(&self.0.to_string()),
            _ => f.pad(&format!("{value:.1}{}", UNITS[unit])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Flops, grouped};

    #[test]
    fn flops_read_well() {
        assert_eq!(Flops(999).to_string(), "999");
        assert_eq!(Flops(1_000).to_string(), "1.0 k");
        assert_eq!(Flops(999_960).to_string(), "1.0 M");
        assert_eq!(Flops(34_359_738_368).to_string(), "34.4 G");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(70_553_706_496), "70,553,706,496");
    }
}
