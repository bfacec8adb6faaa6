//! The command line.

/// What both examples can be told.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Decides the initial weights, what is held out, and the order of the samples
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// How often to go through the training samples
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub epochs: u32,
}
