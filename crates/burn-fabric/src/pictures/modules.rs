//! Parameters and FLOPs by module.

use std::path::Path;

use burn_materialize::{Flops, Summary, SummaryLine};
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use super::PictureError;
use super::page::{
    self, AXIS, Area, COLOURS, Drawn, Failed, GRID, Picture, shortened, style, width,
};

/// More modules than a picture shows.
const ROWS: usize = 20;
/// In pixels of the PNG.
const WIDTH: i32 = 2080;
const MARGIN: i32 = 48;
const ROW: i32 = 48;
const INDENT: i32 = 32;
/// The widest that names get.
const NAMES: u32 = 860;
/// Between names and bars, and between both columns of bars.
const GAP: i32 = 36;

/// A picture of a module's parts: bars of their parameters, and beside them of the FLOPs of a traced
/// pass.
///
/// The rows are the modules of the summary, folded as it is: a block that repeats is one row, with the
/// numbers of all its repetitions together, so that rows of one level add up to the one around
/// them. It goes as deep as twenty rows allow, and no deeper than the summary. Of more than twenty
/// modules on the first level the largest are shown.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::Tensor;
/// use burn_fabric::ModulesPicture;
/// use burn_fabric::prelude::*;
///
/// let meta = Meta::build(|device| vec![LinearConfig::new(64, 64).init(device)])?;
/// let trace = meta.trace(|layers: &Vec<burn::nn::Linear>, device| {
///     layers[0].forward(Tensor::<2>::zeros([32, 64], device))
/// })?;
/// let folder = tempfile::tempdir()?;
/// let summary = meta.summary().traced(&trace);
/// ModulesPicture::of(&summary).title("layers").write(folder.path().join("modules.png"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ModulesPicture {
    title: String,
    rows: Vec<Row>,
    /// How many modules are left out, on the first level.
    hidden: usize,
    parameters: u64,
    flops: Option<u64>,
    has_backward: bool,
}

#[derive(Clone, Debug)]
struct Row {
    name: String,
    level: usize,
    parameters: u64,
    flops: u64,
}

impl ModulesPicture {
    /// Of a summary; with FLOPs, where it is of a [traced](Summary::traced) pass.
    pub fn of(summary: &Summary) -> Self {
        let lines = summary.lines();
        let root = lines.first();
        let cost = root.and_then(|root| root.cost.as_ref());
        let (rows, hidden) = chosen(rows_of(&lines));
        Self {
            title: String::new(),
            rows,
            hidden,
            parameters: root.map_or(0, |root| root.parameters),
            flops: cost.map(|cost| cost.forward.flops + cost.backward.flops),
            has_backward: cost.is_some_and(|cost| cost.backward.flops > 0),
        }
    }

    /// What stands above the picture.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
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

    fn draw(&self) -> Result<Picture, Failed> {
        let title = if self.title.is_empty() { 0 } else { 58 };
        let header = 62;
        let more = if self.hidden > 0 { ROW } else { 0 };
        let rows = self.rows.len().max(1) as i32;
        let height = 2 * MARGIN + title + header + ROW * rows + more;
        page::draw((WIDTH as u32, height as u32), |picture| {
            if title > 0 {
                let style = style(36, HPos::Left);
                let room = (WIDTH - 2 * MARGIN) as u32;
                let title = shortened(picture, &self.title, &style, room)?;
                picture.draw(&Text::new(title, (MARGIN, MARGIN), style))?;
            }
            self.table(picture, MARGIN + title + header / 2)
        })
    }

    fn table(&self, picture: &Area<'_>, top: i32) -> Drawn {
        let names = style(28, HPos::Left);
        let mut left = 0;
        for row in &self.rows {
            let indent = INDENT * row.level as i32;
            let name = width(picture, &row.name, &names)?.min(NAMES) as i32;
            left = left.max(indent + name);
        }
        left = (MARGIN + left + GAP).min(WIDTH / 2);
        let columns = 1 + i32::from(self.flops.is_some());
        let wide = (WIDTH - MARGIN - left - GAP * (columns - 1)) / columns;
        let flops = match self.has_backward {
            true => "FLOPs, forward and backward",
            false => "FLOPs",
        };
        let bars = Bars {
            name: "parameters",
            all: self.parameters,
            colour: COLOURS[0],
            left,
            width: wide,
        };
        self.bars(picture, &bars, top, |row| row.parameters)?;
        if let Some(all) = self.flops {
            let bars = Bars {
                name: flops,
                all,
                colour: COLOURS[1],
                left: left + wide + GAP,
                width: wide,
            };
            self.bars(picture, &bars, top, |row| row.flops)?;
        }
        let first = top + ROW;
        for (row, i) in self.rows.iter().zip(0..) {
            let x = MARGIN + INDENT * row.level as i32;
            let name = shortened(picture, &row.name, &names, (left - GAP - x).max(60) as u32)?;
            picture.draw(&Text::new(name, (x, first + ROW * i), names.clone()))?;
        }
        if self.rows.is_empty() {
            let text = "no module within this one";
            picture.draw(&Text::new(text, (MARGIN, first), names.clone()))?;
        }
        if self.hidden > 0 {
            let text = format!("and {} more modules", self.hidden);
            let y = first + ROW * self.rows.len() as i32;
            picture.draw(&Text::new(text, (MARGIN, y), names))?;
        }
        Ok(())
    }

    fn bars(
        &self,
        picture: &Area<'_>,
        bars: &Bars,
        top: i32,
        value: impl Fn(&Row) -> u64,
    ) -> Drawn {
        let header = format!("{} ({} in all)", bars.name, Flops(bars.all));
        let header = shortened(picture, &header, &style(28, HPos::Left), bars.width as u32)?;
        picture.draw(&Text::new(header, (bars.left, top), style(28, HPos::Left)))?;
        let bottom = top + ROW * self.rows.len() as i32 + ROW / 2;
        let axis = [(bars.left, top + ROW / 2), (bars.left, bottom)];
        // Room for the value behind the longest.
        let values = style(26, HPos::Left);
        let mut widest = 0;
        for row in &self.rows {
            widest = widest.max(width(picture, &label(value(row), bars.all), &values)? as i32);
        }
        let longest = (bars.width - widest - 20).max(20);
        let most = self.rows.iter().map(&value).max().unwrap_or(0).max(1);
        for (row, i) in self.rows.iter().zip(1..) {
            let (of_row, y) = (value(row), top + ROW * i);
            let length = (of_row as f64 / most as f64 * f64::from(longest)).round() as i32;
            let track = [(bars.left, y), (bars.left + longest, y)];
            picture.draw(&PathElement::new(track, GRID.stroke_width(2)))?;
            if length > 0 {
                // What lies within another row's is lighter.
                let colour = bars.colour.mix(1.0 - 0.25 * row.level.min(3) as f64);
                let white = Rectangle::new(
                    [(bars.left, y - 14), (bars.left + length, y + 14)],
                    WHITE.filled(),
                );
                picture.draw(&white)?;
                let bar = Rectangle::new(
                    [(bars.left, y - 14), (bars.left + length, y + 14)],
                    colour.filled(),
                );
                picture.draw(&bar)?;
            }
            let text = label(of_row, bars.all);
            let wide = width(picture, &text, &values)? as i32;
            let x = bars.left + length + 12;
            let behind = [(x - 6, y - 4), (x + wide + 6, y + 4)];
            picture.draw(&Rectangle::new(behind, WHITE.filled()))?;
            picture.draw(&Text::new(text, (x, y), values.clone()))?;
        }
        picture.draw(&PathElement::new(axis, AXIS.stroke_width(2)))?;
        Ok(())
    }
}

/// One column of bars.
struct Bars {
    name: &'static str,
    all: u64,
    colour: RGBColor,
    left: i32,
    width: i32,
}

/// The modules of a summary, each with the numbers of all its repetitions.
fn rows_of(lines: &[SummaryLine]) -> Vec<Row> {
    let mut times: Vec<u64> = Vec::new();
    let mut rows = Vec::new();
    for line in lines {
        times.truncate(line.level);
        times.push(line.times as u64);
        if line.level == 0 || line.tensor.is_some() {
            continue;
        }
        let times: u64 = times.iter().product();
        let cost = line.cost.as_ref();
        let flops = cost.map_or(0, |cost| cost.forward.flops + cost.backward.flops);
        rows.push(Row {
            name: line.name.clone(),
            level: line.level - 1,
            parameters: times * line.parameters,
            flops: times * flops,
        });
    }
    rows
}

/// The rows of as many levels as there is room for; of too many on the first level the largest. And
/// how many that leaves out.
fn chosen(rows: Vec<Row>) -> (Vec<Row>, usize) {
    let deepest = rows.iter().map(|row| row.level).max().unwrap_or(0);
    let to = |level: usize| rows.iter().filter(|row| row.level <= level).count();
    let level = (0..=deepest).rev().find(|level| to(*level) <= ROWS);
    if let Some(level) = level {
        let shown = rows.into_iter().filter(|row| row.level <= level);
        return (shown.collect(), 0);
    }
    let rows: Vec<Row> = rows.into_iter().filter(|row| row.level == 0).collect();
    let sum = |value: fn(&Row) -> u64| rows.iter().map(value).sum::<u64>().max(1) as f64;
    let (parameters, flops) = (sum(|row| row.parameters), sum(|row| row.flops));
    let share = |row: &Row| (row.parameters as f64 / parameters).max(row.flops as f64 / flops);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| share(&rows[*b]).total_cmp(&share(&rows[*a])));
    let mut largest = order[..ROWS].to_vec();
    largest.sort_unstable();
    let hidden = rows.len() - ROWS;
    let shown = largest.into_iter().map(|i| rows[i].clone());
    (shown.collect(), hidden)
}

/// `1.2 G, 34 %`.
fn label(value: u64, all: u64) -> String {
    if all == 0 || value == 0 {
        return Flops(value).to_string();
    }
    let percent = 100.0 * value as f64 / all as f64;
    match percent {
        percent if percent < 0.1 => format!("{}, < 0.1 %", Flops(value)),
        percent if percent < 10.0 => format!("{}, {percent:.1} %", Flops(value)),
        percent => format!("{}, {percent:.0} %", Flops(value)),
    }
}
