//! An object a line.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::csv::sync;
use super::file::{Lines, Since};
use super::{Logger, LoggerError};

/// Writes a JSON object a line: `{"step":0,"train/loss":0.5}`; what is not finite is `null`, since
/// JSON has no such numbers. Settings are a line `{"settings":{…}}`.
///
/// A file that is there already is continued; [`resume_at`](Logger::resume_at) drops what a resumed
/// run repeats.
///
/// ```
/// use burn_fabric::{JsonLinesLogger, Loggers};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("metrics.jsonl");
/// let mut loggers = Loggers::new().with(JsonLinesLogger::at(&path));
/// loggers.log(0, [("train/loss", 0.5)]);
/// assert_eq!(std::fs::read_to_string(&path)?, "{\"step\":0,\"train/loss\":0.5}\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct JsonLinesLogger {
    lines: Lines,
}

impl JsonLinesLogger {
    /// Write to `path`; folders that are missing are made with the first line.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            lines: Lines::at(path.into()),
        }
    }

    fn write(&mut self, object: Map<String, Value>) -> Result<(), LoggerError> {
        self.check()?;
        let line = format!("{}\n", Value::Object(object));
        self.lines.append(line.as_bytes())
    }

    /// Refuse a file of something else before it is appended to, or an unfinished line cut off.
    fn check(&mut self) -> Result<(), LoggerError> {
        match self.lines.since() {
            Since::Nothing => return Ok(()),
            Since::Grown if self.takes_added()? => return Ok(()),
            Since::Grown | Since::Other => self.lines.close(),
        }
        let (contents, lacks_end) = self.whole_lines()?;
        for line in lines_of(&contents) {
            self.step_of(line)?;
        }
        match lacks_end {
            true => self.lines.end_last(),
            false => Ok(()),
        }
    }

    /// Whether what another process wrote behind this one's lines is whole lines of the same kind.
    fn takes_added(&mut self) -> Result<bool, LoggerError> {
        let added = self.lines.added()?;
        let are_lines =
            added.ends_with(b"\n") && lines_of(&added).all(|line| self.step_of(line).is_ok());
        if are_lines {
            self.lines.keep(added.len());
        }
        Ok(are_lines)
    }

    /// What is there, but for a line that a killed process left unfinished; and whether the last is
    /// whole but for its end, as some editors leave it.
    fn whole_lines(&self) -> Result<(Vec<u8>, bool), LoggerError> {
        let (mut lines, rest) = self.lines.read_split()?;
        // Each of this logger's lines begins so; only its end may be what is missing.
        let is_begun = rest.starts_with(b"{")
            && serde_json::from_slice::<Value>(&rest).is_err_and(|error| error.is_eof());
        if is_begun || is_blank(&rest) {
            return Ok((lines, false));
        }
        self.step_of(&rest)?;
        lines.extend(rest);
        lines.push(b'\n');
        Ok((lines, true))
    }

    /// The step of a line, whose values are numbers; none for settings.
    fn step_of(&self, line: &[u8]) -> Result<Option<u64>, LoggerError> {
        let object = self.object(line)?;
        if let Some(step) = object.get("step").and_then(Value::as_u64) {
            let other = object
                .iter()
                .find(|(_, value)| !value.is_number() && !value.is_null());
            return match other {
                None => Ok(Some(step)),
                Some((name, _)) => Err(self.other(format!("`{name}`, which is no number"))),
            };
        }
        match object.get("settings") {
            Some(Value::Object(_)) if object.len() == 1 => Ok(None),
            _ => Err(self.other("an object with neither a step nor settings".to_owned())),
        }
    }

    fn object(&self, line: &[u8]) -> Result<Map<String, Value>, LoggerError> {
        let object = serde_json::from_slice(line);
        object.map_err(|error| self.other(format!("a line that is no JSON object: {error}")))
    }

    fn other(&self, found: String) -> LoggerError {
        LoggerError::OtherFile {
            path: self.lines.path().to_owned(),
            found,
        }
    }
}

/// A step and its values by name.
#[cfg(feature = "pictures")]
type Row = (u64, Vec<(String, f64)>);

/// For curves, which are drawn from such a file.
#[cfg(feature = "pictures")]
impl JsonLinesLogger {
    pub(super) fn path(&self) -> &std::path::Path {
        self.lines.path()
    }

    /// The values of each line, `null` as NaN.
    pub(super) fn read(&self) -> Result<Vec<Row>, LoggerError> {
        let (contents, _) = self.whole_lines()?;
        let mut read = Vec::new();
        for line in lines_of(&contents) {
            let mut object = self.object(line)?;
            if let Some(step) = object.remove("step").and_then(|step| step.as_u64()) {
                let values = object.into_iter();
                let values = values.map(|(name, value)| (name, value.as_f64().unwrap_or(f64::NAN)));
                read.push((step, values.collect()));
            }
        }
        Ok(read)
    }
}

/// Each with its end; empty ones say nothing.
fn lines_of(contents: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = contents.split_inclusive(|byte| *byte == b'\n');
    lines.filter(|line| !is_blank(line))
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

impl Logger for JsonLinesLogger {
    fn name(&self) -> String {
        format!("the JSON lines {}", self.lines.path().display())
    }

    fn log(&mut self, step: u64, values: &[(&str, f64)]) -> Result<(), LoggerError> {
        let mut object = Map::from_iter([("step".to_owned(), Value::from(step))]);
        for (name, value) in values {
            if *name == "step" {
                return Err(LoggerError::NamedStep);
            }
            object.insert((*name).to_owned(), Value::from(*value)); // null where it is not finite
        }
        self.write(object)
    }

    fn log_settings(&mut self, settings: &[(String, String)]) -> Result<(), LoggerError> {
        let settings = settings.iter();
        let settings = settings.map(|(name, value)| (name.clone(), Value::from(value.as_str())));
        let settings = Value::Object(settings.collect());
        self.write(Map::from_iter([("settings".to_owned(), settings)]))
    }

    fn resume_at(&mut self, step: u64) -> Result<(), LoggerError> {
        let (contents, lacks_end) = self.whole_lines()?;
        let mut kept = Vec::with_capacity(contents.len());
        for line in lines_of(&contents) {
            if self.step_of(line)?.is_none_or(|of_line| of_line < step) {
                kept.extend(line);
            }
        }
        if lacks_end || kept.len() < contents.len() {
            self.lines.replace(&kept)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LoggerError> {
        sync(self.lines.path())
    }
}
