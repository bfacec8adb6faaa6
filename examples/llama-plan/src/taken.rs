//! What the program itself took.

use std::fmt;
use std::time::{Duration, Instant};

use burn_fabric::burn_materialize::ByteCount;

/// Counts from when it is made.
#[derive(Clone, Copy, Debug)]
pub struct Watch(Instant);

/// What the program took so far.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    time: Duration,
    /// The most that was resident at once; where the system says so.
    memory: Option<ByteCount>,
}

impl Watch {
    /// From now on.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// What was taken until now.
    pub fn taken(self) -> Taken {
        Taken {
            time: self.0.elapsed(),
            memory: peak_resident(),
        }
    }
}

/// As Linux tells it.
fn peak_resident() -> Option<ByteCount> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(ByteCount(kibibytes * 1024))
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in {:.2} s", self.time.as_secs_f64())?;
        match self.memory {
            Some(memory) => write!(f, ", with at most {memory}"),
            None => Ok(()),
        }
    }
}
