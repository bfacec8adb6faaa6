//! The command line.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use glob::Pattern;

use crate::convert::rename::Rename;
use crate::human::parse_bytes;
use crate::output::printable;

const AFTER: &str = "\
Files are safetensors, burnpack (.bpk), PyTorch files (.pt, .pth, .bin), an index of shards, or a
folder with one of these. The content tells the format, not the name.

Exit codes: 0, or what the command's own help says; 1 for a file that is bad or not there; 2 for
wrong arguments. Errors are one line on standard error.";

/// Inspect, compare, convert and check files of tensors
#[derive(Debug, Parser)]
#[command(name = "burn-fabric", version, after_help = AFTER)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Inspect(Inspect),
    Diff(Diff),
    Convert(Convert),
    Check(Check),
}

const INSPECT: &str = "\
Examples:
  burn-fabric inspect model.safetensors
  burn-fabric inspect folder --filter '*.bias' --sort bytes --stats
  burn-fabric inspect model.pt --json | jq '.tensors[].name'

JSON: an object of `path`, `format`, `sharded`, `files` (of `path`, `format`, `bytes`, `tensors`),
`tensors` (of `name`, `dtype`, `shape`, `bytes`, `file`, `offset` and, with --stats, `stats` of
`min`, `max`, `mean`, `std`, `non_finite`), `ties` (other name to name) and `metadata`. What a
format does not tell is null, as are the statistics of a dtype that Burn lacks.";

/// List the tensors of a checkpoint
///
/// Reads headers only, so that the size of a checkpoint does not matter; --stats alone reads values.
#[derive(Debug, Args)]
#[command(after_help = INSPECT, verbatim_doc_comment)]
pub struct Inspect {
    /// A file, an index of shards, or a folder of one checkpoint
    pub file: PathBuf,
    /// The order: names by their numbers, the largest first, or as they are in the file
    #[arg(long, value_enum, default_value_t = Sort::Name)]
    pub sort: Sort,
    /// List only names that match; once or more. `*` stands for any letters, dots among them
    #[arg(long, value_name = "GLOB")]
    pub filter: Vec<Pattern>,
    /// Read all values: least, greatest, mean, standard deviation of the finite, count of the others
    #[arg(long)]
    pub stats: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Sort {
    Name,
    Bytes,
    FileOrder,
}

const DIFF: &str = "\
Examples:
  burn-fabric diff before.safetensors after.safetensors
  burn-fabric diff model.pt model.safetensors --tolerance 1e-6
  burn-fabric diff folder other-folder --headers

Exit codes: 0 when they are the same, 1 when they differ (said on standard output) and when a file
is bad (said on standard error), 2 for wrong arguments. Metadata is not compared. A tie counts as a
tensor of each of its names.";

/// Compare two checkpoints: names, shapes, dtypes and values
///
/// Values are the same when their bits are, with a tolerance when they are no further apart. Those of
/// different dtypes are compared as numbers. With a tolerance, and between dtypes, any NaN is the
/// same as any other.
#[derive(Debug, Args)]
#[command(after_help = DIFF, verbatim_doc_comment)]
pub struct Diff {
    /// One checkpoint
    pub a: PathBuf,
    /// The other one
    pub b: PathBuf,
    /// Accept values that are at most so far apart
    #[arg(long, value_name = "X", value_parser = tolerance, allow_negative_numbers = true)]
    pub tolerance: Option<f64>,
    /// Compare headers only: no values are read
    #[arg(long, conflicts_with = "tolerance")]
    pub headers: bool,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number >= 0.0 => Ok(number),
        _ => Err("a tolerance is a number, 0 or more".to_owned()),
    }
}

const CONVERT: &str = "\
Examples:
  burn-fabric convert model.pt model.safetensors
  burn-fabric convert model.safetensors half.safetensors --dtype f16 --max-shard-size 5GB
  burn-fabric convert model.safetensors model.bpk --rename '^model\\.=' --rename 'ln_(\\d)=norm$1'
  burn-fabric convert bert.safetensors bert.bpk --layout pytorch-to-burn --embedding '*_embeddings.*'

Layouts: PyTorch has the weight of a linear layer as [out, in] and calls a norm's parameters `weight`
and `bias`; Burn has [in, out], `gamma` and `beta`. A file has no layers, only names and shapes, so
--layout goes by these: a 2-D `weight` with a `bias` of its outputs' length is a linear layer; one
without is a linear layer or an embedding, which only --embedding or --no-embedding can tell; a 1-D
`weight` with a 1-D `bias` is a norm. Loading into a module with burn-materialize knows the layers and
needs none of this.

Exit codes: 0 when it was written, 1 for a bad file, one that is there already, and values beyond the
new dtype, 2 for wrong arguments, such as names that --rename makes equal. But for 0, nothing that was
there has changed.";

/// Write a checkpoint in another format, dtype or layout, under other names, in other shards
///
/// One tensor is in memory at a time. What is written comes to its place in one step. Metadata and ties
/// go along, ids of parameters between burnpack files.
#[derive(Debug, Args)]
#[command(after_help = CONVERT, verbatim_doc_comment)]
pub struct Convert {
    /// The checkpoint to read
    #[arg(value_name = "IN")]
    pub input: PathBuf,
    /// The file to write; its ending tells the format: .safetensors or .bpk
    #[arg(value_name = "OUT")]
    pub output: PathBuf,
    /// The format, whatever the ending
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Convert floats; integers and bools stay. What changes by it is counted and printed
    #[arg(long, value_enum)]
    pub dtype: Option<Float>,
    /// Write infinities where a finite value is beyond the new dtype
    #[arg(long, requires = "dtype")]
    pub allow_overflow: bool,
    /// Convert the layout of linear layers and the names of norms, as told below
    #[arg(long, value_enum)]
    pub layout: Option<Layout>,
    /// Names of embeddings, which --layout leaves as they are; once or more
    #[arg(long, value_name = "GLOB", requires = "layout")]
    pub embedding: Vec<Pattern>,
    /// There is no embedding
    #[arg(long, requires = "layout", conflicts_with = "embedding")]
    pub no_embedding: bool,
    /// Transpose the 2-D tensors whose names match; once or more
    #[arg(long, value_name = "GLOB")]
    pub transpose: Vec<Pattern>,
    /// Replace what matches in names ($1: its first group); once or more, in order, after --layout
    #[arg(long, value_name = "REGEX=REPLACEMENT", value_parser = Rename::parse)]
    pub rename: Vec<Rename>,
    /// Take only tensors whose names match; once or more. All patterns are of names as IN has them
    #[arg(long, value_name = "GLOB")]
    pub filter: Vec<Pattern>,
    /// Begin another file before one has more bytes of tensors: 5GB, 500MB, 2GiB or a number
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub max_shard_size: Option<u64>,
    /// Replace what is there
    #[arg(long)]
    pub overwrite: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Format {
    Safetensors,
    Burnpack,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Float {
    F64,
    F32,
    F16,
    Bf16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Layout {
    BurnToPytorch,
    PytorchToBurn,
}

const CHECK: &str = "\
Examples:
  burn-fabric check model.safetensors
  burn-fabric check folder --headers

JSON: an object of `path`, `sound`, `files`, `tensors`, `values` (null with --headers) and `findings`
(of `kind`: `structure`, `index`, `tie` or `value`; `tensor`, which may be null; `message`).

Exit codes: 0 when it is sound, 1 when it is not (said on standard output) and when there is no such
file (said on standard error), 2 for wrong arguments.";

/// Tell whether a checkpoint is sound
///
/// Structure of every file, index and shards against each other, ties, and values that are not finite.
#[derive(Debug, Args)]
#[command(after_help = CHECK, verbatim_doc_comment)]
pub struct Check {
    /// A file, an index of shards, or a folder of one checkpoint
    pub file: PathBuf,
    /// Structure only: no values are read
    #[arg(long)]
    pub headers: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Read the command line. What is wrong with it is said in one line.
pub fn parse() -> Result<Command, ExitCode> {
    let error = match Cli::try_parse() {
        Ok(cli) => return Ok(cli.command),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that has seen enough is no error.
            let _ = error.print();
            Err(ExitCode::SUCCESS)
        }
        kind => {
            let _ = writeln!(io::stderr(), "{}", one_line(kind, &error.to_string()));
            Err(ExitCode::from(2))
        }
    }
}

fn one_line(kind: ErrorKind, text: &str) -> String {
    if kind == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "error: no command: inspect, diff, convert or check (--help tells more)".to_owned();
    }
    // The first paragraph says what is wrong; the ones after it repeat the usage.
    let lines = text.lines().map(str::trim);
    let what: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    format!("{} (--help tells more)", printable(&what.join(" ")))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
