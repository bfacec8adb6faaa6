//! What is drawn on: an SVG and pixels at once, with texts of one size in both.
//!
//! Plotters would ask the system for fonts, or another crate's choice of its features would decide;
//! here the outlines of a font that comes along are measured and filled.

use std::io;

use plotters::prelude::{DrawingBackend, SVGBackend};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingErrorKind, FontTransform,
};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, Transform,
};
use ttf_parser::{Face, OutlineBuilder};

/// A font whose letters are placed one after another.
pub struct Font {
    face: Face<'static>,
}

impl Font {
    /// Of a TrueType file; none where it is none.
    pub fn of(file: &'static [u8]) -> Option<Self> {
        Some(Self {
            face: Face::parse(file, 0).ok()?,
        })
    }

    /// From the font's units to pixels at `em` pixels a letter's height.
    fn scale(&self, em: f32) -> f32 {
        em / f32::from(self.face.units_per_em())
    }

    /// The width of a text, in pixels.
    pub fn width(&self, text: &str, em: f32) -> f32 {
        let glyphs = text.chars().map(|letter| self.glyph(letter));
        let widths = glyphs.map(|glyph| self.face.glyph_hor_advance(glyph).unwrap_or(0));
        self.scale(em) * widths.map(f32::from).sum::<f32>()
    }

    /// The box that stands for what the font does not have is number 0.
    fn glyph(&self, letter: char) -> ttf_parser::GlyphId {
        self.face.glyph_index(letter).unwrap_or_default()
    }

    /// The outlines of a text that begins at the origin, in pixels.
    fn outlines(&self, text: &str, em: f32) -> Option<Path> {
        let scale = self.scale(em);
        let mut outlines = Outlines {
            path: PathBuilder::new(),
            x: 0.0,
            scale,
        };
        for letter in text.chars() {
            let glyph = self.glyph(letter);
            self.face.outline_glyph(glyph, &mut outlines);
            let width = self.face.glyph_hor_advance(glyph).unwrap_or(0);
            outlines.x += scale * f32::from(width);
        }
        outlines.path.finish()
    }
}

/// Outlines of the font as a path whose y points downwards.
struct Outlines {
    path: PathBuilder,
    x: f32,
    scale: f32,
}

impl Outlines {
    fn point(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + self.scale * x, -self.scale * y)
    }
}

impl OutlineBuilder for Outlines {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.point(x, y);
        self.path.move_to(x, y);
    }
    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.point(x, y);
        self.path.line_to(x, y);
    }
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.point(x1, y1), self.point(x, y));
        self.path.quad_to(x1, y1, x, y);
    }
    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (x1, y1) = self.point(x1, y1);
        let ((x2, y2), (x, y)) = (self.point(x2, y2), self.point(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }
    fn close(&mut self) {
        self.path.close();
    }
}

/// A text without what XML has no place for: line breaks and the like as Rust writes them, `\n`.
fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') {
            true => printable.extend(letter.escape_default()),
            false => printable.push(letter),
        }
    }
    printable
}

/// Pixels a letter's height of a style; Plotters' SVG has the same factor.
fn em(style: &impl BackendTextStyle) -> f32 {
    (style.size() / 1.24) as f32
}

/// Draws into both pictures.
pub struct Canvas<'p> {
    svg: SVGBackend<'p>,
    pixels: &'p mut Pixmap,
    font: &'p Font,
}

impl<'p> Canvas<'p> {
    /// Over `pixels`, whose size the SVG gets as well.
    pub fn new(svg: &'p mut String, pixels: &'p mut Pixmap, font: &'p Font) -> Self {
        let size = (pixels.width(), pixels.height());
        Self {
            svg: SVGBackend::with_string(svg, size),
            pixels,
            font,
        }
    }

    fn stroke(
        &mut self,
        points: impl IntoIterator<Item = BackendCoord>,
        style: &impl BackendStyle,
    ) {
        let Some(path) = path_of(points, false) else {
            return;
        };
        let stroke = Stroke {
            width: style.stroke_width() as f32,
            line_cap: LineCap::Round,
            line_join: LineJoin::Round,
            ..Stroke::default()
        };
        let paint = paint(style.color());
        let identity = Transform::identity();
        self.pixels
            .stroke_path(&path, &paint, &stroke, identity, None);
    }

    fn fill(&mut self, path: Option<Path>, colour: BackendColor, transform: Transform) {
        if let Some(path) = path {
            let rule = FillRule::Winding;
            self.pixels
                .fill_path(&path, &paint(colour), rule, transform, None);
        }
    }
}

fn path_of(points: impl IntoIterator<Item = BackendCoord>, close: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (x, y) in points {
        match path.is_empty() {
            true => path.move_to(x as f32, y as f32),
            false => path.line_to(x as f32, y as f32),
        }
    }
    if close {
        path.close();
    }
    path.finish()
}

fn paint(colour: BackendColor) -> Paint<'static> {
    let mut paint = Paint::default();
    let (r, g, b) = colour.rgb;
    let alpha = (255.0 * colour.alpha).round() as u8;
    paint.set_color(Color::from_rgba8(r, g, b, alpha));
    paint
}

type Drawn = Result<(), DrawingErrorKind<io::Error>>;

impl DrawingBackend for Canvas<'_> {
    type ErrorType = io::Error;

    fn get_size(&self) -> (u32, u32) {
        self.svg.get_size()
    }

    fn ensure_prepared(&mut self) -> Drawn {
        self.svg.ensure_prepared()
    }

    fn present(&mut self) -> Drawn {
        self.svg.present()
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Drawn {
        let square = Rect::from_xywh(x as f32, y as f32, 1.0, 1.0);
        self.fill(
            square.map(PathBuilder::from_rect),
            color,
            Transform::identity(),
        );
        self.svg.draw_pixel((x, y), color)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn {
        self.stroke([from, to], style);
        self.svg.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (left, top): BackendCoord,
        (right, bottom): BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let corners = [(left, top), (right, top), (right, bottom), (left, bottom)];
        // The last pixels belong to it.
        let (past, below) = (right + 1, bottom + 1);
        let filled = [(left, top), (past, top), (past, below), (left, below)];
        match fill {
            true => self.fill(path_of(filled, true), style.color(), Transform::identity()),
            false => self.stroke(corners.into_iter().chain([(left, top)]), style),
        }
        let (first, last) = ((left, top), (right, bottom));
        self.svg.draw_rect(first, last, style, fill)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        let path: Vec<BackendCoord> = path.into_iter().collect();
        self.stroke(path.iter().copied(), style);
        self.svg.draw_path(path, style)
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        // Only filled ones are drawn here.
        let circle = PathBuilder::from_circle(center.0 as f32, center.1 as f32, radius as f32);
        self.fill(circle, style.color(), Transform::identity());
        self.svg.draw_circle(center, radius, style, fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        vert: I,
        style: &S,
    ) -> Drawn {
        let vert: Vec<BackendCoord> = vert.into_iter().collect();
        let path = path_of(vert.iter().copied(), true);
        self.fill(path, style.color(), Transform::identity());
        self.svg.fill_polygon(vert, style)
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        pos: BackendCoord,
    ) -> Drawn {
        let text = &printable(text);
        let em = em(style);
        let x = match style.anchor().h_pos {
            HPos::Left => 0.0,
            HPos::Center => -0.5,
            HPos::Right => -1.0,
        } * self.font.width(text, em);
        // As Plotters' SVG has it; half of the height of an x is a quarter of a letter's and a bit.
        let y = match style.anchor().v_pos {
            VPos::Top => 0.76,
            VPos::Center => 0.27,
            VPos::Bottom => -0.27,
        } * em;
        let (sin, cos) = match style.transform() {
            FontTransform::None => (0.0, 1.0),
            FontTransform::Rotate90 => (1.0, 0.0),
            FontTransform::Rotate180 => (0.0, -1.0),
            FontTransform::Rotate270 => (-1.0, 0.0),
        };
        let rotated = Transform::from_row(cos, sin, -sin, cos, pos.0 as f32, pos.1 as f32);
        let outlines = self.font.outlines(text, em);
        self.fill(outlines, style.color(), rotated.pre_translate(x, y));
        self.svg.draw_text(text, style, pos)
    }

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<io::Error>> {
        let em = em(style);
        let width = self.font.width(&printable(text), em);
        Ok((width.ceil() as u32, em.ceil() as u32))
    }
}
