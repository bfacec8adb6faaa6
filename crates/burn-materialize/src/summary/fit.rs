//! Tables that fit so many columns.

use std::fmt;

use console::{Term, measure_text_width};

/// Where the output is no terminal.
const COLUMNS: usize = 100;
/// What columns of text keep, the first and the others, as long as others have more: names say
/// most.
const KEPT: [usize; 2] = [30, 14];
/// They are not made shorter than this.
const SHORTEST: [usize; 2] = [16, 8];
const GAP: usize = 2;

/// The width of the terminal that the output goes to.
pub(super) fn columns() -> usize {
    let size = Term::stdout().size_checked();
    size.map_or(COLUMNS, |(_, columns)| columns.into())
}

/// What stands in a table.
pub(super) enum Cell {
    /// The same from the longest wording to the shortest.
    Text(Vec<String>),
    /// Never shortened.
    Number(String),
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(vec![text.into()])
    }

    fn longest(&self) -> &str {
        match self {
            Self::Text(wordings) => wordings.first().map_or("", |wording| wording),
            Self::Number(number) => number,
        }
    }

    fn fitted(&self, width: usize) -> String {
        let Self::Text(wordings) = self else {
            return self.longest().to_owned();
        };
        let fits = |wording: &&String| measure_text_width(wording) <= width;
        match (wordings.iter().find(fits), wordings.last()) {
            (Some(wording), _) => wording.clone(),
            (None, Some(shortest)) => shortened(shortest, width),
            (None, None) => String::new(),
        }
    }
}

/// A text without its middle; how far it stands in stays, as far as that leaves a few letters.
pub(super) fn shortened(text: &str, width: usize) -> String {
    if measure_text_width(text) <= width {
        return text.to_owned();
    }
    let spaces = text.len() - text.trim_start_matches(' ').len();
    let indent = spaces.min(width.saturating_sub(8));
    let text = &text[spaces..];
    let room = width.saturating_sub(indent + 1);
    let within = |letters: &mut dyn Iterator<Item = char>, room: usize| {
        let mut used = 0;
        let mut taken = String::new();
        for letter in letters {
            used += measure_text_width(letter.encode_utf8(&mut [0; 4]));
            if used > room {
                break;
            }
            taken.push(letter);
        }
        taken
    };
    // The end tells more: a name differs there.
    let head = within(&mut text.chars(), room / 2);
    let tail = within(&mut text.chars().rev(), room - room / 2);
    let tail: String = tail.chars().rev().collect();
    format!("{:indent$}{head}…{tail}", "")
}

/// Write rows whose columns align, the first of them underlined.
pub(super) fn write_fitted(
    f: &mut fmt::Formatter<'_>,
    rows: &[Vec<Cell>],
    columns: usize,
) -> fmt::Result {
    let Some(header) = rows.first() else {
        return Ok(());
    };
    let mut widths: Vec<usize> = (0..header.len())
        .map(|column| {
            let cells = rows
                .iter()
                .map(|row| measure_text_width(row[column].longest()));
            cells.max().unwrap_or(0)
        })
        .collect();
    let gaps = GAP * header.len().saturating_sub(1);
    let is_text = |column: usize| {
        rows.iter()
            .skip(1)
            .any(|row| matches!(row[column], Cell::Text(_)))
    };
    let texts: Vec<usize> = (0..header.len())
        .filter(|column| is_text(*column))
        .collect();
    for least in [KEPT, SHORTEST] {
        let spare = |widths: &[usize], column: usize| {
            let least = least[usize::from(column > 0)];
            widths[column].saturating_sub(least)
        };
        while widths.iter().sum::<usize>() + gaps > columns {
            let most = texts.iter().copied();
            match most.max_by_key(|column| spare(&widths, *column)) {
                Some(most) if spare(&widths, most) > 0 => widths[most] -= 1,
                _ => break,
            }
        }
    }
    let mut line = String::new();
    for (i, row) in rows.iter().enumerate() {
        line.clear();
        for (column, cell) in row.iter().enumerate() {
            let text = cell.fitted(widths[column]);
            let room = widths[column].saturating_sub(measure_text_width(&text));
            let spaces = |count| std::iter::repeat_n(' ', count);
            match texts.contains(&column) {
                true => {
                    line.push_str(&text);
                    line.extend(spaces(room + GAP));
                }
                false => {
                    line.extend(spaces(room));
                    line.push_str(&text);
                    line.extend(spaces(GAP));
                }
            }
        }
        writeln!(f, "{}", line.trim_end())?;
        if i == 0 {
            writeln!(f, "{}", "-".repeat(widths.iter().sum::<usize>() + gaps))?;
        }
    }
    Ok(())
}

/// Write parts one behind the other, on the next line where they do not fit.
pub(super) fn write_wrapped(
    f: &mut fmt::Formatter<'_>,
    parts: &[String],
    columns: usize,
) -> fmt::Result {
    let mut used = 0;
    for (i, part) in parts.iter().enumerate() {
        let width = measure_text_width(part);
        if i > 0 && used + 1 + width > columns {
            f.write_str("\n  ")?;
            used = 2;
        } else if i > 0 {
            f.write_str(" ")?;
            used += 1;
        }
        f.write_str(part)?;
        used += width;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{measure_text_width, shortened};

    #[test]
    fn what_is_too_long_loses_its_middle() {
        assert_eq!(shortened("query", 5), "query");
        assert_eq!(shortened("feed_forward", 9), "feed…ward");
        assert_eq!(shortened("feed_forward", 8), "fee…ward");
        // Two columns a letter.
        let wide = shortened("注意力机制の重み", 9);
        assert_eq!(wide, "注意…重み");
        assert_eq!(measure_text_width(&wide), 9);
        assert_eq!(shortened("abc", 1), "…");
        assert_eq!(shortened("    feed_forward", 13), "    feed…ward");
        assert_eq!(shortened("        feed_forward", 11), "   fee…ward");
    }
}
