//! Draws the pictures of docs/pictures into the folder it is given: the curves of a short run, the
//! summary of its model, the line that shows how far it is. `cargo xtask pictures` runs it.

#[allow(dead_code, reason = "the pictures of curves use all of it")]
#[path = "../src/pictures/canvas.rs"]
mod canvas;
// Its numbers are a clock's, and here the same each time.
#[allow(dead_code, reason = "only the line is drawn")]
#[path = "../src/logging/progress.rs"]
mod progress;

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use burn::nn::{Linear, LinearConfig};
use burn::optim::AdamWConfig;
use burn::prelude::*;
use burn_fabric::CurvesLogger;
use burn_fabric::prelude::*;
use indicatif::{InMemoryTerm, ProgressDrawTarget, ProgressState};
use plotters::prelude::{IntoDrawingArea, IntoFont, RGBColor, Text};
use tiny_skia::Pixmap;

type Done = Result<(), Box<dyn Error + Send + Sync>>;

const STEPS: u64 = 300;

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Net {
    input: Linear,
    hidden: Linear,
    output: Linear,
}

impl Net {
    fn new(device: &Device) -> Self {
        Self {
            input: LinearConfig::new(1, 32).init(device),
            hidden: LinearConfig::new(32, 32).init(device),
            output: LinearConfig::new(32, 1).init(device),
        }
    }

    /// Of guesses at a wave: the mean of the squares, and how many are near.
    fn measure(&self, x: Tensor<2>) -> (Tensor<1>, Tensor<1>) {
        let wave = (x.clone() * 6.0).sin();
        let hidden = self.hidden.forward(self.input.forward(x).tanh()).tanh();
        let off = self.output.forward(hidden) - wave;
        let near = off.clone().abs().lower_elem(0.1).float().mean();
        (off.powi_scalar(2).mean(), near)
    }
}

fn main() -> Done {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or("name the folder to draw into")?;
    std::fs::create_dir_all(&folder)?;
    let fabric = Fabric::builder()
        .accelerator(Accelerator::Flex)
        .seed(42)
        .build()?;
    let meta = fabric.init_module(Net::new)?;
    terminal(&meta.summary().to_string(), &folder.join("summary"))?;
    train(&fabric, meta, &folder.join("curves"))?;
    terminal(&progress()?, &folder.join("progress"))
}

/// Points from -1 to 1 that are no others' at each step.
fn batch(step: u64, device: &Device) -> Tensor<2> {
    let place = |i: u64| (step * 64 + i) as f64 * 0.618_033_988_75 % 1.0;
    let points: Vec<f32> = (0..64).map(|i| (2.0 * place(i) - 1.0) as f32).collect();
    Tensor::<1>::from_floats(points.as_slice(), device).reshape([64, 1])
}

fn train(fabric: &Fabric, meta: Meta<Net>, stem: &Path) -> Done {
    let folder = tempfile::tempdir()?;
    let mut loggers = Loggers::new().with(CurvesLogger::at(folder.path().join("curves")));
    let mut model = fabric.setup(meta)?;
    let mut optimizer = fabric.setup_optimizer(&model, AdamWConfig::new())?;
    for step in 0..STEPS {
        let (loss, near) = model.measure(batch(step, fabric.device()));
        let done = step as f64 / STEPS as f64;
        let rate = 5e-3 * (1.0 + (std::f64::consts::PI * done).cos());
        let value = loss.clone().into_scalar::<f32>();
        loggers.log(
            step,
            [
                ("train/loss", value),
                ("train/accuracy", near.into_scalar()),
            ],
        );
        if step % 15 == 14 {
            let [loss, near] = fabric.evaluate(&model, |model, device| {
                let (loss, near) = model.measure(batch(STEPS, device));
                [loss.into_scalar::<f32>(), near.into_scalar::<f32>()]
            })?;
            loggers.log(step, [("valid/loss", loss), ("valid/accuracy", near)]);
        }
        let gradients = fabric.backward(loss, &model)?;
        optimizer.step(rate, &mut model, gradients)?;
    }
    loggers.flush();
    if let Some(problem) = loggers.problems().first() {
        return Err(problem.to_string().into());
    }
    for ending in ["svg", "png"] {
        let drawn = folder.path().join("curves").with_extension(ending);
        std::fs::copy(drawn, stem.with_extension(ending))?;
    }
    Ok(())
}

/// What a terminal shows in the middle of a run.
fn progress() -> Result<String, Box<dyn Error + Send + Sync>> {
    let terminal = InMemoryTerm::new(4, 92);
    let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
    let progress = progress::TrainingProgress::on(target, Some(1875));
    let style = progress.bar.style();
    let style = style.with_key("per_sec", |_: &ProgressState, text: &mut dyn Write| {
        let _ = text.write_str("241.3/s");
    });
    let style = style.with_key("eta", |_: &ProgressState, text: &mut dyn Write| {
        let _ = text.write_str("3s");
    });
    progress.bar.set_style(style);
    progress.inc(1151);
    progress.message("epoch 3 of 5");
    progress.step(0.3127);
    progress.bar.tick();
    let shown = terminal.contents();
    Ok(format!(
        "epoch 1  loss 0.5214  accuracy 0.8479\nepoch 2  loss 0.3702  accuracy 0.8655\n{shown}"
    ))
}

/// Draw a text as a terminal shows it.
fn terminal(text: &str, stem: &Path) -> Done {
    let font = include_bytes!("../fonts/DejaVuSansMono-subset.ttf");
    let font = canvas::Font::of(font).ok_or("the font is broken")?;
    let em = 26.0;
    let (cell, row, margin) = (font.width(" ", em), 38, 36);
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let width = lines
        .iter()
        .map(|line| line.chars().count())
        .max()
        .unwrap_or(0);
    let width = (width as f32 * cell).ceil() as u32 + 2 * margin;
    let height = row * lines.len() as u32 + 2 * margin;
    let mut pixels = Pixmap::new(width, height).ok_or("nothing to draw")?;
    let mut svg = String::new();
    {
        let picture = canvas::Canvas::new(&mut svg, &mut pixels, &font).into_drawing_area();
        picture.fill(&RGBColor(30, 32, 40))?;
        let family = "DejaVu Sans Mono, Menlo, Consolas, monospace";
        let style = (family, f64::from(em) * 1.24).into_font();
        let style = style.color(&RGBColor(222, 224, 230));
        for (i, line) in lines.iter().enumerate() {
            // Word by word, each in its column: a viewer's font may have another width.
            for (column, word) in words(line) {
                let x = margin as f32 + column as f32 * cell;
                let y = margin + row * i as u32;
                picture.draw(&Text::new(word, (x.round() as i32, y as i32), &style))?;
            }
        }
        picture.present()?;
    }
    let whole = format!("<svg width=\"{width}\" height=\"{height}\"");
    let half = format!("<svg width=\"{}\" height=\"{}\"", width / 2, height / 2);
    std::fs::write(stem.with_extension("svg"), svg.replacen(&whole, &half, 1))?;
    std::fs::write(stem.with_extension("png"), pixels.encode_png()?)?;
    Ok(())
}

/// The words of a line with their columns.
fn words(line: &str) -> Vec<(usize, String)> {
    let mut words: Vec<(usize, String)> = Vec::new();
    let mut inside = false;
    for (column, letter) in line.chars().enumerate() {
        match words.last_mut() {
            _ if letter == ' ' => inside = false,
            Some((_, word)) if inside => word.push(letter),
            _ => {
                words.push((column, letter.to_string()));
                inside = true;
            }
        }
    }
    words
}
