//! What ran on each device, and whether that adds up.

use anyhow::{Result, ensure};

use super::TestDevice;

/// What a device cannot do, by the test that shows it. Each is run and has to fail, so that the list
/// tells no more than the truth.
pub const CANNOT: [(TestDevice, &str); 1] = [(TestDevice::Libtorch, "module_deform_conv2d")];

/// How many tests passed on a device, and what it could not do.
#[derive(Debug, Default)]
pub struct Ran {
    pub passed: usize,
    pub cannot: Vec<&'static str>,
}

/// A line for each device.
pub fn table(ran: &[(TestDevice, Ran)]) -> String {
    let lines = ran.iter().map(|(device, ran)| {
        let cannot = match ran.cannot.is_empty() {
            true => String::new(),
            false => format!(
                ", {} it cannot: {}",
                ran.cannot.len(),
                ran.cannot.join(", ")
            ),
        };
        format!(
            "{:<10} {:>4} tests passed{cannot}\n",
            device.name(),
            ran.passed
        )
    });
    lines.collect()
}

/// Every device ran the same tests, or the list says why not.
pub fn compare(ran: &[(TestDevice, Ran)]) -> Result<()> {
    for (device, ran) in ran {
        for (on, name) in CANNOT {
            ensure!(
                on != *device || ran.cannot.contains(&name),
                "{name} is on the list of what {} cannot do, and no program has it",
                device.name()
            );
        }
    }
    let accounted = |ran: &Ran| ran.passed + ran.cannot.len();
    let Some((first, expected)) = ran.first() else {
        return Ok(());
    };
    for (device, ran) in ran {
        ensure!(
            accounted(ran) == accounted(expected),
            "{} accounts for {} tests and {} for {}",
            device.name(),
            accounted(ran),
            first.name(),
            accounted(expected)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(passed: usize, cannot: &[&'static str]) -> Ran {
        Ran {
            passed,
            cannot: cannot.to_vec(),
        }
    }

    #[test]
    fn numbers_of_tests_have_to_agree_but_for_the_list() {
        let [(_, name)] = CANNOT;
        let flex = || (TestDevice::Flex, ran(10, &[]));
        let libtorch =
            |passed, cannot: &[&'static str]| (TestDevice::Libtorch, ran(passed, cannot));
        compare(&[flex(), libtorch(9, &[name])]).unwrap();
        for wrong in [
            libtorch(10, &[name]),
            libtorch(8, &[name]),
            libtorch(10, &[]),
        ] {
            compare(&[flex(), wrong]).unwrap_err();
        }
    }

    #[test]
    fn the_table_tells_what_a_device_cannot() {
        let ran = [
            (TestDevice::Flex, ran(12, &[])),
            (TestDevice::Libtorch, ran(11, &["one"])),
        ];
        let expected = "\
flex         12 tests passed
libtorch     11 tests passed, 1 it cannot: one
";
        assert_eq!(table(&ran), expected);
    }
}
