//! Settings as names and texts.

use std::collections::HashSet;

use serde::Serialize;

use super::flatten::flatten;
use super::{LoggerError, Loggers, TrainingProgress};
use crate::fabric::Fabric;

impl Fabric {
    /// Log hyper-parameters, flattened to dotted names, and this Fabric's resolved settings: each as
    /// `fabric.<setting>`, with where it comes from as `fabric.<setting>.origin`. A hyper-parameter
    /// whose name is taken gets `settings.` before it.
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
        let mut settings = flatten(hyper_parameters).unwrap_or_else(|source| {
            loggers.problem("`log_settings`", LoggerError::Settings { source });
            Vec::new()
        });
        let own = self.settings().rows();
        let own = own.iter().flat_map(|[key, value, origin]| {
            let names = [format!("fabric.{key}"), format!("fabric.{key}.origin")];
            names.into_iter().zip([value.clone(), origin.clone()])
        });
        let own: Vec<(String, String)> = own.collect();
        let mut taken: HashSet<String> = own.iter().map(|(name, _)| name.clone()).collect();
        for (name, _) in &mut settings {
            while !taken.insert(name.clone()) {
                name.insert_str(0, "settings.");
            }
        }
        settings.extend(own);
        loggers.log_settings(&settings);
    }

    /// A line on the terminal for a loop of `total` steps, or of any number: how many are done, how
    /// fast, the time left, the loss. Nothing is shown where stderr is no terminal.
    pub fn progress(&self, total: impl Into<Option<u64>>) -> TrainingProgress {
        TrainingProgress::new(total.into())
    }
}
