//! A bar on a terminal, and nothing elsewhere.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

/// Counts bytes. It goes when it is dropped.
#[derive(Clone)]
pub struct Bar(ProgressBar);

impl Bar {
    pub fn new(bytes: u64) -> Self {
        let target = match stderr().is_terminal() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(bytes), target)
            .with_finish(ProgressFinish::AndClear);
        let style = "{bar:40} {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, \
                     {eta} left";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub fn add(&self, bytes: u64) {
        self.0.inc(bytes);
    }

    /// Take it off the terminal, before anything else is printed.
    pub fn clear(&self) {
        self.0.finish_and_clear();
    }

    /// Print while it is there.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.0.suspend(print)
    }
}
