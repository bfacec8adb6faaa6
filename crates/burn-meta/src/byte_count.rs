//! Bytes as people read them.

use std::fmt;

/// A number of bytes; displayed in binary units.
///
/// ```
/// use burn_meta::ByteCount;
///
/// assert_eq!(ByteCount(1023).to_string(), "1023 B");
/// assert_eq!(ByteCount(1536).to_string(), "1.5 KiB");
/// assert_eq!(ByteCount(u64::MAX).to_string(), "16384.0 PiB");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteCount(pub u64);

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        match unit {
            0 => f.pad(&format!("{} B", self.0)),
            _ => f.pad(&format!("{value:.1} {}", UNITS[unit])),
        }
    }
}
