//! What pictures have in common: colours, texts, and the two files they end as.

use std::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use tiny_skia::Pixmap;

use super::canvas::{Canvas, Font};

pub const FONT: &str = "DejaVu Sans, Verdana, sans-serif";
pub const TEXT: RGBColor = RGBColor(70, 70, 78);
pub const GRID: RGBColor = RGBColor(228, 228, 232);
pub const AXIS: RGBColor = RGBColor(150, 150, 156);

/// Okabe and Ito's, which people who see fewer colours tell apart as well.
pub const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
];

pub type Failed = Box<dyn Error + Send + Sync>;
pub type Drawn = Result<(), Failed>;
pub type Area<'a> = DrawingArea<Canvas<'a>, Shift>;

/// Both pictures: an SVG, and a PNG of twice its size.
pub struct Picture {
    pub svg: Vec<u8>,
    pub png: Vec<u8>,
}

/// Draw both at once. The size is in pixels, of which two make one of a screen: the SVG says half of
/// it as its size.
pub fn draw(
    (width, height): (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<Picture, Failed> {
    let font = include_bytes!("../../fonts/DejaVuSans-subset.ttf");
    let font = Font::of(font).ok_or("the font is broken")?;
    let mut pixels = Pixmap::new(width, height).ok_or("the picture has no size")?;
    let mut svg = String::new();
    {
        let picture = Canvas::new(&mut svg, &mut pixels, &font).into_drawing_area();
        picture.fill(&WHITE)?;
        draw(&picture)?;
        picture.present()?;
    }
    let whole = format!("<svg width=\"{width}\" height=\"{height}\"");
    let half = format!("<svg width=\"{}\" height=\"{}\"", width / 2, height / 2);
    Ok(Picture {
        svg: svg.replacen(&whole, &half, 1).into_bytes(),
        png: pixels.encode_png()?,
    })
}

/// A text's look, at so many pixels and held at one side; its middle is at the place's height.
pub fn style(size: i32, side: HPos) -> TextStyle<'static> {
    let style = (FONT, size).into_font().color(&TEXT);
    style.pos(Pos::new(side, VPos::Center))
}

/// The width of a text in pixels.
pub fn width(area: &Area<'_>, text: &str, style: &TextStyle<'_>) -> Result<u32, Failed> {
    Ok(area.estimate_text_size(text, style)?.0)
}

/// A text without its middle, where it is wider than `room`.
pub fn shortened(
    area: &Area<'_>,
    text: &str,
    style: &TextStyle<'_>,
    room: u32,
) -> Result<String, Failed> {
    if width(area, text, style)? <= room {
        return Ok(text.to_owned());
    }
    let letters: Vec<char> = text.chars().collect();
    let without = |kept: usize| {
        // The end tells more: a name differs there.
        let head: String = letters[..kept / 2].iter().collect();
        let tail: String = letters[letters.len() - (kept - kept / 2)..]
            .iter()
            .collect();
        format!("{head}…{tail}")
    };
    let (mut fits, mut too_wide) = (0, letters.len());
    while too_wide - fits > 1 {
        let kept = (fits + too_wide) / 2;
        match width(area, &without(kept), style)? <= room {
            true => fits = kept,
            false => too_wide = kept,
        }
    }
    Ok(without(fits))
}
