//! `burn-fabric diff`: in what two checkpoints differ.

use std::collections::BTreeMap;
use std::process::ExitCode;

use burn_weights::TensorInfo;

use crate::arguments::Diff;
use crate::failure::Failure;
use crate::human;
use crate::output::{Output, printable};
use crate::progress::Bar;
use crate::source::{Source, natural, place};
use crate::stream::{ELEMENTS, Stream};
use crate::values::{Value, one};

pub fn run(arguments: &Diff, output: &mut Output) -> Result<ExitCode, Failure> {
    let (a, b) = (Source::open(&arguments.a)?, Source::open(&arguments.b)?);
    let (in_a, in_b) = (a.by_name(), b.by_name());
    let bar = Bar::new(match arguments.headers {
        true => 0,
        false => in_a.values().map(|info| info.bytes).sum(),
    });
    let (mut differ, mut same) = (0, 0);
    for name in names(&in_a, &in_b) {
        let mut lines = Vec::new();
        match (in_a.get(name), in_b.get(name)) {
            (Some(left), Some(right)) => {
                lines.extend(headers(left, right));
                if !arguments.headers && left.shape == right.shape {
                    lines.extend(values((&a, left), (&b, right), arguments.tolerance)?);
                }
                bar.add(left.bytes);
            }
            (Some(info), None) => lines.push(format!("only in A: {}", described(name, info))),
            (None, Some(info)) => lines.push(format!("only in B: {}", described(name, info))),
            (None, None) => {}
        }
        match lines.is_empty() {
            true => same += 1,
            false => differ += 1,
        }
        for line in lines {
            // What is only in one of them has its name in the line.
            let line = match line.starts_with("only in ") {
                true => line,
                false => format!("{name}: {line}"),
            };
            bar.suspend(|| output.line(&printable(&line)))?;
        }
        if output.is_closed() {
            break;
        }
    }
    bar.clear();
    let compared = match arguments.headers {
        true => " by their headers",
        false => "",
    };
    if differ == 0 {
        output.line(&format!(
            "the same{compared}: {}",
            human::several(same, "tensor")
        ))?;
        return Ok(ExitCode::SUCCESS);
    }
    let differing = human::several(differ, "tensor");
    let verb = if differ == 1 { "differs" } else { "differ" };
    let same = human::count(same);
    output.line(&format!("{differing} {verb}{compared}, {same} the same"))?;
    Ok(ExitCode::from(1))
}

type Names<'s> = BTreeMap<&'s str, &'s TensorInfo>;

fn names<'s>(a: &Names<'s>, b: &Names<'s>) -> Vec<&'s str> {
    let only_in_b = b.keys().filter(|name| !a.contains_key(*name));
    let mut names: Vec<&str> = a.keys().chain(only_in_b).copied().collect();
    names.sort_by(|a, b| natural(a, b));
    names
}

fn described(name: &str, info: &TensorInfo) -> String {
    format!("{name} {} {:?}", info.dtype, info.shape)
}

fn headers(a: &TensorInfo, b: &TensorInfo) -> Vec<String> {
    let mut lines = Vec::new();
    if a.shape != b.shape {
        lines.push(format!("shape {:?} in A, {:?} in B", a.shape, b.shape));
    }
    if a.dtype != b.dtype {
        lines.push(format!("dtype {} in A, {} in B", a.dtype, b.dtype));
    } else if a.shape == b.shape && a.bytes != b.bytes {
        // Of a dtype whose size nobody here knows.
        lines.push(format!("{} bytes in A, {} in B", a.bytes, b.bytes));
    }
    lines
}

/// What is known of elements that differ.
#[derive(Debug, Default)]
struct Found {
    elements: u64,
    /// Not a number on one side only, so that there is no distance.
    without_distance: u64,
    largest: f64,
    first: u64,
}

/// In what the values of tensors of one shape differ, if in anything.
fn values(
    (a, left): (&Source, &TensorInfo),
    (b, right): (&Source, &TensorInfo),
    tolerance: Option<f64>,
) -> Result<Option<String>, Failure> {
    let dtypes = (left.dtype.burn(), right.dtype.burn());
    if left.dtype != right.dtype && (dtypes.0.is_none() || dtypes.1.is_none()) {
        return Ok(Some(
            "values not compared, as Burn lacks a dtype".to_owned(),
        ));
    }
    let mut streams = (
        Stream::new(&a.checkpoint, left),
        Stream::new(&b.checkpoint, right),
    );
    let steps = (streams.0.step() as usize, streams.1.step() as usize);
    let (mut found, mut position, mut total) = (Found::default(), 0, 0);
    while let (Some(x), Some(y)) = (streams.0.next(ELEMENTS)?, streams.1.next(ELEMENTS)?) {
        let elements = x.chunks_exact(steps.0).zip(y.chunks_exact(steps.1));
        total += elements.len() as u64;
        if left.dtype == right.dtype && x == y {
            position = total;
            continue;
        }
        for (x, y) in elements {
            // Between two dtypes equal bits mean nothing.
            let is_same = left.dtype == right.dtype && x == y;
            if !is_same {
                let distance = match dtypes {
                    (Some(left), Some(right)) => distance(one(left, x), one(right, y)),
                    _ => f64::NAN,
                };
                let is_close = match tolerance {
                    Some(tolerance) => distance <= tolerance,
                    None => left.dtype != right.dtype && distance == 0.0,
                };
                if !is_close {
                    found.add(position, distance);
                }
            }
            position += 1;
        }
    }
    if found.elements == 0 {
        return Ok(None);
    }
    let mut line = format!(
        "{} of {}, the first at {:?}",
        human::count(found.elements),
        human::several(total, "value"),
        place(found.first, &left.shape),
    );
    if dtypes.0.is_none() {
        line = format!(
            "{} of {}, as Burn lacks the dtype",
            human::count(found.elements),
            human::several(total, "byte")
        );
    } else {
        if found.without_distance < found.elements {
            let largest = human::value(found.largest);
            line.push_str(&format!(", largest difference {largest}"));
        }
        if found.without_distance > 0 {
            let number = human::count(found.without_distance);
            line.push_str(&format!(", {number} with a NaN"));
        }
    }
    Ok(Some(line))
}

impl Found {
    fn add(&mut self, position: u64, distance: f64) {
        if self.elements == 0 {
            self.first = position;
        }
        self.elements += 1;
        match distance.is_nan() {
            true => self.without_distance += 1,
            false => self.largest = self.largest.max(distance),
        }
    }
}

/// How far values are apart: nothing between two that are no numbers, and not a number between one
/// of these and a number.
fn distance(a: Option<Value>, b: Option<Value>) -> f64 {
    match (a, b) {
        (Some(Value::Integer(a)), Some(Value::Integer(b))) => a.abs_diff(b) as f64,
        (Some(a), Some(b)) => {
            let (a, b) = (a.float(), b.float());
            // Infinities of one sign have no difference.
            let is_same = a == b || (a.is_nan() && b.is_nan());
            if is_same { 0.0 } else { (a - b).abs() }
        }
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_exact() {
        let float = |value| Some(Value::Float(value));
        let integer = |value| Some(Value::Integer(value));
        let large = i128::from(i64::MAX);
        assert_eq!(distance(integer(large), integer(large - 1)), 1.0);
        assert_eq!(distance(float(1.5), integer(1)), 0.5);
        assert_eq!(distance(float(f64::NAN), float(f64::NAN)), 0.0);
        assert_eq!(distance(float(f64::INFINITY), float(f64::INFINITY)), 0.0);
        assert_eq!(distance(float(f64::INFINITY), float(1.0)), f64::INFINITY);
        assert!(distance(float(f64::NAN), float(1.0)).is_nan());
    }
}
