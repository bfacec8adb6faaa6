//! The largest batch that fits.

/// Where a batch is taken for one that nothing grows with.
const ENDLESS: usize = 1 << 24;
/// How many times what is known to fit is tried at most, since what the closure makes of its own, as
/// the data of a tensor, is real.
const FURTHEST: usize = 16;

/// The largest batch whose peak is at most `budget`, given the peak of one batch and what is there
/// without any; none where even a batch of [`ENDLESS`] fits.
///
/// A peak hardly ever is a straight line in the batch, and it is close to one: each trace is made
/// where a line through the last two says the limit is, and bounds the search whatever it finds. What is
/// returned was traced and fits, and one more was traced and does not.
pub(super) fn largest_batch<E>(
    budget: u64,
    held: u64,
    (batch, peak): (usize, u64),
    mut peak_at: impl FnMut(usize) -> Result<u64, E>,
) -> Result<Option<usize>, E> {
    // Of batches: the largest that is known to fit, and the smallest that is known not to.
    let mut fits = (0, held);
    let mut exceeds: Option<(usize, u64)> = None;
    if held > budget {
        return Ok(Some(0));
    }
    let mut next = (batch, peak);
    let mut last = fits;
    let mut is_turn_of_line = true;
    let mut is_first = true;
    loop {
        if next.1 <= budget {
            fits = next;
        } else {
            exceeds = Some(next);
        }
        if exceeds.is_none() && fits.0 >= ENDLESS {
            return Ok(None);
        }
        let from = fits.0 + 1;
        let to = match exceeds {
            Some((batch, _)) if batch == from => return Ok(Some(fits.0)),
            Some((batch, _)) => batch - 1,
            None => ENDLESS,
        };
        let along = match is_turn_of_line {
            true => line(last, next, budget),
            false => None,
        };
        // A line that leads nowhere is followed by halving, or doubling, what is left.
        is_turn_of_line = !is_turn_of_line || exceeds.is_none();
        let halfway = match exceeds {
            Some(_) => from.midpoint(to),
            None => (2 * fits.0).max(1),
        };
        // A line along a flat stretch leads too far: from the second on, no further than so many times
        // what fits.
        let to = match (exceeds, is_first) {
            (None, false) => to.min(from.saturating_mul(FURTHEST)),
            _ => to,
        };
        is_first = false;
        let batch = along.unwrap_or(halfway).clamp(from, to);
        last = next;
        next = (batch, peak_at(batch)?);
    }
}

/// The batch at which a line through two peaks reaches `budget`.
fn line(one: (usize, u64), other: (usize, u64), budget: u64) -> Option<usize> {
    let (rise, run) = (other.1 as f64 - one.1 as f64, other.0 as f64 - one.0 as f64);
    let slope = rise / run;
    let batch = one.0 as f64 + (budget as f64 - one.1 as f64) / slope;
    (slope > 0.0 && batch.is_finite()).then_some(batch as usize)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn search(budget: u64, batch: usize, peak: impl Fn(usize) -> u64) -> (Option<usize>, usize) {
        let mut traces = 0;
        let found = largest_batch(budget, peak(0), (batch, peak(batch)), |batch| {
            traces += 1;
            Ok::<_, Infallible>(peak(batch))
        });
        let Ok(found) = found;
        (found, traces)
    }

    #[test]
    fn it_is_the_last_that_fits() {
        let peaks: [&dyn Fn(usize) -> u64; 5] = [
            &|batch| 100 + 7 * batch as u64,
            &|batch| 100 + (batch * batch) as u64,
            &|batch| 100 + 1000 * (batch as f64).sqrt() as u64,
            // Steps, as where a workspace is rounded up.
            &|batch| 100 + 64 * (batch as u64).div_ceil(8),
            // Flat at first: something else is the peak.
            &|batch| 5000.max(11 * batch as u64),
        ];
        // Nearly flat, and steep from there on.
        let bent = |batch: usize| match batch {
            0 => 900,
            1..=1981 => 1000,
            batch => 801 + 100 * (batch as u64 - 1980),
        };
        let mut furthest = 0;
        let found = largest_batch(100_000, 900, (1, 1000), |batch| {
            furthest = furthest.max(batch);
            Ok::<_, Infallible>(bent(batch))
        });
        assert_eq!(found, Ok(Some(2971)));
        assert!(furthest < 16 * 2971, "{furthest}");
        for (number, peak) in peaks.iter().enumerate() {
            for budget in [100, 107, 5000, 10_000, 123_457] {
                for batch in [1, 2, 50, 3000] {
                    let (found, traces) = search(budget, batch, peak);
                    let all = (0..).take_while(|&batch| peak(batch) <= budget);
                    let expected = match peak(0) > budget {
                        true => 0,
                        false => all.last().unwrap(),
                    };
                    assert_eq!(found, Some(expected), "{number}: {budget} from {batch}");
                    assert!(traces <= 40, "{number}: {traces} traces");
                }
            }
        }
    }

    #[test]
    fn a_straight_line_takes_few_traces() {
        let (found, traces) = search(1 << 40, 1, |batch| 12_345 + 678_901 * batch as u64);
        assert_eq!(found, Some(1_619_546));
        assert!(traces <= 3, "{traces}");
    }

    #[test]
    fn what_grows_with_nothing_has_no_limit() {
        assert_eq!(search(1000, 1, |_| 1000).0, None);
        assert_eq!(search(999, 1, |_| 1000).0, Some(0));
    }

    #[test]
    fn an_error_of_a_trace_is_passed_on() {
        let found = largest_batch(1000, 0, (1, 10), Err::<u64, usize>);
        assert_eq!(found, Err(100));
    }
}
