//! What a checkpoint costs: the layers of `load` with Adam's state, 3.2 GB in all, until everything
//! is on the disk, and back from the page cache; against `torch.save` and `torch.load`.

mod training;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, ensure};
use burn_fabric::prelude::*;
use burn_fabric_bench::folder::Folder;
use burn_fabric_bench::memory::{peak_resident_bytes, reset_peak};
use burn_fabric_bench::peer::Peer;
use burn_fabric_bench::{median, timed};
use serde::Serialize;
use serde_json::{Value, json};

use crate::training::{BYTES, Training};

/// Runs of each, in turn, after one that does not count.
const TURNS: usize = 3;
/// How many times as fast as PyTorch a save has to be.
const VS_TORCH: f64 = 1.0;
/// Peak resident memory of a process that saves, over the bytes of the state that it holds.
const PEAK: f64 = 1.1;

#[derive(Serialize)]
struct Report {
    bench: &'static str,
    threads: usize,
    torch_threads: f64,
    ours_ms: f64,
    torch_ms: f64,
    ratio: f64,
    peak_over_bytes: f64,
    /// Where the folder has a checkpoint already, which goes when the new one is complete.
    overwrite_ms: f64,
    load_ours_ms: f64,
    load_torch_ms: f64,
    /// Nothing is verified, and of the file only what is read.
    load_torch_mmap_ms: f64,
    load_ratio: f64,
}

fn main() -> Result<ExitCode> {
    let fabric = Fabric::builder()
        .environment([("", ""); 0])
        .accelerator(Accelerator::Flex)
        .seed(1)
        .build()?;
    let mut training = Training::new(&fabric)?;
    training.step(&fabric)?;
    let mut torch = Peer::start(include_str!("peer.py"))?;
    let bytes = ask(&mut torch, json!({"do": "make"}))?;
    ensure!(bytes == BYTES as f64, "PyTorch has {bytes} bytes");

    let files = Files::new()?;
    let saves = saves(&fabric, &training, &mut torch, &files)?;
    // Two states of each would leave the page cache too little memory.
    ask(&mut torch, json!({"do": "drop"}))?;
    let expected = training.pages()?;
    drop(training);
    let loads = loads(&fabric, expected, &mut torch, &files)?;

    let report = Report {
        bench: "save",
        threads: rayon::current_num_threads(),
        torch_threads: ask(&mut torch, json!({"do": "threads"}))?,
        ours_ms: saves.ours,
        torch_ms: saves.torch,
        ratio: saves.torch / saves.ours,
        peak_over_bytes: saves.peak,
        overwrite_ms: saves.overwrite,
        load_ours_ms: loads.ours,
        load_torch_ms: loads.torch,
        load_torch_mmap_ms: loads.torch_mmap,
        load_ratio: loads.torch / loads.ours,
    };
    let goals = [
        (
            report.ratio >= VS_TORCH,
            format!("at least {VS_TORCH} times as fast as PyTorch"),
        ),
        (
            report.peak_over_bytes <= PEAK,
            format!("at most {PEAK} times the bytes of the state at the peak"),
        ),
    ];
    for (_, goal) in goals.iter().filter(|(reached, _)| !reached) {
        eprintln!("save missed: {goal}");
    }
    println!("{}", serde_json::to_string(&report)?);
    Ok(match goals.iter().all(|(reached, _)| *reached) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// One checkpoint of each, 3.2 GB; while ours is overwritten, two.
struct Files {
    folder: Folder,
    ours: PathBuf,
    torch: PathBuf,
}

impl Files {
    fn new() -> Result<Self> {
        let folder = Folder::new("save")?;
        Ok(Self {
            ours: folder.path().join("ours"),
            torch: folder.path().join("torch.pt"),
            folder,
        })
    }

    /// Remove what a save wrote, and wait until the disk has done with it: this is no part of the
    /// save that follows.
    fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = match path.is_dir() {
            true => fs::remove_dir_all(path),
            false => fs::remove_file(path),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        File::open(self.folder.path())?.sync_all()
    }
}

/// Medians in milliseconds, and the highest peak.
struct Saves {
    ours: f64,
    overwrite: f64,
    torch: f64,
    peak: f64,
}

fn saves(fabric: &Fabric, training: &Training, torch: &mut Peer, files: &Files) -> Result<Saves> {
    let save = || {
        let (saved, time) = timed(|| fabric.save(&files.ours, training));
        saved?;
        anyhow::Ok(time.as_secs_f64() * 1e3)
    };
    let mut peak: f64 = 0.0;
    let mut ours = || {
        files.remove(&files.ours)?;
        reset_peak()?;
        let fresh = save()?;
        peak = peak.max(peak_resident_bytes()? / BYTES as f64);
        Ok([fresh, save()?])
    };
    let theirs = || {
        files.remove(&files.torch)?;
        ask(torch, json!({"do": "save", "path": files.torch})).map(|ms| [ms])
    };
    let ([ours, overwrite], [torch]) = in_turn(&mut ours, theirs)?;
    Ok(Saves {
        ours,
        overwrite,
        torch,
        peak,
    })
}

/// Medians in milliseconds.
struct Loads {
    ours: f64,
    torch: f64,
    torch_mmap: f64,
}

/// Each load verifies every byte of ours; of PyTorch's state all pages are read, of ours those of the
/// model.
fn loads(fabric: &Fabric, expected: f64, torch: &mut Peer, files: &Files) -> Result<Loads> {
    let ours = || {
        let mut training = Training::new(fabric)?;
        let (sum, time) = timed(|| {
            fabric.load(&files.ours, &mut training)?;
            training.pages()
        });
        let sum = sum?;
        ensure!(sum == expected, "the values sum to {sum}, not {expected}");
        Ok([time.as_secs_f64() * 1e3])
    };
    let theirs = || {
        let mut load = |mmap: bool| {
            let request = json!({"do": "load", "path": files.torch, "mmap": mmap});
            let ms = ask(torch, request)?;
            ask(torch, json!({"do": "drop"}))?;
            anyhow::Ok(ms)
        };
        Ok([load(false)?, load(true)?])
    };
    let ([ours], [torch, torch_mmap]) = in_turn(ours, theirs)?;
    Ok(Loads {
        ours,
        torch,
        torch_mmap,
    })
}

/// The medians of each of several times, in milliseconds. Each turn begins with the other one than
/// the turn before, since the machine may be slower at one time than at another.
fn in_turn<const N: usize, const M: usize>(
    mut ours: impl FnMut() -> Result<[f64; N]>,
    mut theirs: impl FnMut() -> Result<[f64; M]>,
) -> Result<([f64; N], [f64; M])> {
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for turn in 0..=TURNS {
        let (our, their) = if turn % 2 == 0 {
            let our = ours()?;
            (our, theirs()?)
        } else {
            let their = theirs()?;
            (ours()?, their)
        };
        eprintln!("turn {turn}: ours {our:.0?} ms, PyTorch {their:.0?} ms");
        if turn > 0 {
            our_times.push(our);
            their_times.push(their);
        }
    }
    Ok((medians(&our_times), medians(&their_times)))
}

fn medians<const N: usize>(times: &[[f64; N]]) -> [f64; N] {
    std::array::from_fn(|part| median(times.iter().map(|times| times[part]).collect()))
}

fn ask(torch: &mut Peer, request: Value) -> Result<f64> {
    torch.ask(&request.to_string())
}
