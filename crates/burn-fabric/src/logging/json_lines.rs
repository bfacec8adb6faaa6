//! An object a line.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::csv::sync;
use super::file::Lines;
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
        let line = format!("{}\n", Value::Object(object));
        self.lines.append(line.as_bytes())
    }

    /// The step of a line; none for settings.
    fn step_of(&self, line: &[u8]) -> Result<Option<u64>, LoggerError> {
        let object: Result<Map<String, Value>, _> = serde_json::from_slice(line);
        let object = object.map_err(|error| LoggerError::OtherFile {
            path: self.lines.path().to_owned(),
            found: format!("a line that is no JSON object: {error}"),
        })?;
        Ok(object.get("step").and_then(Value::as_u64))
    }
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
        let contents = self.lines.read()?;
        let mut kept = Vec::with_capacity(contents.len());
        for line in contents.split_inclusive(|byte| *byte == b'\n') {
            if self.step_of(line)?.is_none_or(|of_line| of_line < step) {
                kept.extend(line);
            }
        }
        if kept.len() < contents.len() {
            self.lines.replace(&kept)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LoggerError> {
        sync(self.lines.path())
    }
}
