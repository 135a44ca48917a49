//! A JSON value that keeps the order of an object's fields, for memtier_benchmark's JSON.

use serde::{Serialize, Serializer};

/// A JSON value.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum JsonValue {
    /// An unknown value.
    Null,
    /// A whole number.
    Whole(i64),
    /// Any other number.
    Decimal(f64),
    /// Text.
    Text(String),
    /// An object with its fields, in order.
    #[serde(serialize_with = "in_order")]
    Object(Vec<(String, JsonValue)>),
    /// An array.
    Array(Vec<JsonValue>),
}

fn in_order<S: Serializer>(fields: &[(String, JsonValue)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(fields.iter().map(|(name, value)| (name, value)))
}

impl From<u64> for JsonValue {
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or(Self::Decimal(number as f64), Self::Whole)
    }
}

impl From<u32> for JsonValue {
    fn from(number: u32) -> Self {
        Self::Whole(number.into())
    }
}

impl<T: Into<Self>> From<Option<T>> for JsonValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<&str> for JsonValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for JsonValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<(&str, Self)>> for JsonValue {
    fn from(fields: Vec<(&str, Self)>) -> Self {
        Self::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// Returns a boolean as memtier_benchmark writes it.
pub fn truth(is: bool) -> JsonValue {
    if is { "true".into() } else { "false".into() }
}
