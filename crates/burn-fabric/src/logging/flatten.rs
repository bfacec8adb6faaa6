//! Values of any kind as names and texts.

use std::fmt::Display;

use serde::Serialize;
use serde::ser::{self, Error as _, Serializer};
use serde_json::{Error, Value};

/// Leaves with the names on the way to them, joined by dots; numbers as Rust shows them, so that an
/// `f32` keeps its digits and what is not finite reads `NaN`, `inf` or `-inf`.
pub(super) fn flatten(value: &impl Serialize) -> Result<Vec<(String, String)>, Error> {
    let mut leaves = Vec::new();
    value.serialize(Flatten {
        name: String::new(),
        leaves: &mut leaves,
    })?;
    Ok(leaves)
}

/// Where a value goes: below a name, which is empty for the whole.
struct Flatten<'l> {
    name: String,
    leaves: &'l mut Vec<(String, String)>,
}

impl<'l> Flatten<'l> {
    fn leaf(self, text: impl Display) -> Result<(), Error> {
        // A plain value in the place of a struct has no name of its own.
        let name = match self.name.is_empty() {
            true => "value".to_owned(),
            false => self.name,
        };
        self.leaves.push((name, text.to_string()));
        Ok(())
    }

    /// The place of what is called `key` within this.
    fn below(self, key: impl Display) -> Self {
        let name = match self.name.is_empty() {
            true => key.to_string(),
            false => format!("{}.{key}", self.name),
        };
        Self { name, ..self }
    }

    fn parts(self, none: &'static str) -> Parts<'l> {
        Parts {
            of: self,
            next: 0,
            key: None,
            none,
        }
    }
}

/// Items, fields or entries of a value.
struct Parts<'l> {
    of: Flatten<'l>,
    next: usize,
    /// Of the entry whose value comes next.
    key: Option<String>,
    /// The text of such a value without any.
    none: &'static str,
}

impl Parts<'_> {
    fn part(&mut self, key: impl Display, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.next += 1;
        let whole = Flatten {
            name: self.of.name.clone(),
            leaves: &mut *self.of.leaves,
        };
        value.serialize(whole.below(key))
    }

    fn item(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Error> {
        self.part(self.next, value)
    }

    fn end(self) -> Result<(), Error> {
        match self.next {
            0 => self.of.leaf(self.none),
            _ => Ok(()),
        }
    }
}

/// Methods for plain values, whose text is how Rust shows them.
macro_rules! leaves {
    ($($method:ident: $type:ty),* $(,)?) => {
        $(fn $method(self, value: $type) -> Result<(), Error> {
            self.leaf(value)
        })*
    };
}

impl<'l> Serializer for Flatten<'l> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Parts<'l>;
    type SerializeTuple = Parts<'l>;
    type SerializeTupleStruct = Parts<'l>;
    type SerializeTupleVariant = Parts<'l>;
    type SerializeMap = Parts<'l>;
    type SerializeStruct = Parts<'l>;
    type SerializeStructVariant = Parts<'l>;

    leaves! {
        serialize_bool: bool, serialize_char: char, serialize_str: &str,
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
    }

    // With an exponent where they are far from 1.
    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.leaf(format_args!("{value:?}"))
    }
    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.leaf(format_args!("{value:?}"))
    }
    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), Error> {
        match self.name.is_empty() {
            true => Ok(()), // no hyper-parameters at all
            false => self.leaf("null"),
        }
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }
    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<(), Error> {
        self.leaf(variant)
    }
    fn serialize_newtype_struct<T>(self, _: &'static str, value: &T) -> Result<(), Error>
    where
        T: Serialize + ?Sized,
    {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error>
    where
        T: Serialize + ?Sized,
    {
        value.serialize(self.below(variant))
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'l>, Error> {
        Ok(self.parts("[]"))
    }
    fn serialize_tuple(self, _: usize) -> Result<Parts<'l>, Error> {
        Ok(self.parts("[]"))
    }
    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'l>, Error> {
        Ok(self.parts("[]"))
    }
    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'l>, Error> {
        Ok(self.below(variant).parts("[]"))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'l>, Error> {
        Ok(self.parts("{}"))
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Parts<'l>, Error> {
        Ok(self.parts("{}"))
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'l>, Error> {
        Ok(self.below(variant).parts("{}"))
    }
}

/// Serde's traits for items, which differ in their names alone.
macro_rules! items {
    ($($kind:ident::$method:ident),* $(,)?) => {
        $(impl ser::$kind for Parts<'_> {
            type Ok = ();
            type Error = Error;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }
            fn end(self) -> Result<(), Error> {
                Parts::end(self)
            }
        })*
    };
}

/// And for fields.
macro_rules! fields {
    ($($kind:ident),*) => {
        $(impl ser::$kind for Parts<'_> {
            type Ok = ();
            type Error = Error;
            fn serialize_field<T>(&mut self, key: &'static str, value: &T) -> Result<(), Error>
            where
                T: Serialize + ?Sized,
            {
                self.part(key, value)
            }
            fn end(self) -> Result<(), Error> {
                Parts::end(self)
            }
        })*
    };
}

items! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}
fields! { SerializeStruct, SerializeStructVariant }

impl ser::SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.key = Some(match serde_json::to_value(key)? {
            Value::String(text) => text,
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err(Error::custom("a map's keys are no texts"));
            }
            plain => plain.to_string(),
        });
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let key = self.key.take().unwrap_or_default(); // serde gives it first
        self.part(key, value)
    }

    fn end(self) -> Result<(), Error> {
        Parts::end(self)
    }
}
