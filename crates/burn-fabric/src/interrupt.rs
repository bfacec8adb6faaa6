//! Ending a run from outside: finish the step, save, leave.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

/// Whether somebody asked this process to end, by Ctrl-C or SIGTERM. The first time it is only noted,
/// so that the loop can finish its step and save; the second time the process ends at once.
///
/// ```
/// use burn_fabric::Interrupt;
///
/// # fn run() -> std::io::Result<std::process::ExitCode> {
/// let interrupt = Interrupt::watch()?;
/// for step in 0..3 {
///     // ... a step ...
///     if interrupt.is_requested() {
///         // ... save ...
///         return Ok(Interrupt::EXIT_CODE.into());
///     }
/// }
/// # Ok(std::process::ExitCode::SUCCESS)
/// # }
/// # assert_eq!(run().unwrap(), std::process::ExitCode::SUCCESS);
/// ```
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// The exit code of a run that was interrupted and has saved: 75, which `sysexits.h` calls
    /// `EX_TEMPFAIL`, to be tried again. A process that was ended at once has 130 after Ctrl-C and 143
    /// after SIGTERM.
    pub const EXIT_CODE: u8 = 75;

    /// Watch for both from now on.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn watch() -> std::io::Result<Self> {
        let requested = Arc::new(AtomicBool::new(false));
        // Not the same: after a request from within, the first signal is still the first.
        let signalled = Arc::new(AtomicBool::new(false));
        for (signal, code) in [(SIGINT, 130), (SIGTERM, 143)] {
            // In this order: the first signal finds the flag down, and raises it.
            register_conditional_shutdown(signal, code, signalled.clone())?;
            register(signal, signalled.clone())?;
            register(signal, requested.clone())?;
        }
        Ok(Self(requested))
    }

    /// Whether the run is to end.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Ask for it from within, as a signal would: a budget of time is used up, say.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
