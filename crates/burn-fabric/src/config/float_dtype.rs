//! Float dtypes by their names.

use burn::tensor::{DType, FloatDType};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const ALL: [FloatDType; 5] = [
    FloatDType::F64,
    FloatDType::F32,
    FloatDType::Flex32,
    FloatDType::F16,
    FloatDType::BF16,
];

pub(super) fn name(dtype: FloatDType) -> &'static str {
    DType::from(dtype).name()
}

pub(super) fn serialize<S: Serializer>(
    dtype: &Option<FloatDType>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    dtype.map(name).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<FloatDType>, D::Error> {
    let Some(found) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let dtype = ALL.into_iter().find(|dtype| name(*dtype) == found);
    dtype.map(Some).ok_or_else(|| {
        let names = ALL.map(name).join(", ");
        serde::de::Error::custom(format!(
            "no float dtype is called `{found}`: choose one of {names}"
        ))
    })
}
