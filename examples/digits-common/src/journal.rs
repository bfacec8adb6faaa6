//! What is seen while a model trains, and what is kept of it.

use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// What one pass through the training samples came to.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// The mean of the batches' losses.
    pub loss: f32,
    /// On the training samples, after the pass.
    pub train_accuracy: f32,
    /// On the samples held out.
    pub test_accuracy: f32,
    /// How long it took.
    pub time: Duration,
}

/// Shows a bar while an epoch runs (on terminals) and prints a line after it.
#[derive(Debug)]
pub struct Journal {
    bar: ProgressBar,
    epochs: Vec<Epoch>,
    losses: Vec<f32>,
    started: Instant,
}

impl Journal {
    /// For `epochs` of so many batches.
    pub fn new(epochs: u32, batches: usize) -> Self {
        println!("epoch    loss   train    test     time");
        let bar = ProgressBar::new(u64::from(epochs) * batches as u64);
        let style = ProgressStyle::with_template("{wide_bar} {percent:>3} %  {eta} left");
        Self {
            bar: bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())),
            epochs: Vec::new(),
            losses: Vec::new(),
            started: Instant::now(),
        }
    }

    /// A batch is done.
    pub fn batch(&mut self, loss: f32) {
        self.losses.push(loss);
        self.bar.inc(1);
    }

    /// An epoch is done.
    pub fn epoch(&mut self, train_accuracy: f32, test_accuracy: f32) {
        let loss = self.losses.iter().sum::<f32>() / self.losses.len() as f32;
        let time = self.started.elapsed();
        self.epochs.push(Epoch {
            loss,
            train_accuracy,
            test_accuracy,
            time,
        });
        let (number, seconds) = (self.epochs.len(), time.as_secs_f32());
        // A bar that no terminal shows would swallow the line, were it printed through the bar.
        self.bar.suspend(|| {
            println!(
                "{number:>5}  {loss:.4}  {train_accuracy:.4}  {test_accuracy:.4}  {seconds:>5.2} s"
            );
        });
        self.losses.clear();
        self.started = Instant::now();
    }

    /// All epochs, once training is over.
    pub fn finish(self) -> Vec<Epoch> {
        self.bar.finish_and_clear();
        self.epochs
    }
}

pub(crate) fn write_csv(epochs: &[Epoch], path: &Path) -> Result<(), csv::Error> {
    let mut file = csv::Writer::from_path(path)?;
    file.write_record([
        "epoch",
        "loss",
        "train_accuracy",
        "test_accuracy",
        "seconds",
    ])?;
    for (epoch, number) in epochs.iter().zip(1u32..) {
        let Epoch {
            loss,
            train_accuracy,
            test_accuracy,
            time,
        } = epoch;
        let seconds = time.as_secs_f32();
        file.serialize((number, loss, train_accuracy, test_accuracy, seconds))?;
    }
    Ok(file.flush()?)
}
