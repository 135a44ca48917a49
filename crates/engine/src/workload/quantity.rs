//! Whole numbers in a workload's file: as numbers, or as text with a suffix, `"1M"`.

use serde::{Deserialize, Deserializer, de};

use crate::units::parse_count;

/// The largest weight of an operation: a change of the read share multiplies weights by up to 200, within 32 bits.
pub const MAX_WEIGHT: u32 = 1_000_000;

#[derive(Deserialize)]
#[serde(untagged, expecting = "a whole number of at least 0, or a text such as \"1M\"")]
enum Written {
    Number(u64),
    Text(String),
}

/// Parses a number that fits its field.
pub fn quantity<'de, D: Deserializer<'de>, N: TryFrom<u64>>(from: D) -> Result<N, D::Error> {
    let number = match Written::deserialize(from)? {
        Written::Number(number) => number,
        Written::Text(text) => parse_count(&text).map_err(de::Error::custom)?,
    };
    N::try_from(number).map_err(|_| de::Error::custom(format!("{number} is too large")))
}

/// Parses a number that may be absent.
pub(super) fn some_quantity<'de, D: Deserializer<'de>, N: TryFrom<u64>>(
    from: D,
) -> Result<Option<N>, D::Error> {
    quantity(from).map(Some)
}
