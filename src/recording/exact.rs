//! JSON in which quantities and times are written so that nothing is lost.
//!
//! A wrapper around any serializer that says of itself that it is not for people; [`crate::api::Quantity`] and
//! [`crate::api::Time`] then spell out what they have. Reading needs no counterpart.

use std::fmt::Display;

use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// A value that is written without loss.
pub(super) struct Exact<'a, T: ?Sized>(pub &'a T);

impl<T: Serialize + ?Sized> Serialize for Exact<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Lossless(serializer))
    }
}

/// A serializer, or a part of one, whose values are written without loss.
struct Lossless<S>(S);

/// Methods that only pass their arguments on.
macro_rules! pass_on {
    ($($method:ident($($arg:ident: $ty:ty),*) -> $output:ty;)+) => {
        $(fn $method(self $(, $arg: $ty)*) -> Result<$output, S::Error> {
            self.0.$method($($arg),*)
        })+
    };
}

/// Methods that open a list or a map.
macro_rules! open {
    ($($method:ident($($arg:ident: $ty:ty),*) -> $output:ident;)+) => {
        $(fn $method(self $(, $arg: $ty)*) -> Result<Self::$output, S::Error> {
            self.0.$method($($arg),*).map(Lossless)
        })+
    };
}

impl<S: Serializer> Serializer for Lossless<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Lossless<S::SerializeSeq>;
    type SerializeTuple = Lossless<S::SerializeTuple>;
    type SerializeTupleStruct = Lossless<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Lossless<S::SerializeTupleVariant>;
    type SerializeMap = Lossless<S::SerializeMap>;
    type SerializeStruct = Lossless<S::SerializeStruct>;
    type SerializeStructVariant = Lossless<S::SerializeStructVariant>;

    fn is_human_readable(&self) -> bool {
        false
    }

    pass_on! {
        serialize_bool(value: bool) -> S::Ok;
        serialize_i8(value: i8) -> S::Ok;
        serialize_i16(value: i16) -> S::Ok;
        serialize_i32(value: i32) -> S::Ok;
        serialize_i64(value: i64) -> S::Ok;
        serialize_i128(value: i128) -> S::Ok;
        serialize_u8(value: u8) -> S::Ok;
        serialize_u16(value: u16) -> S::Ok;
        serialize_u32(value: u32) -> S::Ok;
        serialize_u64(value: u64) -> S::Ok;
        serialize_u128(value: u128) -> S::Ok;
        serialize_f32(value: f32) -> S::Ok;
        serialize_f64(value: f64) -> S::Ok;
        serialize_char(value: char) -> S::Ok;
        serialize_str(value: &str) -> S::Ok;
        serialize_bytes(value: &[u8]) -> S::Ok;
        serialize_none() -> S::Ok;
        serialize_unit() -> S::Ok;
        serialize_unit_struct(name: &'static str) -> S::Ok;
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str) -> S::Ok;
    }

    open! {
        serialize_seq(len: Option<usize>) -> SerializeSeq;
        serialize_tuple(len: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, len: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> SerializeTupleVariant;
        serialize_map(len: Option<usize>) -> SerializeMap;
        serialize_struct(name: &'static str, len: usize) -> SerializeStruct;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> SerializeStructVariant;
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&Exact(value))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, &Exact(value))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_variant(name, index, variant, &Exact(value))
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.collect_str(value)
    }
}

/// Lists: one method takes an element.
macro_rules! list {
    ($($name:ident: $method:ident;)+) => {
        $(impl<S: $name> $name for Lossless<S> {
            type Ok = S::Ok;
            type Error = S::Error;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
                self.0.$method(&Exact(value))
            }
            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        })+
    };
}

list! {
    SerializeSeq: serialize_element;
    SerializeTuple: serialize_element;
    SerializeTupleStruct: serialize_field;
    SerializeTupleVariant: serialize_field;
}

/// Structs: one method takes a field.
macro_rules! fields {
    ($($name:ident)+) => {
        $(impl<S: $name> $name for Lossless<S> {
            type Ok = S::Ok;
            type Error = S::Error;
            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), S::Error> {
                self.0.serialize_field(key, &Exact(value))
            }
            fn skip_field(&mut self, key: &'static str) -> Result<(), S::Error> {
                self.0.skip_field(key)
            }
            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        })+
    };
}

fields! { SerializeStruct SerializeStructVariant }

impl<S: SerializeMap> SerializeMap for Lossless<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.0.serialize_key(&Exact(key))
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.0.serialize_value(&Exact(value))
    }
    fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::collections::BTreeMap;

    use crate::api::{Quantity, Time};

    use super::*;

    #[test]
    fn quantities_and_times_lose_nothing_however_deep_they_are() {
        let quantity: Quantity = "0.50".parse().unwrap();
        let value = BTreeMap::from([("a", vec![Some((quantity, Time::from_nanos(1)))])]);
        let text = serde_json::to_string(&Exact(&value)).unwrap();
        assert_eq!(text, r#"{"a":[["0.50","1970-01-01T00:00:00.000000001Z"]]}"#);
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(text, r#"{"a":[["500m","1970-01-01T00:00:00Z"]]}"#);
    }
}
