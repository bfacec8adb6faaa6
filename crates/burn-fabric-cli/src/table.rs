//! A table of text whose columns are aligned.

/// Rows of as many texts as there are columns.
pub struct Table {
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Columns by their headings; one that begins with `>` is aligned at its right.
    pub fn new(headings: &[&str]) -> Self {
        let heading = |heading: &&str| heading.trim_start_matches('>').to_owned();
        Self {
            right: headings
                .iter()
                .map(|heading| heading.starts_with('>'))
                .collect(),
            rows: vec![headings.iter().map(heading).collect()],
        }
    }

    pub fn row(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.right.len());
        self.rows.push(row);
    }

    /// Its lines.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let width = |column: usize| {
            let cells = self.rows.iter().map(move |row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.right.len()).map(width).collect();
        self.rows.iter().map(move |row| {
            let mut line = String::new();
            for ((cell, width), right) in row.iter().zip(&widths).zip(&self.right) {
                if !line.is_empty() {
                    line.push_str("  ");
                }
                // Counted in letters, as the widths are.
                let fill = " ".repeat(width - cell.chars().count());
                match right {
                    true => line.extend([fill.as_str(), cell]),
                    false => line.extend([cell, fill.as_str()]),
                }
            }
            line.truncate(line.trim_end().len());
            line
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(&["name", ">bytes", "shape"]);
        table.row(vec!["é".to_owned(), "8".to_owned(), "[2]".to_owned()]);
        table.row(vec![
            "a.long".to_owned(),
            "1234567".to_owned(),
            String::new(),
        ]);
        let lines: Vec<String> = table.lines().collect();
        assert_eq!(
            lines,
            [
                "name      bytes  shape",
                "é             8  [2]",
                "a.long  1234567"
            ]
        );
    }
}
