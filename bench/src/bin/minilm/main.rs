//! How long it takes from the start of a process to the first embedding of a sentence, with the real
//! all-MiniLM-L6-v2: the program of examples/minilm, which reads the tokenizer and tokenises too,
//! against PyTorch, which is given the tokens.

mod run;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use burn_fabric_bench::median;
use burn_fabric_bench::peer::python;
use serde::Serialize;
use test_assets::MINILM;

use crate::run::{Run, run};

/// Runs of each, in turn, after one that does not count.
const TURNS: usize = 7;
const VS_TORCH: f64 = 1.0;
/// How far printed similarities may be apart: they have three decimals.
const TOLERANCE: f64 = 0.0011;

/// Sentences, and what the tokenizer makes of them.
const SENTENCES: [(&str, &str); 2] = [
    (
        "Here is a test sentence",
        "[101, 2182, 2003, 1037, 3231, 6251, 102]",
    ),
    ("This is a test", "[101, 2023, 2003, 1037, 3231, 102]"),
];

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    threads: usize,
    torch_threads: f64,
    ours_ms: f64,
    torch_ms: f64,
    vs_torch: f64,
    /// Without starting Python and importing PyTorch.
    torch_imported_ms: f64,
}

fn main() -> Result<ExitCode> {
    let (program, python) = (program()?, python()?);
    let weights = MINILM.fetched()?;
    let ours = |sentences: &[(&str, &str)]| {
        let mut command = Command::new(&program);
        command
            .args(["--device", "flex", "--weights"])
            .arg(&weights);
        command.args(sentences.iter().map(|(sentence, _)| sentence));
        // The table's first row: the number of the sentence, and how alike it is to each.
        let row = move |line: &str| line.starts_with("1  ") && line.contains("1.000");
        run(&mut command, row)
    };
    let torch = |sentences: &[(&str, &str)]| {
        let tokens: Vec<&str> = sentences.iter().map(|(_, tokens)| *tokens).collect();
        let mut command = Command::new(&python);
        command.args(["-c", include_str!("peer.py")]);
        command.arg(weights.join("model.safetensors"));
        command.arg(format!("[{}]", tokens.join(", ")));
        run(&mut command, |_| true)
    };
    same(&ours(&SENTENCES)?, &torch(&SENTENCES)?)?;

    let (mut our_times, mut torch_times, mut imported, mut threads) = (vec![], vec![], vec![], 0.0);
    for turn in 0..=TURNS {
        let (our, their) = (ours(&SENTENCES[..1])?, torch(&SENTENCES[..1])?);
        if turn > 0 {
            our_times.push(our.milliseconds);
            torch_times.push(their.milliseconds);
            imported.push(their.number(0)?);
            threads = their.number(1)?;
        }
    }
    let (ours_ms, torch_ms) = (median(our_times), median(torch_times));
    let report = Report {
        bench: "minilm",
        threads: std::thread::available_parallelism().map_or(1, NonZero::get),
        torch_threads: threads,
        ours_ms,
        torch_ms,
        vs_torch: torch_ms / ours_ms,
        torch_imported_ms: median(imported),
    };
    println!("{}", serde_json::to_string(&report)?);
    if report.vs_torch < VS_TORCH {
        eprintln!("minilm missed: at least {VS_TORCH} times as fast as PyTorch");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// The example, which lies beside this program once it is built.
fn program() -> Result<PathBuf> {
    let this = std::env::current_exe()?;
    let folder = this.parent().unwrap_or(Path::new(""));
    let program = folder.join(format!("minilm{}", std::env::consts::EXE_SUFFIX));
    ensure!(
        program.is_file(),
        "{} is not there: build it with cargo build --release --package minilm",
        program.display()
    );
    Ok(program)
}

/// That both find the two sentences equally alike.
fn same(ours: &Run, torch: &Run) -> Result<()> {
    let [ours, torch] = [ours, torch].map(|run| {
        let last = run.line.split_whitespace().last();
        last.with_context(|| format!("no number in `{}`", run.line))?
            .parse::<f64>()
            .with_context(|| format!("no number at the end of `{}`", run.line))
    });
    let (ours, torch) = (ours?, torch?);
    ensure!(
        (ours - torch).abs() < TOLERANCE,
        "the sentences are alike by {ours}, and by {torch} in PyTorch"
    );
    Ok(())
}
