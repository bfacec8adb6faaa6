//! The picture of all curves: a panel for each last part of a name.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use tiny_skia::Pixmap;

use super::canvas::{Canvas, Font};
use super::ticks;

/// Values by step, in the order in which they were logged.
pub type Points = Vec<(u64, f64)>;

/// In pixels, of which two make one of a screen: the SVG says half of it as its size.
const PANEL: (u32, u32) = (1040, 680);
const MARGIN: u32 = 24;
/// More panels than a picture shows.
const PANELS: usize = 24;
const FONT: &str = "DejaVu Sans, Verdana, sans-serif";
const TEXT: RGBColor = RGBColor(70, 70, 78);
const GRID: RGBColor = RGBColor(228, 228, 232);

/// Okabe and Ito's, which people who see fewer colours tell apart as well.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
];

type Drawn = Result<(), Box<dyn Error + Send + Sync>>;
type Area<'a> = DrawingArea<Canvas<'a>, Shift>;

/// A curve of a panel.
struct Curve<'c> {
    name: &'c str,
    colour: RGBColor,
    points: &'c Points,
}

/// Both pictures: an SVG, and a PNG of twice its size.
pub struct Picture {
    pub svg: Vec<u8>,
    pub png: Vec<u8>,
}

/// The part of a name that its panel is called by, and what comes before it.
fn split(name: &str) -> (&str, &str) {
    let (group, panel) = name.rsplit_once('/').unwrap_or(("", name));
    (panel, group)
}

/// Draw all curves, by name.
pub fn draw(curves: &BTreeMap<String, Points>) -> Result<Picture, Box<dyn Error + Send + Sync>> {
    // What is before the last part has one colour in all panels.
    let groups: BTreeSet<&str> = curves.keys().map(|name| split(name).1).collect();
    let mut panels: BTreeMap<&str, Vec<Curve<'_>>> = BTreeMap::new();
    for (name, points) in curves {
        let (panel, group) = split(name);
        let place = groups.iter().position(|of| *of == group).unwrap_or(0);
        panels.entry(panel).or_default().push(Curve {
            name,
            colour: COLOURS[place % COLOURS.len()],
            points,
        });
    }
    let hidden = panels.len().saturating_sub(PANELS);
    let shown = panels.len() - hidden;
    let columns = match shown {
        0 | 1 => 1,
        2..=4 => 2,
        _ => 3,
    };
    let rows = shown.div_ceil(columns).max(1);
    let note = if hidden > 0 { 60 } else { 0 };
    let width = PANEL.0 * columns as u32 + 2 * MARGIN;
    let height = PANEL.1 * rows as u32 + 2 * MARGIN + note;

    let font = include_bytes!("../../../fonts/DejaVuSans-subset.ttf");
    let font = Font::of(font).ok_or("the font is broken")?;
    let mut pixels = Pixmap::new(width, height).ok_or("the picture has no size")?;
    let mut svg = String::new();
    {
        let picture = Canvas::new(&mut svg, &mut pixels, &font).into_drawing_area();
        picture.fill(&WHITE)?;
        let inner = picture.margin(MARGIN, MARGIN + note, MARGIN, MARGIN);
        let areas = inner.split_evenly((rows, columns));
        for (area, (name, curves)) in areas.iter().zip(&panels) {
            panel(area, name, curves)?;
        }
        if hidden > 0 {
            let text = format!("and {hidden} more panels, which a picture has no room for");
            let at = (2 * MARGIN as i32, height as i32 - 40);
            picture.draw(&Text::new(text, at, (FONT, 30).into_font().color(&TEXT)))?;
        }
        picture.present()?;
    }
    let whole = format!("<svg width=\"{width}\" height=\"{height}\"");
    let half = format!("<svg width=\"{}\" height=\"{}\"", width / 2, height / 2);
    Ok(Picture {
        svg: svg.replacen(&whole, &half, 1).into_bytes(),
        png: pixels.encode_png()?,
    })
}

fn panel(area: &Area<'_>, name: &str, curves: &[Curve<'_>]) -> Drawn {
    // What a panel of one curve is called says it all.
    let area = match curves {
        [curve] if curve.name == name => area.margin(40, 0, 0, 0),
        _ => legend(area, curves)?,
    };
    let finite = || {
        let points = curves.iter().flat_map(|curve| curve.points);
        points.filter(|(_, value)| value.is_finite())
    };
    let steps = curves.iter().flat_map(|curve| curve.points);
    let steps = steps.map(|(step, _)| *step as f64);
    let steps = ticks::range(steps, 0.0);
    let values = ticks::range(finite().map(|(_, value)| *value), 0.06);
    let style = |size: i32| (FONT, size).into_font().color(&TEXT);
    let (of_steps, of_values) = (ticks::of_steps(&steps), ticks::of_values(&values));
    // Before the labels are drawn, their place has to be wide enough for them.
    let mut longest = 0;
    for tick in RangedCoordf64::from(values.clone()).key_points(6) {
        let (width, _) = area.estimate_text_size(&of_values(&tick), &style(26))?;
        longest = longest.max(width);
    }
    let mut chart = ChartBuilder::on(&area)
        .margin_right(36)
        .margin_top(8)
        .x_label_area_size(76)
        .y_label_area_size(longest + 78)
        .build_cartesian_2d(steps, values)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID.stroke_width(2))
        .axis_style(RGBColor(150, 150, 156).stroke_width(2))
        .label_style(style(26))
        .axis_desc_style(style(28))
        .x_desc("step")
        .y_desc(name)
        .x_labels(6)
        .y_labels(6)
        .x_label_formatter(&of_steps)
        .y_label_formatter(&of_values)
        .draw()?;
    if finite().next().is_none() {
        let (width, height) = area.dim_in_pixel();
        let at = (width as i32 / 2, height as i32 / 2);
        let style = style(30).pos(Pos::new(HPos::Center, VPos::Center));
        area.draw(&Text::new("no finite value", at, style))?;
    }
    for curve in curves {
        let line = curve.colour.stroke_width(4);
        let few = curve.points.len() <= 40;
        for part in ticks::parts(curve.points) {
            // A point between two gaps would not be seen.
            if few || part.len() == 1 {
                let dot = |point| Circle::new(point, 6, curve.colour.filled());
                chart.draw_series(part.iter().copied().map(dot))?;
            }
            chart.draw_series(std::iter::once(PathElement::new(part, line)))?;
        }
    }
    Ok(())
}

/// Draw the names of a panel's curves above it, and return what is left.
fn legend<'a>(
    area: &Area<'a>,
    curves: &[Curve<'_>],
) -> Result<Area<'a>, Box<dyn Error + Send + Sync>> {
    let style = (FONT, 28).into_font().color(&TEXT);
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    let (room, _) = area.dim_in_pixel();
    let (left, row) = (110, 44);
    let (mut x, mut y) = (left, 22);
    for (i, curve) in curves.iter().enumerate() {
        let mut name = curve.name.to_owned();
        while area.estimate_text_size(&name, &style)?.0 + 240 > room && name.chars().count() > 4 {
            // The end tells names apart.
            name = format!("…{}", name.chars().skip(3).collect::<String>());
        }
        let width = area.estimate_text_size(&name, &style)?.0 as i32;
        if x > left && x + width + 60 > room as i32 {
            (x, y) = (left, y + row);
        }
        if y > 5 * row {
            let more = format!("and {} more", curves.len() - i);
            area.draw(&Text::new(more, (x, y), style.clone()))?;
            y += row;
            break;
        }
        let line = [(x, y), (x + 36, y)];
        area.draw(&PathElement::new(line, curve.colour.stroke_width(6)))?;
        area.draw(&Text::new(name, (x + 48, y), style.clone()))?;
        x += width + 84;
    }
    Ok(area.margin(y + 18, 0, 0, 0))
}
