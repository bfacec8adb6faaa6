//! Two ways to do the same work, timed in turn.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::median;

/// Times of pairs: what is measured, and what it is measured against.
#[derive(Clone, Debug, Default)]
pub struct Pairs(Vec<(Duration, Duration)>);

impl Pairs {
    /// Time `pairs` pairs after one that does not count. Each pair is one right after the other,
    /// since the machine may be slower at one time than at another, and begins with the other one
    /// than the pair before, since whoever is second finds warm caches.
    pub fn measure(
        name: &str,
        pairs: usize,
        mut ours: impl FnMut() -> Duration,
        mut theirs: impl FnMut() -> Duration,
    ) -> Self {
        // Drawn on terminals only.
        let style = ProgressStyle::with_template("{msg:24} [{bar:30}] {pos}/{len} ({eta})");
        let bar = ProgressBar::new(pairs as u64).with_message(name.to_owned());
        let bar = match style {
            Ok(style) => bar.with_style(style),
            Err(_) => bar,
        };
        let mut times = Vec::new();
        for pair in 0..=pairs {
            let (our, their) = if pair % 2 == 0 {
                let our = ours();
                (our, theirs())
            } else {
                let their = theirs();
                (ours(), their)
            };
            if pair > 0 {
                times.push((our, their));
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        Self(times)
    }

    fn each(&self, of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let pairs = self.0.iter();
        pairs
            .map(|(ours, theirs)| of(ours.as_secs_f64(), theirs.as_secs_f64()))
            .collect()
    }

    /// The median of how many times as long ours takes.
    pub fn ratio(&self) -> f64 {
        median(self.each(|ours, theirs| ours / theirs))
    }

    /// The interval that holds the true median ratio with a probability of 95 %.
    pub fn interval(&self) -> [f64; 2] {
        median_interval(self.each(|ours, theirs| ours / theirs))
    }

    /// The median of how much longer ours takes, in microseconds.
    pub fn extra_us(&self) -> f64 {
        median(self.each(|ours, theirs| (ours - theirs) * 1e6))
    }

    /// The median of our times, in milliseconds.
    pub fn ours_ms(&self) -> f64 {
        median(self.each(|ours, _| ours * 1e3))
    }

    /// The median of theirs.
    pub fn theirs_ms(&self) -> f64 {
        median(self.each(|_, theirs| theirs * 1e3))
    }
}

/// Where the true median lies with a probability of at least 95 %, whatever the distribution: each
/// value is above it with one half, so how many are follows the binomial distribution.
fn median_interval(mut values: Vec<f64>) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let mut probability = 0.5f64.powi(n as i32);
    let mut below = probability;
    let mut rank = 0;
    // Leave out the lowest and the highest while both together are rarer than 5 %.
    while rank + 1 < n / 2 && below <= 0.025 {
        rank += 1;
        probability *= (n - rank + 1) as f64 / rank as f64;
        below += probability;
    }
    let rank = if below > 0.025 {
        rank.saturating_sub(1)
    } else {
        rank
    };
    [values[rank], values[n - 1 - rank]]
}

#[cfg(test)]
mod tests {
    use super::median_interval;

    #[test]
    fn the_interval_follows_the_binomial_distribution() {
        // For 20 values, the 6th and the 15th: the probability outside is 2 * 0.0207.
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(median_interval(values), [6.0, 15.0]);
        // For 6, the lowest and the highest: 2 / 64.
        let values: Vec<f64> = (1..=6).map(f64::from).collect();
        assert_eq!(median_interval(values), [1.0, 6.0]);
    }
}
