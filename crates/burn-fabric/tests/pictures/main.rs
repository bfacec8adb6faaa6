//! Pictures of curves and of traces: both formats are whole and name what they show.
#![cfg(feature = "pictures")]

mod curves;
mod files;
mod memory;
#[path = "../plan/model.rs"]
#[allow(dead_code, reason = "shared with the tests of plans")]
mod model;
mod modules;

use std::fs;
use std::path::Path;

/// The SVG at a path without its ending; the PNG beside it is whole and twice its size.
fn svg(stem: &Path) -> String {
    let with = |ending: &str| format!("{}.{ending}", stem.display());
    let svg = fs::read_to_string(with("svg")).expect("the SVG");
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    let png = tiny_skia::Pixmap::load_png(with("png")).expect("a whole PNG");
    let (width, height) = (png.width() / 2, png.height() / 2);
    let size = format!("width=\"{width}\" height=\"{height}\"");
    assert!(svg.contains(&size), "{size}");
    // Not one colour all over.
    let first = png.pixels()[0];
    assert!(png.pixels().iter().any(|pixel| *pixel != first));
    svg
}

/// Whether a text is in the picture.
fn shows(svg: &str, text: &str) -> bool {
    svg.lines().any(|line| line.trim() == text)
}

/// All texts that begin so.
fn texts<'s>(svg: &'s str, start: &str) -> Vec<&'s str> {
    let lines = svg.lines().map(str::trim);
    lines.filter(|line| line.starts_with(start)).collect()
}
