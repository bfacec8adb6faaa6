//! Generators by their names.

use burn_materialize::InitRng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<S: Serializer>(
    rng: &Option<InitRng>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    rng.map(|rng| rng.to_string()).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<InitRng>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    let rng = name.map(|name| name.parse()).transpose();
    rng.map_err(serde::de::Error::custom)
}
