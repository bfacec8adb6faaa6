//! What is seen while a model trains, and what is kept of it.

use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use run_common::{Curve, draw_curves};
use serde::{Deserialize, Serialize};

use crate::Score;

/// Points of the training loss in the picture, for each epoch.
const POINTS: usize = 10;

/// What one pass through the training samples came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Epoch {
    /// The mean of the batches' losses.
    pub loss: f32,
    /// The means of the parts of the pass, for the picture.
    pub parts: Vec<f32>,
    /// The mean loss of the test samples, after the pass.
    pub test_loss: f32,
    /// Which part of the test samples was told right.
    pub test_accuracy: f32,
    /// How long it took, test included; what lies between an interrupt and a resume does not count.
    pub time: Duration,
}

/// Shows a bar while an epoch runs (on terminals) and prints a line after it. It serialises in the
/// middle of an epoch, and [`begin`](Journal::begin) goes on there.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Journal {
    epochs: Vec<Epoch>,
    /// Of the batches since the last epoch.
    losses: Vec<f32>,
    /// Time since the last epoch, up to the last batch.
    spent: Duration,
    #[serde(skip)]
    shown: Shown,
}

#[derive(Debug)]
struct Shown {
    bar: ProgressBar,
    /// Up to when time is counted.
    counted: Instant,
}

impl Default for Shown {
    fn default() -> Self {
        Self {
            bar: ProgressBar::hidden(),
            counted: Instant::now(),
        }
    }
}

impl Journal {
    /// Begin, or go on, with `epochs` of so many batches: epochs that are over are shown again.
    pub fn begin(&mut self, epochs: u32, batches: usize) {
        println!("epoch    loss  test loss  test accuracy      time");
        for (epoch, number) in self.epochs.iter().zip(1..) {
            println!("{}", line(number, epoch));
        }
        let done = self.epochs.len() * batches + self.losses.len();
        let bar = ProgressBar::new(u64::from(epochs) * batches as u64).with_position(done as u64);
        let style = ProgressStyle::with_template("{wide_bar} {percent:>3} %  {eta} left");
        self.shown.bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        self.shown.bar.reset_eta();
        self.shown.counted = Instant::now();
    }

    /// A batch is done.
    pub fn batch(&mut self, loss: f32) {
        self.losses.push(loss);
        self.count();
        self.shown.bar.inc(1);
    }

    /// An epoch is done.
    pub fn epoch(&mut self, test: &Score) {
        self.count();
        let losses = std::mem::take(&mut self.losses);
        let part = losses.len().div_ceil(POINTS).max(1);
        let epoch = Epoch {
            loss: mean(&losses),
            parts: losses.chunks(part).map(mean).collect(),
            test_loss: test.loss(),
            test_accuracy: test.accuracy(),
            time: std::mem::take(&mut self.spent),
        };
        let line = line(self.epochs.len() + 1, &epoch);
        self.epochs.push(epoch);
        // A bar that no terminal shows would swallow the line, were it printed through the bar.
        self.shown.bar.suspend(|| println!("{line}"));
    }

    /// Take the bar away: training is over, or is to go on another time.
    pub fn end(&self) {
        self.shown.bar.finish_and_clear();
    }

    /// All epochs that are over.
    pub fn epochs(&self) -> &[Epoch] {
        &self.epochs
    }

    fn count(&mut self) {
        let now = Instant::now();
        self.spent += now - self.shown.counted;
        self.shown.counted = now;
    }
}

fn mean(losses: &[f32]) -> f32 {
    losses.iter().sum::<f32>() / losses.len() as f32
}

fn line(number: usize, epoch: &Epoch) -> String {
    let Epoch {
        loss,
        test_loss,
        test_accuracy,
        time,
        ..
    } = epoch;
    let seconds = time.as_secs_f32();
    format!("{number:>5}  {loss:.4}  {test_loss:>9.4}  {test_accuracy:>13.4}  {seconds:>6.1} s")
}

pub(crate) fn write_csv(epochs: &[Epoch], path: &Path) -> Result<(), csv::Error> {
    let mut file = csv::Writer::from_path(path)?;
    file.write_record(["epoch", "loss", "test_loss", "test_accuracy", "seconds"])?;
    for (epoch, number) in epochs.iter().zip(1u32..) {
        let Epoch {
            loss,
            test_loss,
            test_accuracy,
            time,
            ..
        } = epoch;
        let seconds = time.as_secs_f32();
        file.serialize((number, loss, test_loss, test_accuracy, seconds))?;
    }
    Ok(file.flush()?)
}

pub(crate) fn draw(
    epochs: &[Epoch],
    path: &Path,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let numbered = || epochs.iter().zip(0_u16..);
    // In the middle of each part; the test comes at the end of its epoch.
    let training = numbered().flat_map(|(epoch, before)| {
        let width = 1.0 / epoch.parts.len() as f32;
        let parts = epoch.parts.iter().zip(0_u16..);
        parts.map(move |(loss, part)| (f32::from(before) + (f32::from(part) + 0.5) * width, *loss))
    });
    let test = |value: fn(&Epoch) -> f32| {
        Curve::test(numbered().map(move |(epoch, before)| (f32::from(before) + 1.0, value(epoch))))
    };
    draw_curves(
        &[Curve::training(training), test(|epoch| epoch.test_loss)],
        &[test(|epoch| epoch.test_accuracy)],
        path,
    )
}
