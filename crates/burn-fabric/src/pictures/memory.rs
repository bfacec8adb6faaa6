//! Live memory over a traced pass.

mod curve;

use std::path::Path;

use burn_materialize::{ByteCount, Phase, Trace};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use self::curve::{Unit, corners, kept};
use super::PictureError;
use super::page::{
    self, AXIS, Area, COLOURS, Drawn, FONT, Failed, GRID, Picture, TEXT, shortened, style, width,
};
use super::ticks;
use crate::plan::Plan;

/// In pixels of the PNG.
const SIZE: (u32, u32) = (2080, 1040);
const MARGIN: i32 = 48;
const BUDGET: RGBColor = RGBColor(190, 30, 45);

/// A picture of what is allocated while a traced pass runs: bytes over operations.
///
/// At the bottom what is there all the time: the module's parameters and buffers, and what
/// [`base`](MemoryPicture::base) adds. On top of it the most that is allocated during each operation:
/// activations, and in a backward pass the gradients that are there by then. A line divides forward
/// from backward, a dot marks the peak with its bytes and its module. Of more operations than a
/// picture has columns the most of each column is shown.
///
/// [`of_plan`](MemoryPicture::of_plan) shows a whole step of training against the plan's budget.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::Tensor;
/// use burn_fabric::MemoryPicture;
/// use burn_fabric::prelude::*;
///
/// let meta = Meta::build(|device| LinearConfig::new(512, 10).init(device))?;
/// let trace = meta.trace_training(|linear, device| {
///     linear.forward(Tensor::<2>::zeros([32, 512], device)).powi_scalar(2).mean()
/// })?;
/// let folder = tempfile::tempdir()?;
/// MemoryPicture::of(&trace)
///     .title("a linear layer, batch 32")
///     .base("Adam's moments", 2 * trace.memory.parameters)
///     .budget(1 << 20)
///     .write(folder.path().join("memory.svg"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemoryPicture<'t> {
    trace: &'t Trace,
    title: String,
    bases: Vec<(String, u64)>,
    budget: Option<u64>,
    /// Parameters and buffers.
    own: [u64; 2],
    /// Gradients of earlier batches, which are there during the whole pass.
    earlier: u64,
    /// The most that the optimizer's step takes, drawn behind the pass.
    step: Option<u64>,
}

/// What lies below the curve all the time, with its colour.
struct Base {
    name: String,
    bytes: u64,
    colour: RGBColor,
}

impl<'t> MemoryPicture<'t> {
    /// Of a trace.
    pub fn of(trace: &'t Trace) -> Self {
        Self {
            trace,
            title: String::new(),
            bases: Vec::new(),
            budget: None,
            own: [trace.memory.parameters, trace.memory.buffers],
            earlier: 0,
            step: None,
        }
    }

    /// Of a plan: the pass that was traced, and behind it the optimizer's step at its most, on top of
    /// parameters, optimizer state and master weights, against the budget. What is marked as the
    /// peak is the plan's.
    ///
    /// ```
    /// use burn::nn::{Linear, LinearConfig};
    /// use burn::optim::AdamWConfig;
    /// use burn::tensor::Tensor;
    /// use burn_fabric::prelude::*;
    /// use burn_fabric::{MemoryPicture, Plan};
    ///
    /// let meta = Meta::build(|device| LinearConfig::new(512, 10).init(device))?;
    /// let request = Plan::of(&meta).budget(1 << 20).batch(32);
    /// let plan = request.training(AdamWConfig::new(), |linear: &Linear, device, batch| {
    ///     linear.forward(Tensor::<2>::zeros([batch, 512], device)).mean()
    /// })?;
    /// let folder = tempfile::tempdir()?;
    /// MemoryPicture::of_plan(&plan).write(folder.path().join("memory.svg"))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_plan(plan: &'t Plan) -> Self {
        let memory = &plan.memory;
        let is_training = !plan.optimizers.is_empty();
        let earlier = match plan.accumulate {
            1 => 0,
            _ => memory.gradients,
        };
        // What comes between the pass and the step, gradients that become f32, is shown with the step.
        let live = plan.trace.memory.during.iter().max().copied();
        let between = Some(memory.pass).filter(|most| *most > earlier + live.unwrap_or(0));
        let mut picture = Self::of(&plan.trace)
            .base("optimizer state", memory.optimizer_state)
            .base("master weights", memory.master_weights);
        picture.budget = plan.budget;
        // A plan that was read back has no trace.
        picture.own = [memory.parameters, memory.buffers];
        picture.earlier = earlier;
        picture.step = is_training.then_some(memory.step.max(between.unwrap_or(0)));
        picture
    }

    /// What stands above the picture.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Something else that takes so many bytes during the whole pass: the optimizer's state, master
    /// weights.
    pub fn base(mut self, name: impl Into<String>, bytes: u64) -> Self {
        self.bases.push((name.into(), bytes));
        self
    }

    /// Draw a line at so many bytes: what the device has.
    pub fn budget(mut self, bytes: u64) -> Self {
        self.budget = Some(bytes);
        self
    }

    /// Draw it into a file, as SVG or PNG as its name ends; folders that are missing are made, and
    /// what is there is replaced.
    ///
    /// # Errors
    /// [`PictureError`]; what is there stays then.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), PictureError> {
        super::write(path.as_ref(), || self.draw())
    }

    fn all_bases(&self) -> Vec<Base> {
        let names = ["parameters", "buffers"].map(str::to_owned);
        let own = names.into_iter().zip(self.own);
        let bases = own.chain(self.bases.iter().cloned());
        // Orange is the curve's.
        let colours = [0, 5, 2, 3, 4, 6].map(|colour| COLOURS[colour]);
        let bases = bases.enumerate().map(|(i, (name, bytes))| Base {
            name,
            bytes,
            colour: colours[i % colours.len()],
        });
        bases.filter(|base| base.bytes > 0).collect()
    }

    /// What is there beside the bases, by operation, and in the step.
    fn live(&self) -> Vec<u64> {
        let during = self.trace.memory.during.iter();
        let mut live: Vec<u64> = during
            .map(|bytes| bytes.saturating_add(self.earlier))
            .collect();
        if let Some(step) = self.step {
            live.extend(vec![step; step_width(live.len())]);
        }
        live
    }

    fn draw(&self) -> Result<Picture, Failed> {
        page::draw(SIZE, |picture| {
            let mut y = MARGIN;
            let room = SIZE.0 - 2 * MARGIN as u32;
            if !self.title.is_empty() {
                let style = style(36, HPos::Left);
                let title = shortened(picture, &self.title, &style, room)?;
                picture.draw(&Text::new(title, (MARGIN, y), style))?;
                y += 58;
            }
            let bases = self.all_bases();
            y = self.legend(picture, &bases, y)?;
            self.chart(picture, &bases, y)
        })
    }

    /// Draw what the colours mean, and return where the rest begins.
    fn legend(&self, picture: &Area<'_>, bases: &[Base], mut y: i32) -> Result<i32, Failed> {
        let live = self.live().into_iter().max();
        let name = match self.trace.is_training() {
            true => "activations and gradients, at most",
            false => "activations, at most",
        };
        let named = bases
            .iter()
            .map(|base| (base.name.as_str(), base.bytes, base.colour));
        let live = (name, live.unwrap_or(0), COLOURS[1]);
        let style = style(28, HPos::Left);
        let mut x = MARGIN;
        for (name, bytes, colour) in named.chain([live]) {
            let bytes = ByteCount(bytes).to_string();
            let name = shortened(picture, name, &style, 760)?;
            let text = format!("{name} {bytes}");
            let width = width(picture, &text, &style)? as i32;
            if x > MARGIN && x + width + 44 > SIZE.0 as i32 - MARGIN {
                (x, y) = (MARGIN, y + 44);
            }
            picture.draw(&Rectangle::new(
                [(x, y - 13), (x + 26, y + 13)],
                colour.filled(),
            ))?;
            picture.draw(&Text::new(text, (x + 40, y), style.clone()))?;
            x += width + 88;
        }
        Ok(y + 30)
    }

    fn chart(&self, picture: &Area<'_>, bases: &[Base], top: i32) -> Drawn {
        let during = self.live();
        let base: u64 = bases.iter().map(|base| base.bytes).sum();
        let live = during.iter().max().copied().unwrap_or(0);
        let peak = base.saturating_add(live);
        // A budget far above would press everything to the ground.
        let shown = self.budget.filter(|budget| *budget / 3 <= peak.max(1));
        let highest = peak.max(shown.unwrap_or(0));
        let unit = Unit::of(highest);
        let count = during.len().max(1) as f64;
        let (x_range, y_range) = (0.0..count, 0.0..unit.of_bytes(highest.max(1)) * 1.16);

        let area = picture.margin(top as u32, 24, 24, 48);
        let (of_steps, of_values) = (ticks::of_steps(&x_range), ticks::of_values(&y_range));
        let label = |value: &f64| unit.label(*value, &of_values);
        let text = |size: i32| (FONT, size).into_font().color(&TEXT);
        let mut longest = 0;
        for tick in RangedCoordf64::from(y_range.clone()).key_points(7) {
            longest = longest.max(width(picture, &label(&tick), &text(26))?);
        }
        let mut chart = ChartBuilder::on(&area)
            .margin_right(24)
            .margin_top(44)
            .x_label_area_size(84)
            .y_label_area_size(longest + 40)
            .build_cartesian_2d(x_range, y_range)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID.stroke_width(2))
            .axis_style(AXIS.stroke_width(2))
            .label_style(text(26))
            .axis_desc_style(text(28))
            .x_desc("operations in order")
            .x_labels(8)
            .y_labels(7)
            .x_label_formatter(&of_steps)
            .y_label_formatter(&label)
            .draw()?;

        // From the top down: what is below paints over it, without seams.
        let (columns, _) = chart.plotting_area().dim_in_pixel();
        let below = unit.of_bytes(base);
        let curve = kept(&during, columns as usize);
        let above = corners(&curve, |bytes| unit.of_bytes(base.saturating_add(bytes)));
        chart.draw_series([Polygon::new(closed(above, count), COLOURS[1].filled())])?;
        let mut height = below;
        for base in bases.iter().rev() {
            let flat = vec![(0.0, height), (count, height)];
            chart.draw_series([Polygon::new(closed(flat, count), base.colour.filled())])?;
            height -= unit.of_bytes(base.bytes);
        }

        let pixel = |x: f64, y: f64| chart.plotting_area().map_coordinate(&(x, y));
        let plot = Plot {
            left: pixel(0.0, 0.0).0,
            right: pixel(count, 0.0).0,
            top: chart.plotting_area().get_base_pixel().1,
            bottom: pixel(0.0, 0.0).1,
        };
        self.phases(picture, &plot, |at| pixel(at, 0.0).0)?;
        let peak_at = during.iter().position(|bytes| *bytes == live);
        let peak_at = peak_at.map(|at| (at, pixel(at as f64 + 0.5, unit.of_bytes(peak))));
        if let Some(budget) = self.budget {
            let y = shown.map_or(plot.top, |budget| pixel(0.0, unit.of_bytes(budget)).1);
            let peak_is_left = peak_at.is_some_and(|(_, (x, _))| x < (plot.left + plot.right) / 2);
            budget_line(
                picture,
                &plot,
                budget,
                shown.is_some().then_some(y),
                peak_is_left,
            )?;
        }
        if let Some((at, place)) = peak_at {
            let budget = shown.map(|budget| pixel(0.0, unit.of_bytes(budget)).1);
            self.peak(picture, &plot, (at, peak), place, budget)?;
        } else {
            let place = ((plot.left + plot.right) / 2, (plot.top + plot.bottom) / 2);
            let text = "no operation";
            picture.draw(&Text::new(text, place, style(30, HPos::Center)))?;
        }
        Ok(())
    }

    /// The line between forward and backward, and their names above.
    fn phases(&self, picture: &Area<'_>, plot: &Plot, x: impl Fn(f64) -> i32) -> Drawn {
        let operations = self.trace.operations();
        let count = operations.len();
        let forward = operations
            .take_while(|operation| operation.phase == Phase::Forward)
            .count();
        let mut phases = vec![("forward", 0, forward)];
        if forward < count {
            phases.push(("backward", forward, count));
        }
        if self.step.is_some() {
            phases.push(("step", count, count + step_width(count)));
        }
        for (_, from, _) in phases.iter().skip(1) {
            let x = x(*from as f64);
            dashed(picture, (x, plot.top - 40), (x, plot.bottom), TEXT)?;
        }
        let style = style(28, HPos::Center);
        for (name, from, to) in phases {
            let (from, to) = (x(from as f64), x(to as f64));
            if to - from > 20 + width(picture, name, &style)? as i32 {
                let place = ((from + to) / 2, plot.top - 24);
                picture.draw(&Text::new(name, place, style.clone()))?;
            }
        }
        Ok(())
    }

    fn peak(
        &self,
        picture: &Area<'_>,
        plot: &Plot,
        (at, bytes): (usize, u64),
        (x, y): (i32, i32),
        budget: Option<i32>,
    ) -> Drawn {
        picture.draw(&Circle::new((x, y), 9, WHITE.filled()))?;
        picture.draw(&Circle::new((x, y), 7, TEXT.filled()))?;
        let operation = self.trace.operations().nth(at);
        let module = match operation.map(|operation| operation.path) {
            None => ", in the optimizer's step".to_owned(),
            Some("") => String::new(),
            Some(path) => format!(", in {path}"),
        };
        let style = style(28, HPos::Left);
        let room = (plot.right - plot.left) as u32 * 2 / 5;
        let bytes = format!("peak {}", ByteCount(bytes));
        let module = shortened(picture, &module, &style, room)?;
        let text = format!("{bytes}{module}");
        let wide = width(picture, &text, &style)? as i32;
        let left = (x - wide / 2).min(plot.right - wide - 8).max(plot.left + 8);
        // Above the dot; above the line of the budget as well, where that would cross the text.
        let mut above = y - 32;
        if let Some(budget) = budget
            && (budget - above).abs() < 24
            && budget - 26 > plot.top
        {
            above = budget - 26;
        }
        note(picture, text, (left, above.max(plot.top + 16)), style)
    }
}

/// As how many operations the optimizer's step is drawn.
fn step_width(operations: usize) -> usize {
    operations.div_ceil(16)
}

/// The plot's sides in pixels of the whole picture.
struct Plot {
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

/// A line from left to right down to the ground.
fn closed(mut line: Vec<(f64, f64)>, right: f64) -> Vec<(f64, f64)> {
    line.extend([(right, 0.0), (0.0, 0.0)]);
    line
}

/// The budget as a line; where it is far above, only in words.
fn budget_line(
    picture: &Area<'_>,
    plot: &Plot,
    budget: u64,
    y: Option<i32>,
    at_the_right: bool,
) -> Drawn {
    let x = match at_the_right {
        true => plot.right - 16,
        false => plot.left + 16,
    };
    let style = style(28, HPos::Left).color(&BUDGET);
    let budget = ByteCount(budget);
    let (text, y) = match y {
        Some(y) => {
            // On any colour that the curve may have there.
            let line = [(plot.left, y), (plot.right, y)];
            picture.draw(&PathElement::new(line, WHITE.stroke_width(7)))?;
            dashed(picture, line[0], line[1], BUDGET)?;
            (format!("budget {budget}"), (y - 24).max(plot.top + 16))
        }
        None => (format!("↑ budget {budget}, far above"), plot.top + 18),
    };
    let left = match at_the_right {
        true => x - width(picture, &text, &style)? as i32,
        false => x,
    };
    note(picture, text, (left, y), style)
}

/// A text from its left end on, that reads well on whatever is below.
fn note(picture: &Area<'_>, text: String, (x, y): (i32, i32), style: TextStyle<'_>) -> Drawn {
    let right = x + width(picture, &text, &style)? as i32;
    let behind = [(x - 8, y - 17), (right + 8, y + 17)];
    picture.draw(&Rectangle::new(behind, WHITE.mix(0.85).filled()))?;
    picture.draw(&Text::new(text, (x, y), style))?;
    Ok(())
}

fn dashed(picture: &Area<'_>, from: (i32, i32), to: (i32, i32), colour: RGBColor) -> Drawn {
    const DASH: i32 = 12;
    let length = (to.0 - from.0).abs() + (to.1 - from.1).abs();
    let at = |done: i32| {
        let part = f64::from(done.min(length)) / f64::from(length.max(1));
        let along = |from: i32, to: i32| from + (part * f64::from(to - from)).round() as i32;
        (along(from.0, to.0), along(from.1, to.1))
    };
    for dash in (0..length).step_by(2 * DASH as usize) {
        let line = [at(dash), at(dash + DASH)];
        picture.draw(&PathElement::new(line, colour.stroke_width(3)))?;
    }
    Ok(())
}
