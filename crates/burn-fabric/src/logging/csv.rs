//! A table: a row a call, a column a name.

use std::fs::File;
use std::path::{Path, PathBuf};

use csv::{ReaderBuilder, StringRecord, WriterBuilder};

use super::file::{Lines, regular};
use super::{Logger, LoggerError};

const STEP: &str = "step";

/// The first row of the settings.
const SETTINGS: [&str; 2] = ["name", "value"];

/// Writes a CSV file: the first column is `step`, the others are named as the values; a cell without
/// a value is empty, and what is not finite reads `NaN`, `inf` or `-inf`. Numbers are as short as they
/// can be to come back to the last bit: `0.5`, `1e-300`.
///
/// A name that comes later gets a column of its own; the file is replaced once for it. Settings go
/// into a second file, `metrics.csv.settings.csv` next to `metrics.csv`. A file that is there already
/// is continued, and one of something else refused; [`resume_at`](Logger::resume_at) drops what a
/// resumed run repeats.
///
/// ```
/// use burn_fabric::{CsvLogger, Loggers};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("metrics.csv");
/// let mut loggers = Loggers::new().with(CsvLogger::at(&path));
/// loggers.log(0, [("train/loss", 0.5)]);
/// assert_eq!(std::fs::read_to_string(&path)?, "step,train/loss\n0,0.5\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct CsvLogger {
    lines: Lines,
    /// Of the file's header; unknown until it was looked at.
    columns: Option<Vec<String>>,
}

impl CsvLogger {
    /// Write to `path`; folders that are missing are made with the first row.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            lines: Lines::at(path.into()),
            columns: None,
        }
    }

    /// The columns after `step`, of the file where one is there.
    fn columns(&mut self) -> Result<Vec<String>, LoggerError> {
        if let Some(columns) = &self.columns {
            return Ok(columns.clone());
        }
        let rows = self.rows()?;
        let Some(header) = rows.first() else {
            return Ok(Vec::new());
        };
        let columns: Vec<String> = header.iter().skip(1).map(str::to_owned).collect();
        self.columns = Some(columns.clone());
        Ok(columns)
    }

    /// All rows of a file that is this logger's, the header first, but for one that a killed process
    /// left unfinished; none where there is no file.
    fn rows(&self) -> Result<Vec<StringRecord>, LoggerError> {
        let other = |found: String| LoggerError::OtherFile {
            path: self.lines.path().to_owned(),
            found,
        };
        let (contents, rest) = self.lines.read_split()?;
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(&*contents);
        let rows: Result<Vec<StringRecord>, _> = reader.records().collect();
        let rows = rows.map_err(|error| other(error.to_string()))?;
        // The header is always written whole.
        let width = match rows.first() {
            Some(header) if header.get(0) == Some(STEP) => header.len(),
            Some(header) => {
                let first = header.get(0).unwrap_or_default();
                return Err(other(format!("a first column called `{first}`")));
            }
            None if !contents.is_empty() => return Err(other("empty lines".to_owned())),
            None => 0,
        };
        match begins_row(&rest, width) {
            true => Ok(rows),
            false => {
                let rest = String::from_utf8_lossy(&rest);
                let shown: String = rest.chars().take(40).collect();
                Err(other(format!("a last line {shown:?} without an end")))
            }
        }
    }

    /// Make a column for each of `columns`, which begin with those that are there.
    fn widen(&mut self, columns: Vec<String>) -> Result<(), LoggerError> {
        let rows = self.rows()?;
        let width = columns.len() + 1;
        let header = [STEP].into_iter().chain(columns.iter().map(String::as_str));
        let rows = rows.iter().skip(1).map(|row| {
            let missing = width.saturating_sub(row.len());
            row.iter().chain(std::iter::repeat_n("", missing)).collect()
        });
        let table: Vec<Vec<&str>> = std::iter::once(header.collect()).chain(rows).collect();
        self.lines.replace(&lines(table))?;
        self.columns = Some(columns);
        Ok(())
    }

    fn settings_path(&self) -> PathBuf {
        let mut path = self.lines.path().as_os_str().to_owned();
        path.push(".settings.csv");
        path.into()
    }
}

/// Rows as they stand in a file.
fn lines<R>(rows: impl IntoIterator<Item = R>) -> Vec<u8>
where
    R: IntoIterator,
    R::Item: AsRef<[u8]>,
{
    let mut writer = WriterBuilder::new().flexible(true).from_writer(Vec::new());
    for row in rows {
        writer.write_record(row).expect("a vector takes all bytes");
    }
    writer.into_inner().expect("a vector takes all bytes")
}

/// Whether a row of so many cells can begin so: with a step, behind it numbers and cells without one,
/// the last cell as far as it was written.
fn begins_row(rest: &[u8], width: usize) -> bool {
    if rest.is_empty() {
        return true;
    }
    let Ok(rest) = std::str::from_utf8(rest) else {
        return false;
    };
    let mut cells: Vec<&str> = rest.split(',').collect();
    let Some(last) = cells.pop().filter(|_| cells.len() < width) else {
        return false;
    };
    let of_number = |c: char| c.is_ascii_digit() || "+-.eENainf".contains(c);
    match cells.split_first() {
        None => last.bytes().all(|byte| byte.is_ascii_digit()),
        Some((step, values)) => {
            let is_value = |cell: &&str| cell.is_empty() || cell.parse::<f64>().is_ok();
            step.parse::<u64>().is_ok()
                && values.iter().all(is_value)
                && last.chars().all(of_number)
        }
    }
}

/// As short as it can be: a power of ten far from 1 as an exponent, and no point behind a whole number.
fn cell(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// The step of a row; none where the cell is no number.
fn step_of(row: &StringRecord) -> Option<u64> {
    row.get(0)?.parse().ok()
}

impl Logger for CsvLogger {
    fn name(&self) -> String {
        format!("the CSV file {}", self.lines.path().display())
    }

    fn log(&mut self, step: u64, values: &[(&str, f64)]) -> Result<(), LoggerError> {
        if values.iter().any(|(name, _)| *name == STEP) {
            return Err(LoggerError::NamedStep);
        }
        let mut columns = self.columns()?;
        let known = columns.len();
        for (name, _) in values {
            if !columns.iter().any(|column| column == name) {
                columns.push((*name).to_owned());
            }
        }
        if columns.len() > known || self.columns.is_none() {
            self.widen(columns.clone())?;
        }
        let cells = columns.iter().map(|column| {
            // The last one, where a name is there twice.
            let value = values.iter().rfind(|(name, _)| name == column);
            value.map_or_else(String::new, |(_, value)| cell(*value))
        });
        let row = std::iter::once(step.to_string()).chain(cells);
        self.lines.append(&lines([row]))
    }

    fn log_settings(&mut self, settings: &[(String, String)]) -> Result<(), LoggerError> {
        let mut file = Lines::at(self.settings_path());
        let (there, rest) = file.read_split()?;
        let is_ours = there.starts_with(&lines([SETTINGS])) && rest.is_empty();
        if !is_ours && !(there.is_empty() && rest.is_empty()) {
            return Err(LoggerError::OtherFile {
                path: file.path().to_owned(),
                found: "no table of `name` and `value`".to_owned(),
            });
        }
        let rows = settings
            .iter()
            .map(|(name, value)| [name.as_str(), value.as_str()]);
        file.replace(&lines(std::iter::once(SETTINGS).chain(rows)))
    }

    fn resume_at(&mut self, step: u64) -> Result<(), LoggerError> {
        let rows = self.rows()?;
        let kept = |(i, row): &(usize, &StringRecord)| {
            *i == 0 || step_of(row).is_none_or(|of_row| of_row < step)
        };
        let kept: Vec<&StringRecord> = rows
            .iter()
            .enumerate()
            .filter(kept)
            .map(|(_, row)| row)
            .collect();
        if kept.len() < rows.len() {
            self.lines.replace(&lines(kept))?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LoggerError> {
        sync(self.lines.path())
    }
}

/// Have what was written on the disk itself.
pub(super) fn sync(path: &Path) -> Result<(), LoggerError> {
    if regular(path)?.is_none() {
        return Ok(());
    }
    let file = File::options().append(true).open(path);
    let synced = file.and_then(|file| file.sync_data());
    synced.map_err(LoggerError::file(path))
}
