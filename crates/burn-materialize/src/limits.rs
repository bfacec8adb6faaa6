//! What a device cannot hold, found before anything is allocated.

use burn::tensor::Device;
use burn_meta::DeviceMemory;

use crate::error::Problem;

/// A tensor that will be allocated.
pub(crate) struct Demand<'p> {
    pub(crate) path: &'p str,
    pub(crate) bytes: u64,
}

/// The demands that `device` cannot meet: each against its largest buffer, all together against
/// its memory, where it says what these are.
pub(crate) fn exceeded(device: &Device, demands: &[Demand<'_>]) -> Vec<Problem> {
    compare(device, DeviceMemory::of(device), demands)
}

fn compare(
    device: &Device,
    memory: Result<DeviceMemory, String>,
    demands: &[Demand<'_>],
) -> Vec<Problem> {
    let memory = match memory {
        Ok(memory) => memory,
        Err(message) => {
            let device = device.clone();
            return vec![Problem::NoDevice { device, message }];
        }
    };
    let too_large = memory.largest.into_iter().flat_map(|largest| {
        let too_large = demands.iter().filter(move |demand| demand.bytes > largest);
        too_large.map(move |demand| Problem::TensorTooLarge {
            path: demand.path.to_owned(),
            bytes: demand.bytes,
            largest,
            device: device.clone(),
        })
    });
    let mut problems: Vec<Problem> = too_large.collect();
    let bytes = demands
        .iter()
        .fold(0, |sum: u64, demand| sum.saturating_add(demand.bytes));
    if let Some(memory) = memory.total.filter(|total| bytes > *total) {
        let largest = demands.iter().max_by_key(|demand| demand.bytes);
        problems.push(Problem::ModuleTooLarge {
            tensors: demands.len(),
            bytes,
            memory,
            device: device.clone(),
            largest: largest.map_or_else(String::new, |demand| demand.path.to_owned()),
        });
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(total: Option<u64>, largest: Option<u64>) -> Vec<Problem> {
        let demands = [("a", 100), ("b", 300), ("c", 200)];
        let demands = demands.map(|(path, bytes)| Demand { path, bytes });
        compare(
            &Device::flex(),
            Ok(DeviceMemory { total, largest }),
            &demands,
        )
    }

    fn says(problem: &Problem, parts: &[&str]) {
        let text = problem.to_string();
        for part in parts {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_device_that_says_nothing_refuses_nothing() {
        assert!(problems(None, None).is_empty());
    }

    #[test]
    fn exactly_fitting_is_fitting() {
        assert!(problems(Some(600), Some(300)).is_empty());
    }

    #[test]
    fn every_tensor_over_the_largest_buffer_is_named() {
        let found = problems(None, Some(199));
        assert!(
            matches!(
                &found[..],
                [
                    Problem::TensorTooLarge { path: first, bytes: 300, largest: 199, .. },
                    Problem::TensorTooLarge { path: second, .. },
                ] if first == "b" && second == "c"
            ),
            "{found:?}"
        );
        says(&found[0], &["`b`", "300 B", "199 B"]);
    }

    #[test]
    fn all_together_count_against_the_memory() {
        let found = problems(Some(599), None);
        assert!(
            matches!(
                &found[..],
                [Problem::ModuleTooLarge {
                    tensors: 3,
                    bytes: 600,
                    ..
                }]
            ),
            "{found:?}"
        );
        says(&found[0], &["3 tensors", "600 B", "599 B", "`b`"]);
    }

    #[test]
    fn a_device_that_cannot_be_opened_is_told() {
        let found = compare(&Device::flex(), Err("no driver".to_owned()), &[]);
        assert!(
            matches!(&found[..], [Problem::NoDevice { .. }]),
            "{found:?}"
        );
        says(&found[0], &["cannot be opened", "no driver"]);
    }
}
