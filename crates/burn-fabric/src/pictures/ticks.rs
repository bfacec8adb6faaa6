//! Axes, their labels, and which points a line needs.

use std::ops::Range;

/// Places for points along a panel; more are not told apart.
const PLACES: usize = 500;

/// The range of an axis over values, with so much of it on either side to spare.
pub fn range(values: impl Iterator<Item = f64>, spare: f64) -> Range<f64> {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = values
        .map(held)
        .fold(none, |(low, high), value| (low.min(value), high.max(value)));
    if low > high {
        return 0.0..1.0;
    }
    // What differs less than a float can count on is one value.
    let least = 1e-9 * low.abs().max(high.abs());
    if high - low <= least {
        let around = if low == 0.0 { 1.0 } else { 0.5 * low.abs() };
        let around = if spare == 0.0 { 1.0 } else { around };
        return low - around..high + around;
    }
    // Halved first: the whole may be more than a float holds.
    let spare = spare * 2.0 * (high / 2.0 - low / 2.0);
    (low - spare).max(f64::MIN / 4.0)..(high + spare).min(f64::MAX / 4.0)
}

/// A value as it is drawn: an axis over the greatest floats would have no end, and no last tick.
fn held(value: f64) -> f64 {
    value.clamp(f64::MIN / 4.0, f64::MAX / 4.0)
}

/// Labels of whole steps: a thousand is `1k` where they are many.
pub fn of_steps(range: &Range<f64>) -> impl Fn(&f64) -> String + use<> {
    let (unit, name) = match range.end {
        end if end >= 1e7 => (1e6, "M"),
        end if end >= 1e4 => (1e3, "k"),
        _ => (1.0, ""),
    };
    move |step| match step {
        // Between two steps, or before the first, there is none.
        step if *step < 0.0 || step.fract() != 0.0 => String::new(),
        step if *step == 0.0 => "0".to_owned(),
        step => format!("{}{name}", step / unit),
    }
}

/// Labels of values: as many digits as tell them apart.
pub fn of_values(range: &Range<f64>) -> impl Fn(&f64) -> String + use<> {
    let largest = range.start.abs().max(range.end.abs());
    // Two digits more than the range's first.
    let place = ((range.end / 2.0 - range.start / 2.0) * 2.0)
        .log10()
        .floor();
    let scientific = !(1e-3..1e6).contains(&largest);
    let digits = match scientific {
        true => (largest.log10().floor() - place + 2.0).clamp(0.0, 12.0) as usize,
        false => (2.0 - place).clamp(0.0, 12.0) as usize,
    };
    move |value| {
        // What is 0 but for its last bits is.
        let value = match value.abs() < 1e-9 * largest {
            true => 0.0,
            false => *value,
        };
        let text = match scientific && value != 0.0 {
            true => format!("{value:.digits$e}"),
            false => format!("{value:.digits$}"),
        };
        let (number, power) = match text.split_once('e') {
            Some((number, power)) => (number, format!("e{power}")),
            None => (text.as_str(), String::new()),
        };
        let number = match number.contains('.') {
            true => number.trim_end_matches('0').trim_end_matches('.'),
            false => number,
        };
        format!("{number}{power}")
    }
}

/// The points of each line between two gaps; of many points those that a panel can show: the first,
/// the least, the greatest and the last of each place along it.
pub fn parts(points: &[(u64, f64)]) -> Vec<Vec<(f64, f64)>> {
    let mut parts = vec![Vec::new()];
    let mut add = |step: u64, value: f64| match value.is_finite() {
        true => {
            let part = parts.last_mut().expect("there is one");
            part.push((step as f64, held(value)));
        }
        false => parts.push(Vec::new()),
    };
    if points.len() <= 4 * PLACES {
        points.iter().for_each(|(step, value)| add(*step, *value));
    } else {
        for place in points.chunks(points.len().div_ceil(PLACES)) {
            let finite = place
                .iter()
                .enumerate()
                .filter(|(_, (_, value))| value.is_finite());
            let finite: Vec<(usize, f64)> = finite.map(|(i, (_, value))| (i, *value)).collect();
            let by_value = |(_, a): &&(usize, f64), (_, b): &&(usize, f64)| a.total_cmp(b);
            let kept = [
                finite.first(),
                finite.iter().min_by(by_value),
                finite.iter().max_by(by_value),
                finite.last(),
            ];
            let mut kept: Vec<usize> = kept.into_iter().flatten().map(|(i, _)| *i).collect();
            kept.sort_unstable();
            kept.dedup();
            for i in &kept {
                add(place[*i].0, place[*i].1);
            }
            // A gap that is no place long could not be seen.
            if kept.is_empty() {
                add(place[0].0, f64::NAN);
            }
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}
