//! Settings as names and texts.

use serde::Serialize;
use serde_json::Value;

use super::{LoggerError, Loggers, TrainingProgress};
use crate::fabric::Fabric;

impl Fabric {
    /// Log hyper-parameters, flattened to dotted names, and this Fabric's resolved settings: each as
    /// `fabric.<setting>`, with where it comes from as `fabric.<setting>.origin`.
    ///
    /// ```
    /// use burn_fabric::prelude::*;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("metrics.jsonl");
    /// let mut loggers = Loggers::new().with(JsonLinesLogger::at(&path));
    /// let fabric = Fabric::builder().seed(42).build()?;
    /// fabric.log_settings(&mut loggers, &std::collections::BTreeMap::from([("rate", 1e-3)]));
    /// let line = std::fs::read_to_string(&path)?;
    /// assert!(line.contains(r#""rate":"0.001""#) && line.contains(r#""fabric.seed":"42""#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn log_settings(&self, loggers: &mut Loggers, hyper_parameters: &impl Serialize) {
        let mut settings = Vec::new();
        match serde_json::to_value(hyper_parameters) {
            Ok(value) => flatten("", &value, &mut settings),
            Err(source) => loggers.problem("`log_settings`", LoggerError::Settings { source }),
        }
        for [key, value, origin] in self.settings().rows() {
            settings.push((format!("fabric.{key}"), value.clone()));
            settings.push((format!("fabric.{key}.origin"), origin.clone()));
        }
        loggers.log_settings(&settings);
    }

    /// A line on the terminal for a loop of `total` steps, or of any number: how many are done, how
    /// fast, the time left, the loss. Nothing is shown where stderr is no terminal.
    pub fn progress(&self, total: impl Into<Option<u64>>) -> TrainingProgress {
        TrainingProgress::new(total.into())
    }
}

/// Leaves with the names on the way to them, joined by dots.
fn flatten(name: &str, value: &Value, into: &mut Vec<(String, String)>) {
    let below = |key: &str| match name {
        "" => key.to_owned(),
        name => format!("{name}.{key}"),
    };
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                flatten(&below(key), value, into);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (i, value) in items.iter().enumerate() {
                flatten(&below(&i.to_string()), value, into);
            }
        }
        // No hyper-parameters at all.
        Value::Null if name.is_empty() => {}
        Value::String(text) => into.push((below_root(name), text.clone())),
        other => into.push((below_root(name), other.to_string())),
    }
}

/// A plain value in the place of a struct has no name of its own.
fn below_root(name: &str) -> String {
    if name.is_empty() { "value" } else { name }.to_owned()
}
