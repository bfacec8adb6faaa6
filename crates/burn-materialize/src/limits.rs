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
    match DeviceMemory::of(device) {
        Ok(memory) => compare(device, memory, demands),
        Err(message) => vec![Problem::NoDevice {
            device: device.clone(),
            message,
        }],
    }
}

fn compare(device: &Device, memory: DeviceMemory, demands: &[Demand<'_>]) -> Vec<Problem> {
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

    fn problems(total: Option<u64>, largest: Option<u64>) -> Vec<String> {
        let demands = [("a", 100), ("b", 300), ("c", 200)];
        let demands = demands.map(|(path, bytes)| Demand { path, bytes });
        let memory = DeviceMemory { total, largest };
        let problems = compare(&Device::flex(), memory, &demands);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_device_that_says_nothing_refuses_nothing() {
        assert_eq!(problems(None, None), [""; 0]);
    }

    #[test]
    fn exactly_fitting_is_fitting() {
        assert_eq!(problems(Some(600), Some(300)), [""; 0]);
    }

    #[test]
    fn every_tensor_over_the_largest_buffer_is_named() {
        let found = problems(None, Some(199));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].contains("`b`") && found[0].contains("300 B"),
            "{found:?}"
        );
        assert!(found[0].contains("199 B"), "{found:?}");
        assert!(found[1].contains("`c`"), "{found:?}");
    }

    #[test]
    fn all_together_count_against_the_memory() {
        let found = problems(Some(599), None);
        assert_eq!(found.len(), 1, "{found:?}");
        for part in ["3 tensors", "600 B", "599 B", "`b`"] {
            assert!(found[0].contains(part), "{part}: {found:?}");
        }
    }
}
