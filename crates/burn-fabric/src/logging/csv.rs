//! A table: a row a call, a column a name.

use std::fs::File;
use std::path::{Path, PathBuf};

use csv::{ReaderBuilder, StringRecord, WriterBuilder};

use super::file::Lines;
use super::{Logger, LoggerError};

const STEP: &str = "step";

/// Writes a CSV file: the first column is `step`, the others are named as the values; a cell without
/// a value is empty, and what is not finite reads `NaN`, `inf` or `-inf`.
///
/// A name that comes later gets a column of its own; the file is replaced once for it. Settings go
/// into a second file, `metrics.settings.csv` next to `metrics.csv`. A file that is there already is
/// continued; [`resume_at`](Logger::resume_at) drops what a resumed run repeats.
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
        let contents = self.lines.read()?;
        if contents.is_empty() {
            return Ok(Vec::new());
        }
        let header = self.rows(&contents)?.swap_remove(0);
        let columns: Vec<String> = header.iter().skip(1).map(str::to_owned).collect();
        self.columns = Some(columns.clone());
        Ok(columns)
    }

    /// All rows of a file that is this logger's, the header first.
    fn rows(&self, contents: &[u8]) -> Result<Vec<StringRecord>, LoggerError> {
        let other = |found: String| LoggerError::OtherFile {
            path: self.lines.path().to_owned(),
            found,
        };
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(contents);
        let rows: Result<Vec<StringRecord>, _> = reader.records().collect();
        let rows = rows.map_err(|error| other(error.to_string()))?;
        match rows.first() {
            Some(header) if header.get(0) == Some(STEP) => Ok(rows),
            Some(header) => Err(other(format!(
                "a first column called `{}`",
                header.get(0).unwrap_or_default()
            ))),
            None => Err(other("empty lines".to_owned())),
        }
    }

    /// Make a column for each of `columns`, which begin with those that are there.
    fn widen(&mut self, columns: Vec<String>) -> Result<(), LoggerError> {
        let contents = self.lines.read()?;
        let rows = match contents.is_empty() {
            true => Vec::new(),
            false => self.rows(&contents)?,
        };
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
        self.lines.path().with_extension("settings.csv")
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
            value.map_or_else(String::new, |(_, value)| value.to_string())
        });
        let row = std::iter::once(step.to_string()).chain(cells);
        self.lines.append(&lines([row]))
    }

    fn log_settings(&mut self, settings: &[(String, String)]) -> Result<(), LoggerError> {
        let header = ("name", "value");
        let rows = settings
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let rows = std::iter::once(header).chain(rows);
        let rows = rows.map(|(name, value)| [name, value]);
        Lines::at(self.settings_path()).replace(&lines(rows))
    }

    fn resume_at(&mut self, step: u64) -> Result<(), LoggerError> {
        let contents = self.lines.read()?;
        if contents.is_empty() {
            return Ok(());
        }
        let rows = self.rows(&contents)?;
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
    if !path.exists() {
        return Ok(());
    }
    let file = File::options().append(true).open(path);
    let synced = file.and_then(|file| file.sync_data());
    synced.map_err(LoggerError::file(path))
}
