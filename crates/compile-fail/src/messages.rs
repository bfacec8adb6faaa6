//! The compiler's messages without what differs from machine to machine.

use std::path::Path;

/// Lines that only count what is above them.
const SUMMARIES: [&str; 4] = [
    "error: aborting due to ",
    "Some errors have detailed explanations",
    "For more information about this error",
    "For more information about an error",
];

/// Lines that depend on which other crates are in the build: a list of traits with an item of that name.
fn is_of_the_build(line: &str) -> bool {
    let start = line.trim_start();
    start.starts_with("candidate #")
        || (start.starts_with("= note: the following trait") && start.contains("an item"))
}

/// What the compiler said of a case. Of places in other files only the file is left: their lines change,
/// and the compiler shows the code where it finds it.
pub fn normalised(messages: &str, case: &Path) -> String {
    let case = case.to_string_lossy().replace('\\', "/");
    let mut elsewhere = false;
    let mut lines: Vec<String> = Vec::new();
    for line in messages.lines() {
        if SUMMARIES.iter().any(|summary| line.starts_with(summary)) || is_of_the_build(line) {
            continue;
        }
        let start = line.trim_start();
        let arrow = ["--> ", "::: "]
            .into_iter()
            .find(|arrow| start.starts_with(arrow));
        if let Some(arrow) = arrow {
            let place = &start[arrow.len()..];
            elsewhere = !place.replace('\\', "/").starts_with(&case);
            if elsewhere {
                let indent = &line[..line.len() - start.len()];
                lines.push(format!("{indent}{arrow}{}", file(place)));
                continue;
            }
        }
        elsewhere &= is_code(line);
        if !elsewhere {
            lines.push(counted(line));
        }
    }
    let text = lines.join("\n");
    format!("{}\n", text.trim_end())
}

/// The file of `file:line:column`, from `src` on, with the package's name and without its version.
fn file(place: &str) -> String {
    let place = place.replace('\\', "/");
    let file = place.rsplitn(3, ':').last().unwrap_or_default();
    let parts: Vec<&str> = file.split('/').collect();
    let source = parts.iter().rposition(|part| *part == "src").unwrap_or(0);
    let package = parts[..source].last().copied().unwrap_or_default();
    let name = package.split("-0.").next().unwrap_or_default();
    match name.is_empty() {
        true => parts[source..].join("/"),
        false => format!("{name}/{}", parts[source..].join("/")),
    }
}

/// Whether it is `12 | code`, what is marked in it, or `...` between.
fn is_code(line: &str) -> bool {
    let start = line
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit());
    start.trim_start().starts_with('|') || line == "..."
}

/// `and 70 others`: as many as there happen to be.
fn counted(line: &str) -> String {
    let others = line.trim_start().strip_prefix("and ");
    let others = others.and_then(|rest| rest.strip_suffix(" others"));
    match others.is_some_and(|count| count.parse::<u32>().is_ok()) {
        true => {
            let indent = &line[..line.len() - line.trim_start().len()];
            format!("{indent}and $N others")
        }
        false => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_other_files_are_only_named() {
        let messages = "\
error[E0277]: no
  --> tests/ui/a.rs:8:23
   |
 8 |     a(b);
   |       ^
   = help: these are there:
             A
           and 12 others
   = note: the following traits define an item `a`, perhaps you need to implement one of them:
           candidate #1: `X`
note: required by a bound
  --> /home/me/burn/crates/burn-x/src/y.rs:120:4
   |
120 | pub fn a<T: X>(t: T)
   |             ^ here
   = note: and so on

error: aborting due to 1 previous error

For more information about this error, try `rustc --explain E0277`.
";
        let expected = "\
error[E0277]: no
  --> tests/ui/a.rs:8:23
   |
 8 |     a(b);
   |       ^
   = help: these are there:
             A
           and $N others
note: required by a bound
  --> burn-x/src/y.rs
   = note: and so on
";
        assert_eq!(normalised(messages, Path::new("tests/ui/a.rs")), expected);
        let registry = "/r/index-1/burn-core-0.22.1/src/module/base.rs:1:2";
        assert_eq!(file(registry), "burn-core/src/module/base.rs");
    }
}
