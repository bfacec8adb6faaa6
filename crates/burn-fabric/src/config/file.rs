//! Settings as TOML and JSON.

use std::path::Path;

use serde_json::{Map, Value};

use super::{FabricConfig, Layers, Origin, SettingProblem};
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
    /// [`FabricError::Settings`] for what is out of range, and for what a file cannot hold: a
    /// device of your own, a number that TOML has no room for.
    pub fn to_toml(&self) -> Result<String, FabricError> {
        self.check()?;
        toml::to_string(self).map_err(|error| unwritable(&error))
    }

    /// Write JSON.
    ///
    /// # Errors
    /// [`FabricError::Settings`] for what is out of range, and for what a file cannot hold: a
    /// device of your own.
    pub fn to_json(&self) -> Result<String, FabricError> {
        self.check()?;
        serde_json::to_string_pretty(self).map_err(|error| unwritable(&error))
    }

    /// That it could be used as it is.
    fn check(&self) -> Result<(), FabricError> {
        Layers(vec![(Origin::Config, self.clone())]).resolve()?;
        Ok(())
    }
}

fn unwritable(error: &dyn std::fmt::Display) -> FabricError {
    let problem = SettingProblem::Kind {
        setting: "configuration".to_owned(),
        found: "one of these values".to_owned(),
        message: error.to_string(),
    };
    FabricError::Settings {
        problems: vec![problem],
    }
}

fn parse_toml(text: &str, origin: &str) -> Result<FabricConfig, FabricError> {
    let table = toml::from_str::<toml::Table>(text);
    let fields = table.map(|table| {
        let fields = table.into_iter();
        fields
            .map(|(key, value)| (key, json(value)))
            .collect::<Map<_, _>>()
    });
    parse(fields, origin, "TOML")
}

/// JSON has neither NaN nor infinities, and would make them nothing at all: they stay their names,
/// which no setting takes.
fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::Float(number) if !number.is_finite() => Value::String(number.to_string()),
        value => serde_json::to_value(value).unwrap_or(Value::Null),
    }
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
