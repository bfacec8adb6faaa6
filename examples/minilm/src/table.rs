//! Sentences with their numbers, and how alike each two are.

/// The sentences, then a matrix with a row and a column for each, row by row in `alike`.
pub fn draw(sentences: &[String], alike: &[f32]) -> String {
    let count = sentences.len();
    let width = count.to_string().len();
    let mut table = String::new();
    for (sentence, number) in sentences.iter().zip(1..) {
        // What breaks the line would break the table.
        let sentence: Vec<&str> = sentence.split_whitespace().collect();
        table.push_str(&format!("{number:>width$}  {}\n", sentence.join(" ")));
    }
    table.push_str(&format!("\n{:width$}", ""));
    for number in 1..=count {
        table.push_str(&format!("  {number:>6}"));
    }
    table.push('\n');
    for (row, number) in alike.chunks(count).zip(1..) {
        table.push_str(&format!("{number:>width$}"));
        for value in row {
            table.push_str(&format!("  {value:>6.3}"));
        }
        table.push('\n');
    }
    table
}

#[cfg(test)]
mod tests {
    use super::draw;

    #[test]
    fn columns_are_aligned() {
        let sentences = ["One".to_owned(), "And\nanother".to_owned()];
        let expected = "\
1  One
2  And another

        1       2
1   1.000  -0.250
2  -0.250   1.000
";
        assert_eq!(draw(&sentences, &[1.0, -0.25, -0.25, 1.0]), expected);
    }
}
