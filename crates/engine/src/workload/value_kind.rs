//! The kinds of values that a workload writes: their sizes and their content.

mod written;

use std::{collections::BTreeMap, ops::RangeInclusive};

use super::{WorkloadError, quantity::MAX_WEIGHT};
use serde::{Deserialize, Serialize};

/// The maximum size of a value: 64 MiB.
pub const MAX_VALUE_SIZE: u32 = 64 << 20;

/// The characters around the text in a JSON value.
pub(super) const JSON: [&[u8]; 2] = [b"{\"text\":\"", b"\"}"];

/// The lowest accepted compression ratio of values. With a lower ratio, the values would not differ from each other.
const LEAST_SHARE: f64 = 0.02;

/// A kind of values: their sizes and their content.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ValueKind {
    /// The sizes of the values.
    #[serde(skip_serializing_if = "crate::stats::is_default")]
    pub size: Size,
    /// The content of the values.
    #[serde(skip_serializing_if = "crate::stats::is_default")]
    pub content: Content,
}

/// The sizes of a kind of values. In a file, a size is a number, `{ from = 64, to = 1024 }`, or `{ weights = { 64 = 9,
/// "4k" = 1 } }`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Size {
    /// The value size that is set for the load.
    #[default]
    Knob,
    /// The same size for all values, in bytes.
    Bytes(u32),
    /// A size in a range, including both ends. All sizes are equally likely.
    Range {
        /// The lowest size in bytes.
        from: u32,
        /// The highest size in bytes.
        to: u32,
    },
    /// Sizes with weights. A size is drawn in proportion to its weight.
    Weights(BTreeMap<u32, u32>),
}

/// The content of values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Random characters from an alphabet of 64 letters, digits and signs. Each byte has six bits of entropy.
    #[default]
    Printable,
    /// Random bytes.
    Random,
    /// Random English words.
    Text,
    /// A JSON object with one text field.
    Json,
    /// Random characters from the alphabet of base64.
    Base64,
    /// Only the letter x.
    Alike,
    /// Bytes that deflate compresses to this share of their size, from 0.02 to 1.
    Compressible(f64),
}

impl Size {
    pub(super) fn is_knobs(&self) -> bool {
        *self == Self::Knob
    }

    /// Returns the smallest and the largest size, if the load's value size is `knob`.
    pub fn bounds(&self, knob: u32) -> RangeInclusive<u32> {
        match self {
            Self::Knob => knob..=knob,
            Self::Bytes(bytes) => *bytes..=*bytes,
            Self::Range { from, to } => *from..=*to,
            Self::Weights(weights) => {
                let mut asked = weights.iter().filter(|(_, weight)| **weight > 0).map(|(size, _)| *size);
                let first = asked.next().unwrap_or(0);
                first..=asked.next_back().unwrap_or(first)
            }
        }
    }

    /// Returns the mean size, if the load's value size is `knob`.
    pub fn mean(&self, knob: u32) -> f64 {
        match self {
            Self::Knob | Self::Bytes(_) | Self::Range { .. } => {
                let bounds = self.bounds(knob);
                f64::midpoint((*bounds.start()).into(), (*bounds.end()).into())
            }
            Self::Weights(weights) => {
                let total: f64 = weights.values().map(|weight| f64::from(*weight)).sum();
                let weighted = weights.iter().map(|(size, weight)| f64::from(*size) * f64::from(*weight));
                weighted.sum::<f64>() / total
            }
        }
    }
}

impl Content {
    /// Returns the smallest possible size of a value with this content.
    pub(super) fn least(self) -> u32 {
        match self {
            Self::Json => JSON.iter().map(|part| part.len() as u32).sum(),
            _ => 1,
        }
    }
}

impl ValueKind {
    /// Checks the kind of values, if the load's value size is `knob`.
    ///
    /// # Errors
    /// Fails if the kind of values is invalid. The error is the reason.
    pub fn check(&self, knob: u32) -> Result<(), WorkloadError> {
        if let Size::Weights(weights) = &self.size {
            if let Some(weight) = weights.values().find(|weight| **weight > MAX_WEIGHT) {
                return Err(invalid!("the weights of sizes must be at most {MAX_WEIGHT}, not {weight}"));
            }
            if weights.values().all(|weight| *weight == 0) {
                return Err(WorkloadError::of(
                    "none of its sizes has a weight; give at least one of them a weight above 0",
                ));
            }
        }
        let (from, to) = self.size.bounds(knob).into_inner();
        if from > to {
            return Err(invalid!(
                "a range of sizes must go from the lower to the higher, not from {from} to {to}"
            ));
        }
        if let Some(size) = [from, to].into_iter().find(|size| !(1..=MAX_VALUE_SIZE).contains(size)) {
            return Err(invalid!("a value must have 1 to {MAX_VALUE_SIZE} bytes, not {size}"));
        }
        match self.content {
            Content::Compressible(share) if !(LEAST_SHARE..=1.0).contains(&share) => {
                Err(invalid!("compressible must be between {LEAST_SHARE} and 1, not {share}"))
            }
            Content::Json if from < self.content.least() => {
                let least = self.content.least();
                Err(invalid!("a JSON object needs at least {least} bytes, not {from}"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> Option<String> {
        let kind = text.parse::<ValueKind>().unwrap();
        kind.check(8).err().map(|error| error.to_string())
    }

    #[test]
    fn an_invalid_kind_of_values_is_refused_with_the_reason() {
        for good in
            ["1..67108864", "64M", "1:1,2:0", "11..12 json", "compressible 0.02", "8 compressible 1", "text"]
        {
            assert_eq!(error(good), None, "{good}");
        }
        for (bad, message) in [
            ("0", "a value must have 1 to 67108864 bytes, not 0"),
            ("0..5", "a value must have 1 to 67108864 bytes, not 0"),
            ("67108865", "a value must have 1 to 67108864 bytes, not 67108865"),
            ("1:1,67108865:1", "a value must have 1 to 67108864 bytes, not 67108865"),
            ("9..3", "a range of sizes must go from the lower to the higher, not from 9 to 3"),
            ("9:0,3:0", "none of its sizes has a weight; give at least one of them a weight above 0"),
            ("9:1000001", "the weights of sizes must be at most 1000000, not 1000001"),
            ("compressible 0.01", "compressible must be between 0.02 and 1, not 0.01"),
            ("compressible NaN", "compressible must be between 0.02 and 1, not NaN"),
            ("10..20 json", "a JSON object needs at least 11 bytes, not 10"),
            ("json", "a JSON object needs at least 11 bytes, not 8"),
        ] {
            assert_eq!(error(bad).as_deref(), Some(message), "{bad}");
        }
    }

    #[test]
    fn a_kind_has_bounds_and_a_mean() {
        for (text, bounds, mean) in [
            ("text", 8..=8, 8.0),
            ("100", 100..=100, 100.0),
            ("64..1024", 64..=1024, 544.0),
            ("64:9,4k:1", 64..=4096, 467.2),
            ("1:0,64:3,128:1,4k:0", 64..=128, 80.0),
        ] {
            let size = text.parse::<ValueKind>().unwrap().size;
            assert_eq!((size.bounds(8), size.mean(8)), (bounds, mean), "{text}");
        }
    }
}
