//! A table: a row a call, a column a name.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use csv::{ReaderBuilder, StringRecord, WriterBuilder};

use super::file::{Lines, Since, regular};
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
    columns: Option<Columns>,
}

/// Places behind the step, by name.
type Columns = HashMap<String, usize>;

impl CsvLogger {
    /// Write to `path`; folders that are missing are made with the first row.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            lines: Lines::at(path.into()),
            columns: None,
        }
    }

    /// All rows of a file that is this logger's, the header first, but for one that a killed process
    /// left unfinished; none where there is no file.
    fn rows(&self) -> Result<Vec<StringRecord>, LoggerError> {
        let other = |found| self.other(found);
        let (contents, rest) = self.lines.read_split()?;
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(&*contents);
        let rows: Result<Vec<StringRecord>, _> = reader.records().collect();
        let rows = rows.map_err(|error| other(error.to_string()))?;
        // The header is always written whole.
        let width = match rows.first() {
            Some(header) if header.get(0) == Some(STEP) => {
                if places(header).len() + 1 < header.len() {
                    return Err(other("two columns of one name".to_owned()));
                }
                header.len()
            }
            Some(header) => {
                let first = header.get(0).unwrap_or_default();
                return Err(other(format!("a first column called `{first}`")));
            }
            None if !contents.is_empty() => return Err(other("empty lines".to_owned())),
            None => 0,
        };
        if let Some(row) = rows.iter().skip(1).find(|row| !is_row(row, width)) {
            let row: Vec<&str> = row.iter().collect();
            let row = shown(&row.join(","));
            return Err(other(format!("a row {row:?} that is no step and numbers")));
        }
        match begins_row(&rest, width) {
            true => Ok(rows),
            false => {
                let rest = shown(&String::from_utf8_lossy(&rest));
                Err(other(format!("a last line {rest:?} without an end")))
            }
        }
    }

    /// The columns of the file with one for each of `values`; the file is replaced with a wider one.
    fn widen(&mut self, values: &[(&str, f64)]) -> Result<Columns, LoggerError> {
        let (contents, _) = self.lines.read_split()?;
        let (header, rows) = split_header(&contents).map_err(|e| self.other(e.to_string()))?;
        let mut columns = places(&header);
        let mut names: Vec<&str> = match header.is_empty() {
            true => vec![STEP],
            false => header.iter().collect(),
        };
        for (name, _) in values {
            if !columns.contains_key(*name) {
                columns.insert((*name).to_owned(), columns.len());
                names.push(name);
            }
        }
        let mut table = lines([&names]);
        // Below the header are numbers, in which a comma is what it looks like.
        for row in rows.split(|byte| *byte == b'\n') {
            let row = row.strip_suffix(b"\r").unwrap_or(row);
            if !row.is_empty() {
                let cells = 1 + row.iter().filter(|byte| **byte == b',').count();
                table.extend(row);
                table.resize(table.len() + names.len().saturating_sub(cells), b',');
                table.push(b'\n');
            }
        }
        self.lines.replace(&table)?;
        Ok(columns)
    }

    fn other(&self, found: String) -> LoggerError {
        LoggerError::OtherFile {
            path: self.lines.path().to_owned(),
            found,
        }
    }

    fn settings_path(&self) -> PathBuf {
        let mut path = self.lines.path().as_os_str().to_owned();
        path.push(".settings.csv");
        path.into()
    }
}

/// As much of somebody else's text as a message has room for.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// The first record, which may be several lines, and what lies behind it.
fn split_header(contents: &[u8]) -> Result<(StringRecord, &[u8]), csv::Error> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .from_reader(contents);
    let mut header = StringRecord::new();
    reader.read_record(&mut header)?;
    let end = usize::try_from(reader.position().byte()).unwrap_or(contents.len());
    Ok((header, contents.get(end..).unwrap_or_default()))
}

/// The columns of a header.
fn places(header: &StringRecord) -> Columns {
    let names = header.iter().skip(1).map(str::to_owned);
    names.zip(0..).collect()
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

/// Whether it is a step, and behind it no more numbers and cells without one than there are columns.
fn is_row(row: &StringRecord, width: usize) -> bool {
    row.len() <= width && step_of(row).is_some() && row.iter().skip(1).all(is_value)
}

fn is_value(cell: &str) -> bool {
    cell.is_empty() || cell.parse::<f64>().is_ok()
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
            step.parse::<u64>().is_ok()
                && values.iter().all(|cell| is_value(cell))
                && last.chars().all(of_number)
        }
    }
}

/// As short as it can be: a power of ten far from 1 as an exponent, and no point behind a whole number.
fn cell(value: f64) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// The step of a row; none where the cell is no whole number.
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
        if self.lines.since() != Since::Nothing {
            self.lines.close();
            self.columns = None;
        }
        let columns = match self.columns.take() {
            Some(columns) => Some(columns),
            None => self.rows()?.first().map(places),
        };
        let has = |columns: &Columns| values.iter().all(|(name, _)| columns.contains_key(*name));
        let columns = match columns.filter(has) {
            Some(columns) => columns,
            None => self.widen(values)?,
        };
        let mut cells = vec![String::new(); 1 + columns.len()];
        cells[0] = step.to_string();
        for (name, value) in values {
            // The last one, where a name is there twice.
            cells[1 + columns[*name]] = cell(*value);
        }
        self.columns = Some(columns);
        self.lines.append(&lines([cells]))
    }

    fn log_settings(&mut self, settings: &[(String, String)]) -> Result<(), LoggerError> {
        let mut file = Lines::at(self.settings_path());
        let (there, rest) = file.read_split()?;
        let is_ours = there.starts_with(&lines([SETTINGS])) && rest.is_empty();
        let is_empty = there.is_empty() && rest.is_empty();
        if !(is_ours || is_empty) {
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
