//! Training in each precision. Burn fixes the default dtype for the process, so each test runs this
//! program again for each precision, and looks at what it says.

#[path = "../support/mod.rs"]
mod support;

mod masters;
mod model;
mod overflow;
mod refused;
mod rotary;
mod several;
mod statistics;
mod train;

use std::path::Path;
use std::process::Command;

use burn_fabric::prelude::*;

const JOB: &str = "BURN_FABRIC_TEST_PRECISION";
/// What a child says where its device does not compute in the dtype.
const REFUSED: &str = "this device does not compute in it";

/// A Fabric of a precision, or none where the device refuses it, by the right error.
fn fabric(precision: Precision) -> Option<Fabric> {
    fabric_of(precision, |builder| builder)
}

fn fabric_of(
    precision: Precision,
    more: impl FnOnce(burn_fabric::FabricBuilder) -> burn_fabric::FabricBuilder,
) -> Option<Fabric> {
    match more(support::builder().seed(3).precision(precision)).build() {
        Ok(fabric) => Some(fabric),
        Err(FabricError::UnsupportedDType { dtype, .. }) => {
            assert_eq!(dtype, precision.float_dtype());
            println!("{REFUSED}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// In a child: its job, as this test's own.
fn job(test: &str) -> Option<(Precision, String)> {
    let job = std::env::var(JOB).ok()?;
    let [name, precision, rest] = job.split('\n').collect::<Vec<_>>()[..] else {
        panic!("{job}");
    };
    (name == test).then(|| (precision.parse().unwrap(), rest.to_owned()))
}

/// Run `test` of this program in a process of its own, with a precision; what it printed, or none
/// where the device does not compute in it.
fn child(test: &str, precision: Precision, rest: &Path) -> Option<String> {
    let job = format!("{test}\n{precision}\n{}", rest.display());
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env(JOB, job);
    let output = child.output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let text = format!("{out}\n{}", String::from_utf8_lossy(&output.stderr));
    let passed = output.status.success() && out.contains("1 passed");
    assert!(passed, "{precision}: {text}");
    match out.contains(REFUSED) {
        // Flex computes in all of them.
        true => {
            assert_ne!(device_under_test::name(), "flex", "{text}");
            None
        }
        false => Some(out),
    }
}
