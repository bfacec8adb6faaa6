//! How far a loop is, on a terminal.

use std::io::Write;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line that shows how far a training is: a bar, steps a second, the time left, the last loss.
/// [`Fabric::progress`](crate::Fabric::progress) makes one.
///
/// It is on stderr, and only where that is a terminal. Dropping it takes the line away.
///
/// ```
/// use burn_fabric::prelude::*;
///
/// let fabric = Fabric::builder().build()?;
/// let progress = fabric.progress(3);
/// for step in 0..3 {
///     progress.step(0.5);
/// }
/// progress.println("an epoch is done"); // on stdout, terminal or not
/// progress.finish();
/// # Ok::<(), FabricError>(())
/// ```
#[derive(Debug)]
pub struct TrainingProgress {
    pub(super) bar: ProgressBar,
}

impl TrainingProgress {
    pub(super) fn new(total: Option<u64>) -> Self {
        Self::on(ProgressDrawTarget::stderr(), total)
    }

    pub(super) fn on(target: ProgressDrawTarget, total: Option<u64>) -> Self {
        let template = match total {
            Some(_) => "{wide_bar} {pos}/{len}  {per_sec}  {eta} left  {prefix}{msg}",
            None => "{spinner} {pos} steps  {per_sec}  {elapsed}  {prefix}{msg}",
        };
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(total, target).with_style(style);
        Self { bar }
    }

    /// A step is done, with this loss.
    pub fn step(&self, loss: impl Into<f64>) {
        self.bar.set_prefix(format!("loss {:.4}", loss.into()));
        self.bar.inc(1);
    }

    /// So many steps more are done, of no loss that is known.
    pub fn inc(&self, steps: u64) {
        self.bar.inc(steps);
    }

    /// An earlier process did so many steps, of which a checkpoint was loaded: the loop goes on from
    /// there, and they count for neither the steps a second nor the time left.
    ///
    /// ```
    /// use burn_fabric::prelude::*;
    ///
    /// let fabric = Fabric::builder().build()?;
    /// let progress = fabric.progress(100);
    /// let done = 40; // of the checkpoint
    /// progress.resume_at(done);
    /// for step in done..100 {
    ///     progress.step(0.5);
    /// }
    /// # Ok::<(), FabricError>(())
    /// ```
    pub fn resume_at(&self, steps: u64) {
        self.bar.set_position(steps);
        // The estimate takes note of the position, and then only forgets when it was.
        self.bar.tick();
        self.bar.reset_eta();
    }

    /// Show a text behind the loss.
    pub fn message(&self, text: impl AsRef<str>) {
        self.bar.set_message(format!("  {}", text.as_ref()));
    }

    /// Print a line on stdout; the progress moves below it.
    pub fn println(&self, line: impl AsRef<str>) {
        // A bar that no terminal shows would swallow the line, were it printed through the bar.
        self.bar.suspend(|| {
            // A pipe that is closed is no reason to end a run, as `println!` would.
            let _ = writeln!(std::io::stdout(), "{}", line.as_ref());
        });
    }

    /// Take the line away.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for TrainingProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    fn shown(total: Option<u64>) -> (InMemoryTerm, TrainingProgress) {
        let terminal = InMemoryTerm::new(5, 80);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        (terminal, TrainingProgress::on(target, total))
    }

    #[test]
    fn a_terminal_shows_count_rate_time_left_and_loss() {
        let (terminal, progress) = shown(Some(4));
        progress.step(0.5f32);
        progress.message("epoch 1");
        progress.bar.tick();
        let line = terminal.contents();
        for part in ["1/4", "/s", " left", "loss 0.5000  epoch 1"] {
            assert!(line.contains(part), "no {part} in {line:?}");
        }
        progress.finish();
        assert_eq!(terminal.contents(), "");
    }

    #[test]
    fn steps_of_an_earlier_process_count_for_no_rate() {
        let before = 1_000_000_000_000_000;
        let (terminal, progress) = shown(Some(before + 10));
        progress.resume_at(before);
        progress.step(0.5);
        progress.bar.tick();
        let line = terminal.contents();
        assert!(
            line.contains("1000000000000001/1000000000000010"),
            "{line:?}"
        );
        // One step in more than a picosecond; with those before it is more, unless that takes hours.
        let rate = progress.bar.per_sec();
        assert!(rate < 1e12, "{rate}");
        // Back to an earlier checkpoint.
        progress.resume_at(7);
        assert_eq!(progress.bar.position(), 7);
        assert!(progress.bar.per_sec() < 1e12);
    }

    #[test]
    fn a_loop_without_an_end_has_no_time_left() {
        let (terminal, progress) = shown(None);
        progress.inc(7);
        progress.bar.tick();
        let line = terminal.contents();
        assert!(line.contains("7 steps"), "{line:?}");
        assert!(!line.contains("left"), "{line:?}");
    }
}
