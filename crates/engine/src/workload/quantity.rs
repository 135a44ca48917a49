//! Parses fields of a workload file that are whole numbers. Such a field is a number, or a text with a suffix (`"1M"`).

use serde::{Deserialize, Deserializer, de};

use crate::units::parse_count;

/// The maximum weight of an operation. A change of the share of reads multiplies weights by up to 200. The result must
/// fit into 32 bits.
pub const MAX_WEIGHT: u32 = 1_000_000;

#[derive(Deserialize)]
#[serde(untagged, expecting = "a whole number of at least 0, or a text such as \"1M\"")]
enum NumberOrText {
    Number(u64),
    Text(String),
}

/// Parses a whole number that fits the type of its field.
pub fn quantity<'de, D: Deserializer<'de>, N: TryFrom<u64>>(from: D) -> Result<N, D::Error> {
    let number = match NumberOrText::deserialize(from)? {
        NumberOrText::Number(number) => number,
        NumberOrText::Text(text) => parse_count(&text).map_err(de::Error::custom)?,
    };
    N::try_from(number).map_err(|_| de::Error::custom(format!("{number} is too large")))
}

/// Parses a whole number of an optional field.
///
/// # Errors
/// The errors are the same as for [`quantity`].
pub fn some_quantity<'de, D: Deserializer<'de>, N: TryFrom<u64>>(from: D) -> Result<Option<N>, D::Error> {
    quantity(from).map(Some)
}
