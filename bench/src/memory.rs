//! The memory that this process really occupies, as the kernel counts it (Linux only).

use anyhow::{Context, Result};

/// Resident memory in MiB.
pub fn resident_mib() -> Result<f64> {
    Ok(status("VmRSS:")? / 1024.0)
}

/// The most that was resident at once since [`reset_peak`], in bytes.
pub fn peak_resident_bytes() -> Result<f64> {
    Ok(status("VmHWM:")? * 1024.0)
}

/// Begin a new peak at what is resident now.
pub fn reset_peak() -> Result<()> {
    std::fs::write("/proc/self/clear_refs", "5").context("/proc/self/clear_refs")
}

/// A field of the process's status, in KiB.
fn status(field: &str) -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line
        .and_then(|line| line.trim().strip_suffix("kB"))
        .with_context(|| format!("no {field}"))?;
    Ok(kib.trim().parse::<f64>()?)
}
