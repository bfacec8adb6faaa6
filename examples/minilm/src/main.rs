//! `cargo run --release -p minilm -- "A sentence" "Another one"`: how alike sentences are.

mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use burn_fabric::prelude::*;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use minilm::{MiniLmError, Tokens, embed, load};
use test_assets::MINILM;

/// Compare sentences by their meaning, with all-MiniLM-L6-v2
#[derive(Debug, Parser)]
struct Arguments {
    /// The sentences to compare
    #[arg(required = true)]
    sentences: Vec<String>,
    /// Where to compute: auto, flex; wgpu, libtorch or cuda in a build with the feature of that name;
    /// also one of several, as in cuda:1 [default: BURN_FABRIC_ACCELERATOR, else auto]
    #[arg(long)]
    device: Option<Accelerator>,
    /// The folder of config.json, model.safetensors, tokenizer.json and sentence_bert_config.json
    /// [default: where `cargo xtask assets minilm` puts them]
    #[arg(long, value_name = "DIR")]
    weights: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // In one line: what lists several problems has one a line.
            let text = error.to_string();
            let lines: Vec<&str> = text.lines().map(str::trim).collect();
            eprintln!("error: {}", lines.join(" "));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), MiniLmError> {
    let folder = match &arguments.weights {
        Some(folder) => folder.clone(),
        None => MINILM.fetched()?,
    };
    let tokens = Tokens::open(&folder)?;
    let mut builder = Fabric::builder();
    if let Some(device) = &arguments.device {
        builder = builder.accelerator(device.clone());
    }
    let fabric = builder.build()?;

    let bar = progress_bar();
    let shown = bar.clone();
    let loaded = load(&fabric, &folder, move |progress| {
        shown.set_length(progress.total);
        shown.set_position(progress.done);
    });
    bar.finish_and_clear();
    let loaded = loaded?;
    if let Some(report) = loaded.model.load_report() {
        println!("{report}");
    }
    let milliseconds = loaded.time.as_secs_f64() * 1e3;
    println!(
        "in {milliseconds:.1} ms, on {:?}\n",
        fabric.inference_device()
    );

    for (sentence, number) in arguments.sentences.iter().zip(1..) {
        if tokens.cuts(sentence)? {
            let longest = tokens.longest();
            eprintln!("sentence {number} is longer than {longest} tokens; the rest does not count");
        }
    }
    let embeddings = embed(&fabric, &loaded.model, &tokens, &arguments.sentences)?;
    let alike = embeddings.clone().matmul(embeddings.transpose());
    let alike: Vec<f32> = alike.into_data().iter().collect();
    print!("{}", table::draw(&arguments.sentences, &alike));
    Ok(())
}

/// Only terminals show it.
fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {binary_bytes} of {binary_total_bytes}");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
