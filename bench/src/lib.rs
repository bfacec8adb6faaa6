//! What every benchmark needs: a peer to measure against, medians, and the memory of the process.

pub mod folder;
pub mod layers;
pub mod memory;
pub mod memory_model;
pub mod pairs;
pub mod peer;

use std::time::{Duration, Instant};

/// What `work` returns, and how long it took. Dropping the result is not part of it.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

/// The middle of the values; of an even number of them, the mean of the middle two.
///
/// # Panics
/// Without any value.
pub fn median(mut values: Vec<f64>) -> f64 {
    assert!(!values.is_empty(), "there is no median of nothing");
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => (values[middle - 1] + values[middle]) / 2.0,
        _ => values[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
