//! The picture of a run.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

const SIZE: (u32, u32) = (1000, 420);
const FONT: &str = "sans-serif";

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A curve over the epochs.
#[derive(Clone, Debug)]
pub struct Curve {
    name: &'static str,
    colour: RGBColor,
    points: Vec<(f32, f32)>,
}

impl Curve {
    /// Of the training samples: epochs that are over, and a value.
    pub fn training(points: impl IntoIterator<Item = (f32, f32)>) -> Self {
        Self {
            name: "training",
            colour: BLUE,
            points: points.into_iter().collect(),
        }
    }

    /// The same of the samples held out.
    pub fn test(points: impl IntoIterator<Item = (f32, f32)>) -> Self {
        Self {
            name: "test",
            colour: RED,
            points: points.into_iter().collect(),
        }
    }

    fn values(&self) -> impl Iterator<Item = f32> {
        self.points.iter().map(|(_, value)| *value)
    }
}

/// Draw losses and accuracies over the epochs into an SVG file, side by side.
///
/// # Errors
/// Where it cannot be drawn or written.
pub fn draw_curves(
    losses: &[Curve],
    accuracies: &[Curve],
    path: &Path,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let highest = losses.iter().flat_map(Curve::values).fold(0.01, f32::max);
    let lowest = accuracies.iter().flat_map(Curve::values);
    let lowest = lowest.fold(1.0, f32::min);

    let mut svg = String::new();
    {
        let picture = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        picture.fill(&WHITE)?;
        let (left, right) = picture.split_horizontally(SIZE.0 / 2);
        let range = (0.0, 1.05 * highest);
        panel(
            &left,
            "loss",
            range,
            losses,
            SeriesLabelPosition::UpperRight,
        )?;
        let range = ((lowest - 0.02).max(0.0), 1.005);
        let legend = SeriesLabelPosition::LowerRight;
        panel(&right, "accuracy", range, accuracies, legend)?;
        picture.present()?;
    }
    Ok(std::fs::write(path, svg)?)
}

fn panel(
    area: &Area<'_>,
    name: &str,
    (low, high): (f32, f32),
    curves: &[Curve],
    legend: SeriesLabelPosition,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let epochs = || curves.iter().flat_map(|curve| &curve.points);
    let first = epochs().map(|(epoch, _)| *epoch).fold(1.0, f32::min);
    // An axis of one epoch would have no length.
    let last = epochs()
        .map(|(epoch, _)| *epoch)
        .fold(first + 1.0, f32::max);
    let mut chart = ChartBuilder::on(area)
        .caption(name, (FONT, 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(first..last, low..high)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .label_style((FONT, 14))
        .axis_desc_style((FONT, 15))
        .x_desc("epoch")
        .y_desc(name)
        .x_label_formatter(&|epoch| {
            let text = format!("{epoch:.1}");
            text.strip_suffix(".0").unwrap_or(&text).to_owned()
        })
        .y_label_formatter(&|value| format!("{value:.2}"))
        .draw()?;
    for curve in curves {
        let style = ShapeStyle::from(curve.colour).stroke_width(2);
        let points = curve.points.iter().copied();
        chart.draw_series(
            points
                .clone()
                .map(|point| Circle::new(point, 2, style.filled())),
        )?;
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(curve.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    }
    chart
        .configure_series_labels()
        .position(legend)
        .background_style(WHITE)
        .border_style(BLACK)
        .label_font((FONT, 14))
        .draw()?;
    Ok(())
}
