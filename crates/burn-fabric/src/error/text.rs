//! Lists in messages: all problems, and the first few of many names.

/// One problem by itself, several as a list.
pub(crate) fn listed(what: &str, problems: &[impl std::fmt::Display]) -> String {
    if let [problem] = problems {
        return problem.to_string();
    }
    let count = problems.len();
    let lines = problems.iter().enumerate();
    let lines = lines.map(|(i, problem)| format!("\n  {}. {problem}", i + 1));
    format!("{count} {what}:{}", lines.collect::<String>())
}

/// The first few numbers, and how many more.
pub(crate) fn numbers(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    shorten(&numbers).replace('`', "")
}

/// The first few paths, and how many more.
pub(crate) fn shorten(paths: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<String> = paths
        .iter()
        .take(SHOWN)
        .map(|path| format!("`{path}`"))
        .collect();
    let shown = shown.join(", ");
    match paths.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The first few rates, to the digits that people compare.
pub(crate) fn rates(rates: &[f64]) -> String {
    let shown = rates.iter().take(4).map(|rate| format!("{rate:.6e}"));
    format!("{} …", shown.collect::<Vec<_>>().join(", "))
}
