//! What both examples can be told: on the command line, and in a file.

use std::fmt;
use std::path::PathBuf;

use burn::optim::AdamWConfig;
use burn::optim::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use test_assets::{FASHION, MissingAsset};

use crate::{Data, IdxError, Samples};

/// What both examples can be told on the command line.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Decides the initial weights, the order of the samples and the dropout [default: 0]
    #[arg(long)]
    pub seed: Option<u64>,
    /// How often to go through the training samples [default: 3]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub epochs: Option<u32>,
    /// Samples of a step [default: 128]
    #[arg(long, value_name = "SAMPLES", value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub batch_size: Option<u32>,
    /// Threads that make batches ahead of the training
    #[arg(long, value_name = "THREADS", default_value_t = 2, value_parser = clap::value_parser!(u16).range(0..=64))]
    pub workers: u16,
    /// A TOML file with a table `training` (epochs, batch_size, rate, weight_decay, dropout) and a
    /// table `fabric`; options win over it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The folder of the four files of Fashion-MNIST
    /// [default: where `cargo xtask assets fashion` puts them]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Train on the first so many samples only: for a first look, and for tests
    #[arg(long, value_name = "SAMPLES", value_parser = clap::value_parser!(u32).range(1..))]
    pub train_samples: Option<u32>,
    /// Test on the first so many samples only
    #[arg(long, value_name = "SAMPLES", value_parser = clap::value_parser!(u32).range(1..))]
    pub test_samples: Option<u32>,
}

/// How to train. A file has it as its table `training`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How often to go through the training samples.
    pub epochs: u32,
    /// Samples of a step.
    pub batch_size: u32,
    /// The learning rate of the first step; it falls to zero along half a cosine.
    pub rate: f64,
    /// The weight decay of AdamW.
    pub weight_decay: f64,
    /// Which part of the features is left out in a training step.
    pub dropout: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            epochs: 3,
            batch_size: 128,
            rate: 3e-3,
            weight_decay: 1e-2,
            dropout: 0.2,
        }
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            epochs,
            batch_size,
            rate,
            weight_decay,
            dropout,
        } = self;
        write!(
            f,
            "epochs {epochs}, batch_size {batch_size}, rate {rate}, weight_decay {weight_decay}, \
             dropout {dropout}"
        )
    }
}

impl Settings {
    fn check(&self) -> Result<(), ConfigError> {
        let checks = [
            ("epochs", f64::from(self.epochs), (1.0, 1e4)),
            ("batch_size", f64::from(self.batch_size), (1.0, 6e4)),
            ("rate", self.rate, (1e-9, 1.0)),
            ("weight_decay", self.weight_decay, (0.0, 1.0)),
            ("dropout", self.dropout, (0.0, 0.95)),
        ];
        for (setting, found, (least, most)) in checks {
            if !(least..=most).contains(&found) {
                return Err(ConfigError::Range {
                    setting,
                    found,
                    least,
                    most,
                });
            }
        }
        Ok(())
    }

    /// The optimizer.
    pub fn optimizer(&self) -> AdamWConfig {
        AdamWConfig::new().with_weight_decay(self.weight_decay as f32)
    }

    /// The learning rates of all steps, where an epoch has so many.
    pub fn schedule(&self, batches: usize) -> CosineAnnealingLrSchedulerConfig {
        let steps = self.epochs as usize * batches;
        CosineAnnealingLrSchedulerConfig::new(self.rate, steps)
    }
}

/// A file of settings; `F` is what the table `fabric` has.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile<F> {
    #[serde(default)]
    fabric: F,
    #[serde(default)]
    training: Settings,
}

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration `{}` cannot be read: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is no TOML, or has what nobody knows.
    #[error("{}: {source}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Where and what.
        source: toml::de::Error,
    },
    /// A setting is out of range.
    #[error("`{setting}` is {found}: give a number from {least} to {most}")]
    Range {
        /// The setting.
        setting: &'static str,
        /// What it is.
        found: f64,
        /// The least it can be.
        least: f64,
        /// The most it can be.
        most: f64,
    },
}

/// Why there is nothing to learn from.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// It was not fetched.
    #[error(transparent)]
    Missing(#[from] MissingAsset),
    /// It is not what it should be.
    #[error(transparent)]
    Idx(#[from] IdxError),
}

impl Options {
    /// What the file says for a Fabric, and how to train by file and command line.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn settings<F: DeserializeOwned + Default>(&self) -> Result<(F, Settings), ConfigError> {
        let file = match &self.config {
            None => ConfigFile::default(),
            Some(path) => {
                let path = path.clone();
                match std::fs::read_to_string(&path) {
                    Ok(text) => toml::from_str(&text)
                        .map_err(|source| ConfigError::Content { path, source })?,
                    Err(source) => return Err(ConfigError::File { path, source }),
                }
            }
        };
        let ConfigFile::<F> {
            fabric,
            mut training,
        } = file;
        training.epochs = self.epochs.unwrap_or(training.epochs);
        training.batch_size = self.batch_size.unwrap_or(training.batch_size);
        training.check()?;
        Ok((fabric, training))
    }

    /// Read the samples.
    ///
    /// # Errors
    /// [`DataError`].
    pub fn read_data(&self) -> Result<Data, DataError> {
        let folder = match &self.data {
            Some(folder) => folder.clone(),
            None => FASHION.fetched()?,
        };
        let keep = |samples: Option<u32>| samples.map(|samples| samples as usize);
        Ok(Data {
            train: Samples::read(&folder, "train", keep(self.train_samples))?,
            test: Samples::read(&folder, "t10k", keep(self.test_samples))?,
        })
    }
}
