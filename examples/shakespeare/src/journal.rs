//! What is seen while a model trains, and what is kept of it.

use std::f64::consts::LN_2;
use std::time::{Duration, Instant};

use burn_fabric::TrainingProgress;
use serde::{Deserialize, Serialize};

/// What a test came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// After which step.
    pub step: u32,
    /// The mean of the steps' losses since the test before it, in nats a character.
    pub loss: f64,
    /// The mean loss of the windows held out, in nats a character.
    pub test_loss: f64,
    /// How long it took so far, tests included; what lies between an interrupt and a resume does not
    /// count.
    pub time: Duration,
}

/// Prints a line after each test. It serialises between two steps, and [`begin`](Journal::begin)
/// goes on there.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Journal {
    tests: Vec<Tested>,
    /// Of all steps.
    losses: Vec<f64>,
    /// Steps whose gradients were not finite.
    left_out: u32,
    /// Time up to the last step.
    spent: Duration,
    /// Up to when time is counted.
    #[serde(skip)]
    counted: Option<Instant>,
}

impl Journal {
    /// Begin, or go on: tests that are over are shown again.
    pub fn begin(&mut self, progress: &TrainingProgress) {
        progress.println("step    loss  test loss  bits a character  perplexity      time");
        for tested in &self.tests {
            progress.println(line(tested));
        }
        self.counted = Some(Instant::now());
    }

    /// A step is done.
    pub fn step(&mut self, loss: f64, is_left_out: bool) {
        self.losses.push(loss);
        self.left_out += u32::from(is_left_out);
        self.count();
    }

    /// A test is done.
    pub fn tested(&mut self, test_loss: f64, progress: &TrainingProgress) {
        self.count();
        let before = self.tests.last().map_or(0, |tested| tested.step as usize);
        let since = &self.losses[before..];
        let tested = Tested {
            step: self.losses.len() as u32,
            loss: since.iter().sum::<f64>() / since.len() as f64,
            test_loss,
            time: self.spent,
        };
        progress.println(line(&tested));
        self.tests.push(tested);
    }

    /// All tests so far.
    pub fn tests(&self) -> &[Tested] {
        &self.tests
    }

    /// The losses of all steps so far.
    pub fn losses(&self) -> &[f64] {
        &self.losses
    }

    /// How many steps changed nothing, because their gradients were not finite.
    pub fn left_out(&self) -> u32 {
        self.left_out
    }

    fn count(&mut self) {
        let now = Instant::now();
        self.spent += now - self.counted.replace(now).unwrap_or(now);
    }
}

fn line(tested: &Tested) -> String {
    let Tested {
        step,
        loss,
        test_loss,
        time,
    } = tested;
    let (bits, perplexity, seconds) = (test_loss / LN_2, test_loss.exp(), time.as_secs_f64());
    format!(
        "{step:>4}  {loss:.4}  {test_loss:>9.4}  {bits:>16.4}  {perplexity:>10.3}  {seconds:>6.1} s"
    )
}
