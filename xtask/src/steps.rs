//! A gate of named steps, with a table of what each took.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// One step of a gate.
pub struct Step<'s> {
    name: &'static str,
    run: Box<dyn Fn() -> Result<()> + 's>,
}

impl<'s> Step<'s> {
    /// A step that passes when `run` does.
    pub fn new(name: &'static str, run: impl Fn() -> Result<()> + 's) -> Self {
        Self {
            name,
            run: Box::new(run),
        }
    }
}

/// Run the steps up to the first that fails, then print the table.
pub fn run_all(steps: &[Step<'_>]) -> Result<()> {
    let mut times = Vec::new();
    let mut result = Ok(());
    for step in steps {
        println!("\n== {}", step.name);
        let start = Instant::now();
        result = (step.run)().with_context(|| format!("step `{}` failed", step.name));
        times.push(start.elapsed());
        if result.is_err() {
            break;
        }
    }
    print!("\n{}", table(steps, &times, result.is_ok()));
    result
}

fn table(steps: &[Step<'_>], times: &[Duration], passed: bool) -> String {
    let mut table = String::new();
    for (place, step) in steps.iter().enumerate() {
        let is_last = place + 1 == times.len();
        let line = match times.get(place) {
            Some(time) => {
                let verdict = if is_last && !passed { "FAILED" } else { "ok" };
                format!(
                    "{:<14} {:>8.1} s  {verdict}\n",
                    step.name,
                    time.as_secs_f64()
                )
            }
            None => format!("{:<14} {:>8}    not run\n", step.name, "-"),
        };
        table.push_str(&line);
    }
    let total: Duration = times.iter().sum();
    let verdict = if passed { "ok" } else { "FAILED" };
    table.push_str(&format!(
        "{:<14} {:>8.1} s  {verdict}\n",
        "total",
        total.as_secs_f64()
    ));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_tells_passed_failed_and_not_run_apart() {
        let steps = ["format", "clippy", "tests"].map(|name| Step::new(name, || Ok(())));
        let times = [Duration::from_millis(1200), Duration::from_millis(62040)];
        let expected = "\
format              1.2 s  ok
clippy             62.0 s  FAILED
tests                 -    not run
total              63.2 s  FAILED
";
        assert_eq!(table(&steps, &times, false), expected);
    }

    #[test]
    fn nothing_runs_after_the_first_failure() {
        let ran = std::cell::Cell::new(0);
        let count = || {
            ran.set(ran.get() + 1);
            Ok(())
        };
        let steps = [
            Step::new("first", count),
            Step::new("second", || anyhow::bail!("no")),
            Step::new("third", count),
        ];
        assert!(run_all(&steps).unwrap_err().to_string().contains("second"));
        assert_eq!(ran.get(), 1);
    }
}
