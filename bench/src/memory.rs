//! The memory that this process really occupies.

use anyhow::{Context, Result};

/// Resident memory in MiB, as the kernel counts it (Linux only).
pub fn resident_mib() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line
        .and_then(|line| line.trim().strip_suffix("kB"))
        .context("no VmRSS")?;
    Ok(kib.trim().parse::<f64>()? / 1024.0)
}
