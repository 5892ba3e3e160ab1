//! JSON as Go's `encoding/json` reads it into a value of a known type, with its words for what is wrong.
//!
//! A response of an extender is JSON that somebody else wrote, and the errors in it get into events and conditions.
//! So it is read by Go's rules: the first value only; keys in any case; unknown keys are passed over; `null` leaves a
//! value as it is or empties it; a value of the wrong type is told of at the end, the first one; what comes twice is
//! read into the same place. The result is JSON again, with the names of the type, ready for serde.

mod decode;
mod scan;
mod text;
mod time;

#[cfg(test)]
mod tests;

use serde_json::Value;

/// A Go type, as far as decoding and its errors depend on it.
#[derive(Debug)]
pub(super) enum GoType {
    Bool,
    Int32,
    Int64,
    /// A type whose kind is string, with its name.
    Text(&'static str),
    Pointer(&'static Self),
    Slice(&'static str, &'static Self),
    /// A map with text for keys.
    Map(&'static str, &'static Self),
    Struct(&'static GoStruct),
    /// `resource.Quantity`, which reads itself.
    Quantity,
    /// `metav1.Time`, which reads itself.
    Time,
    /// `metav1.FieldsV1`, which takes anything.
    Anything,
}

/// A Go struct.
#[derive(Debug)]
pub(super) struct GoStruct {
    /// Its name without the package.
    pub name: &'static str,
    /// Its name with the package.
    pub full_name: &'static str,
    pub fields: &'static [GoField],
}

/// A field of a Go struct.
#[derive(Debug)]
pub(super) struct GoField {
    /// The name in JSON.
    pub name: &'static str,
    pub ty: &'static GoType,
    /// The embedded struct that it comes from; empty if it is of the struct itself.
    pub embedded: &'static str,
}

impl GoType {
    /// The name that errors have.
    fn name(&self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Text(name) | Self::Slice(name, _) | Self::Map(name, _) => name,
            Self::Pointer(to) => to.name(),
            Self::Struct(of) => of.full_name,
            Self::Quantity => "resource.Quantity",
            Self::Time => "v1.Time",
            Self::Anything => "v1.FieldsV1",
        }
    }
}

/// Whether the text begins with a complete value. A number is complete only where something follows it.
pub fn is_complete(text: &str) -> bool {
    scan::first_value(text)
        .is_ok_and(|value| value.end < text.len() || !text.ends_with(|c: char| c.is_ascii_digit()))
}

/// Reads the first value of the text. An empty value of Go is null or not there, except that text is never null.
///
/// # Errors
/// What Go's decoder says.
pub(super) fn decode(text: &str, ty: &GoType) -> Result<Value, String> {
    let value = text.get(scan::first_value(text)?).unwrap_or_default();
    decode::decode(value, ty)
}
