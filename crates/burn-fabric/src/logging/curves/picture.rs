//! The picture of all curves: a panel for each last part of a name.

use std::collections::{BTreeMap, BTreeSet};

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::pictures::page::{self, AXIS, Area, COLOURS, Drawn, FONT, Failed, GRID, Picture, TEXT};
use crate::pictures::ticks;

/// Values by step, in the order in which they were logged.
pub type Points = Vec<(u64, f64)>;

/// In pixels of the PNG.
const PANEL: (u32, u32) = (1040, 680);
const MARGIN: u32 = 24;
/// More panels than a picture shows.
const PANELS: usize = 24;

/// A curve of a panel.
struct Curve<'c> {
    name: &'c str,
    colour: RGBColor,
    points: &'c Points,
}

/// The part of a name that its panel is called by, and what comes before it.
fn split(name: &str) -> (&str, &str) {
    let (group, panel) = name.rsplit_once('/').unwrap_or(("", name));
    (panel, group)
}

/// Draw all curves, by name.
pub fn draw(curves: &BTreeMap<String, Points>) -> Result<Picture, Failed> {
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

    page::draw((width, height), |picture| {
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
        Ok(())
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
        .axis_style(AXIS.stroke_width(2))
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
fn legend<'a>(area: &Area<'a>, curves: &[Curve<'_>]) -> Result<Area<'a>, Failed> {
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
