//! The picture of a run.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::Epoch;

const SIZE: (u32, u32) = (1000, 420);
const FONT: &str = "sans-serif";

/// One curve: its name, its colour, a value an epoch.
type Curve<'a> = (&'a str, RGBColor, Vec<f32>);
type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Draw the loss and the accuracies over the epochs into an SVG file.
pub(crate) fn draw(epochs: &[Epoch], path: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
    let of = |value: fn(&Epoch) -> f32| epochs.iter().map(value).collect::<Vec<f32>>();
    let loss = [("training", BLUE, of(|epoch| epoch.loss))];
    let accuracy = [
        ("training", BLUE, of(|epoch| epoch.train_accuracy)),
        ("test", RED, of(|epoch| epoch.test_accuracy)),
    ];
    let highest = of(|epoch| epoch.loss).into_iter().fold(0.01, f32::max);
    let lowest = accuracy
        .iter()
        .flat_map(|(_, _, values)| values)
        .copied()
        .fold(1.0, f32::min);

    let mut svg = String::new();
    {
        let picture = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        picture.fill(&WHITE)?;
        let (left, right) = picture.split_horizontally(SIZE.0 / 2);
        let range = (0.0, 1.05 * highest);
        panel(&left, "loss", range, &loss, SeriesLabelPosition::UpperRight)?;
        let range = ((lowest - 0.02).max(0.0), 1.005);
        panel(
            &right,
            "accuracy",
            range,
            &accuracy,
            SeriesLabelPosition::LowerRight,
        )?;
        picture.present()?;
    }
    Ok(std::fs::write(path, svg)?)
}

fn panel(
    area: &Panel<'_>,
    name: &str,
    (low, high): (f32, f32),
    curves: &[Curve<'_>],
    legend: SeriesLabelPosition,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let epochs = curves.iter().map(|(_, _, values)| values.len()).max();
    // An axis of one epoch would have no length.
    let last = epochs.unwrap_or(0).max(2);
    let mut chart = ChartBuilder::on(area)
        .caption(name, (FONT, 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(1..last, low..high)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .label_style((FONT, 14))
        .axis_desc_style((FONT, 15))
        .x_desc("epoch")
        .y_desc(name)
        .y_label_formatter(&|value| format!("{value:.2}"))
        .draw()?;
    for (label, colour, values) in curves {
        let points = (1..).zip(values.iter().copied());
        let style = ShapeStyle::from(colour).stroke_width(2);
        chart.draw_series(
            points
                .clone()
                .map(|point| Circle::new(point, 2, style.filled())),
        )?;
        chart
            .draw_series(LineSeries::new(points, style))?
            .label(*label)
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
