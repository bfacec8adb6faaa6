//! Settings in the environment.

use serde_json::Value;

use super::file::collect;
use super::{FabricConfig, SettingProblem};
use crate::error::FabricError;

/// What the names of all variables start with.
pub(super) const PREFIX: &str = "BURN_FABRIC_";

impl FabricConfig {
    /// Read the variables of the environment that start with `BURN_FABRIC_`: `BURN_FABRIC_SEED`,
    /// `BURN_FABRIC_CLIP_NORM` and so on, one for each key. An empty one says nothing.
    ///
    /// # Errors
    /// [`FabricError::Settings`] with every unknown variable and wrong value.
    pub fn from_env() -> Result<Self, FabricError> {
        let variables = std::env::vars_os();
        let variables = variables.map(|(name, value)| {
            // What is not Unicode is no setting; with our prefix it is told as a wrong value.
            (
                name.to_string_lossy().into_owned(),
                value.to_string_lossy().into_owned(),
            )
        });
        Self::from_variables(variables)
    }

    /// The same from any variables, as names and values.
    ///
    /// # Errors
    /// As [`from_env`](FabricConfig::from_env).
    pub fn from_variables<N: AsRef<str>, V: Into<String>>(
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Result<Self, FabricError> {
        let fields = variables.into_iter().filter_map(|(name, value)| {
            let name = name.as_ref();
            let key = name.strip_prefix(PREFIX)?.to_lowercase();
            let value: String = value.into();
            let value = value.trim();
            (!value.is_empty()).then(|| (name.to_owned(), key, read(value)))
        });
        let problems = |problems: Vec<SettingProblem>| FabricError::Settings { problems };
        collect(fields, variable).map_err(problems)
    }
}

/// The variable of a key.
pub(super) fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase())
}

/// A number or a truth value where it is one, else text.
fn read(value: &str) -> Value {
    match serde_json::from_str(value) {
        Ok(plain @ (Value::Number(_) | Value::Bool(_))) => plain,
        _ => Value::String(value.to_owned()),
    }
}
