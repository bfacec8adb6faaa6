//! Any serde value as JSON that people can read, without loss.
//!
//! JSON alone turns infinities and NaN into `null` and takes text keys only. What it has no form
//! for is written as an object with one key that begins with `$`.

use ciborium::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value as Json, json};

pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Value, String> {
    Value::serialized(value).map_err(|error| error.to_string())
}

pub(crate) fn decode<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    value.deserialized().map_err(|error| error.to_string())
}

pub(super) fn to_json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(bool) => Json::Bool(*bool),
        Value::Text(text) => Json::String(text.clone()),
        Value::Integer(integer) => {
            let integer = i128::from(*integer);
            if let Ok(integer) = u64::try_from(integer) {
                json!(integer)
            } else if let Ok(integer) = i64::try_from(integer) {
                json!(integer)
            } else {
                json!({ "$int": integer.to_string() })
            }
        }
        Value::Float(float) => match Number::from_f64(*float) {
            Some(number) => Json::Number(number),
            None => json!({ "$float": float.to_string() }),
        },
        Value::Bytes(bytes) => {
            let hex = bytes.iter().map(|byte| format!("{byte:02x}"));
            json!({ "$bytes": hex.collect::<String>() })
        }
        Value::Array(values) => Json::Array(values.iter().map(to_json).collect()),
        Value::Map(entries) => object(entries).unwrap_or_else(|| {
            let pairs = entries.iter();
            let pairs = pairs.map(|(key, value)| json!([to_json(key), to_json(value)]));
            json!({ "$map": pairs.collect::<Vec<_>>() })
        }),
        Value::Tag(tag, value) => json!({ "$tag": [tag, to_json(value)] }),
        other => unreachable!("ciborium has no other value: {other:?}"),
    }
}

/// Where all keys are texts, each once, and none of them reads as one of ours.
fn object(entries: &[(Value, Value)]) -> Option<Json> {
    let mut object = Map::new();
    for (key, value) in entries {
        let key = key.as_text().filter(|key| !key.starts_with('$'))?;
        if object.insert(key.to_owned(), to_json(value)).is_some() {
            return None;
        }
    }
    Some(Json::Object(object))
}

pub(super) fn from_json(json: &Json) -> Result<Value, String> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(bool) => Value::Bool(*bool),
        Json::String(text) => Value::Text(text.clone()),
        Json::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(integer), ..) => Value::Integer(integer.into()),
            (_, Some(integer), _) => Value::Integer(integer.into()),
            (.., Some(float)) => Value::Float(float),
            _ => return Err(format!("{number} is no number that can be read")),
        },
        Json::Array(values) => {
            Value::Array(values.iter().map(from_json).collect::<Result<_, _>>()?)
        }
        Json::Object(object) => {
            let mut entries = object.iter();
            if let (Some((key, value)), None) = (entries.next(), entries.next())
                && key.starts_with('$')
            {
                return special(key, value)
                    .ok_or_else(|| format!("{key:?} with {value} is no value that was written"));
            }
            let entries = object.iter();
            let entries =
                entries.map(|(key, value)| Ok((Value::Text(key.clone()), from_json(value)?)));
            Value::Map(entries.collect::<Result<_, String>>()?)
        }
    })
}

fn special(key: &str, value: &Json) -> Option<Value> {
    Some(match key {
        "$int" => Value::Integer(value.as_str()?.parse::<i128>().ok()?.try_into().ok()?),
        "$float" => Value::Float(value.as_str()?.parse().ok()?),
        "$bytes" => {
            let hex = value.as_str()?.as_bytes();
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
            let bytes = hex
                .chunks(2)
                .map(|pair| byte(pair).filter(|_| pair.len() == 2));
            Value::Bytes(bytes.collect::<Option<_>>()?)
        }
        "$map" => {
            let pair = |pair: &Json| match pair.as_array()?.as_slice() {
                [key, value] => Some((from_json(key).ok()?, from_json(value).ok()?)),
                _ => None,
            };
            Value::Map(value.as_array()?.iter().map(pair).collect::<Option<_>>()?)
        }
        "$tag" => match value.as_array()?.as_slice() {
            [tag, value] => Value::Tag(tag.as_u64()?, Box::new(from_json(value).ok()?)),
            _ => return None,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};
    use std::f64::consts::PI;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Kind {
        Unit,
        Pair(i8, String),
        Named { at: u64 },
    }

    fn round<T: Serialize + DeserializeOwned>(value: &T) -> T {
        let text = serde_json::to_string(&to_json(&encode(value).unwrap())).unwrap();
        decode(&from_json(&serde_json::from_str(&text).unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn what_json_has_no_form_for_comes_back() {
        for float in [
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            5e-324,
            PI,
            0.1,
            1.0,
            1e300,
        ] {
            assert_eq!(round(&float).to_bits(), float.to_bits(), "{float}");
        }
        assert!(round(&f64::NAN).is_nan());
        assert_eq!(round(&f32::MAX), f32::MAX);
        assert_eq!(round(&f32::MIN_POSITIVE), f32::MIN_POSITIVE);
        for integer in [u64::MAX, 0, 1 << 53] {
            assert_eq!(round(&integer), integer);
        }
        assert_eq!(round(&i64::MIN), i64::MIN);
        assert_eq!(round(&u128::MAX), u128::MAX);
        let by_number = HashMap::from([(3_u32, "c".to_owned()), (1, "a".to_owned())]);
        assert_eq!(round(&by_number), by_number);
        let odd = BTreeMap::from([("$float".to_owned(), 1.5)]);
        assert_eq!(round(&odd), odd);
        assert_eq!(round(&(Some(1_u8), None::<u8>, ())), (Some(1), None, ()));
        for kind in [
            Kind::Unit,
            Kind::Pair(-1, "x".to_owned()),
            Kind::Named { at: 9 },
        ] {
            assert_eq!(round(&kind), kind);
        }
        let bytes = Value::Bytes(vec![0, 255, 7]);
        assert_eq!(from_json(&to_json(&bytes)).unwrap(), bytes);
    }

    /// Every float comes back as it is; serde_json needs a feature for that.
    #[test]
    fn floats_keep_their_last_bit() {
        let mut bits = 0x3FF0_0000_0000_0001_u64;
        for _ in 0..20_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let float = f64::from_bits(bits);
            if float.is_finite() {
                assert_eq!(round(&float).to_bits(), bits, "{float}");
            }
        }
    }

    #[test]
    fn what_was_not_written_so_is_no_value() {
        for json in [
            json!({"$bytes": "0g"}),
            json!({"$bytes": "0"}),
            json!({"$map": [[1]]}),
            json!({"$else": 1}),
        ] {
            assert!(from_json(&json).is_err(), "{json}");
        }
    }
}
