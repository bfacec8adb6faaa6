//! Settings as TOML and JSON.

use std::path::Path;

use serde_json::{Map, Value};

use super::{FabricConfig, SettingProblem};
use crate::error::FabricError;

impl FabricConfig {
    /// Read a file, TOML or JSON by its ending.
    ///
    /// # Errors
    /// [`FabricError::ConfigFile`] where it cannot be read, [`FabricError::ConfigSyntax`] where it
    /// is not what its ending says (no `.json` is TOML), [`FabricError::Settings`] with every
    /// unknown key and wrong value.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, FabricError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|source| FabricError::ConfigFile {
            path: path.to_owned(),
            source,
        })?;
        let origin = path.display().to_string();
        let is_json = path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        if is_json {
            parse_json(&text, &origin)
        } else {
            parse_toml(&text, &origin)
        }
    }

    /// Read TOML.
    ///
    /// # Errors
    /// As [`from_file`](FabricConfig::from_file).
    pub fn from_toml(text: &str) -> Result<Self, FabricError> {
        parse_toml(text, "the configuration")
    }

    /// Read JSON.
    ///
    /// # Errors
    /// As [`from_file`](FabricConfig::from_file).
    pub fn from_json(text: &str) -> Result<Self, FabricError> {
        parse_json(text, "the configuration")
    }

    /// Write TOML.
    ///
    /// # Errors
    /// [`FabricError::Settings`] for what a file cannot hold: a device of your own.
    pub fn to_toml(&self) -> Result<String, FabricError> {
        toml::to_string(self).map_err(|error| unwritable(&error))
    }

    /// Write JSON.
    ///
    /// # Errors
    /// [`FabricError::Settings`] for what a file cannot hold: a device of your own.
    pub fn to_json(&self) -> Result<String, FabricError> {
        serde_json::to_string_pretty(self).map_err(|error| unwritable(&error))
    }
}

fn unwritable(error: &dyn std::fmt::Display) -> FabricError {
    let problem = SettingProblem::Kind {
        setting: "accelerator".to_owned(),
        found: "this value".to_owned(),
        message: error.to_string(),
    };
    FabricError::Settings {
        problems: vec![problem],
    }
}

fn parse_toml(text: &str, origin: &str) -> Result<FabricConfig, FabricError> {
    let fields = toml::from_str::<Map<String, Value>>(text);
    parse(fields, origin, "TOML")
}

fn parse_json(text: &str, origin: &str) -> Result<FabricConfig, FabricError> {
    let fields = serde_json::from_str::<Map<String, Value>>(text);
    parse(fields, origin, "JSON")
}

fn parse(
    fields: Result<Map<String, Value>, impl std::fmt::Display>,
    origin: &str,
    language: &'static str,
) -> Result<FabricConfig, FabricError> {
    let fields = fields.map_err(|error| FabricError::ConfigSyntax {
        origin: origin.to_owned(),
        language,
        message: error.to_string().trim_end().to_owned(),
    })?;
    let fields = fields
        .into_iter()
        .map(|(key, value)| (key.clone(), key, value));
    collect(fields, |key| key.to_owned()).map_err(|problems| FabricError::Settings { problems })
}

/// A configuration of `fields`: what each is called where it was written, its key, its value. Every
/// key and value is looked at by itself, so that all that is wrong is found.
pub(super) fn collect(
    fields: impl Iterator<Item = (String, String, Value)>,
    written: impl Fn(&str) -> String,
) -> Result<FabricConfig, Vec<SettingProblem>> {
    let mut good = Map::new();
    let mut problems = Vec::new();
    for (setting, key, value) in fields {
        if !FabricConfig::KEYS.contains(&key.as_str()) {
            let likeness = |known: &&&str| strsim::normalized_damerau_levenshtein(known, &key);
            let nearest = FabricConfig::KEYS
                .iter()
                .max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
            problems.push(SettingProblem::Unknown {
                setting,
                nearest: nearest.map_or_else(String::new, |nearest| written(nearest)),
            });
            continue;
        }
        let alone = Map::from_iter([(key.clone(), value.clone())]);
        match serde_json::from_value::<FabricConfig>(Value::Object(alone)) {
            Ok(_) => {
                good.insert(key, value);
            }
            Err(error) => problems.push(SettingProblem::Kind {
                setting,
                found: value.to_string(),
                message: error.to_string(),
            }),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let config = serde_json::from_value(Value::Object(good));
    Ok(config.expect("each field was read by itself"))
}
