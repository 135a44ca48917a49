//! A kind of values as data.

mod written;

use std::{collections::BTreeMap, ops::RangeInclusive};

use super::{WorkloadError, quantity::MAX_WEIGHT};
use serde::{Deserialize, Serialize};

/// The largest value: 64 MiB.
pub const MAX_VALUE_SIZE: u32 = 64 << 20;

/// What an object of JSON has around its text.
pub(super) const JSON: [&[u8]; 2] = [b"{\"text\":\"", b"\"}"];

/// The smallest share that a value is compressed to: less would leave nothing in it that differs.
const LEAST_SHARE: f64 = 0.02;

/// A kind of values: how many bytes each has, and of what they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ValueKind {
    /// How many bytes each has.
    #[serde(skip_serializing_if = "Size::is_knobs")]
    pub size: Size,
    /// Of what they are.
    #[serde(skip_serializing_if = "Content::is_usual")]
    pub content: Content,
}

/// How many bytes each value of a kind has. In a file a number, `{ from = 64, to = 1024 }`, or
/// `{ weights = { 64 = 9, "4k" = 1 } }`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Size {
    /// As many as the knob of value sizes says.
    #[default]
    Knob,
    /// So many.
    Bytes(u32),
    /// Any number from the first to the last, each as often as any other.
    Range {
        /// The lowest.
        from: u32,
        /// The highest.
        to: u32,
    },
    /// One of these, each as often as its weight says in relation to the others.
    Weights(BTreeMap<u32, u32>),
}

/// Of what values are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// 64 letters, digits and signs by chance, so six bits of entropy a byte.
    #[default]
    Printable,
    /// All bytes by chance.
    Random,
    /// English words by chance.
    Text,
    /// An object of JSON with one text.
    Json,
    /// The letter x again and again.
    Alike,
    /// What deflate makes so many times as large, 0.02 to 1: 0.5 is half.
    Compressible(f64),
}

impl Size {
    pub(super) fn is_knobs(&self) -> bool {
        *self == Self::Knob
    }

    /// The smallest and the largest, where the knob says `knob`.
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

    /// Bytes in the mean, where the knob says `knob`.
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
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// The fewest bytes of a value.
    pub(super) fn least(self) -> u32 {
        match self {
            Self::Json => JSON.iter().map(|part| part.len() as u32).sum(),
            Self::Printable | Self::Random | Self::Text | Self::Alike | Self::Compressible(_) => 1,
        }
    }
}

impl ValueKind {
    /// Whether there are such values, where the knob says `knob`.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn check(&self, knob: u32) -> Result<(), WorkloadError> {
        if let Size::Weights(weights) = &self.size {
            if let Some(weight) = weights.values().find(|weight| **weight > MAX_WEIGHT) {
                return Err(WorkloadError::of(format!(
                    "the weights of sizes go up to {MAX_WEIGHT}, not {weight}"
                )));
            }
            if weights.values().all(|weight| *weight == 0) {
                return Err(WorkloadError::of("none of its sizes has a weight"));
            }
        }
        let (from, to) = self.size.bounds(knob).into_inner();
        if from > to {
            let text = format!("a range of sizes goes from the lower to the higher, not from {from} to {to}");
            return Err(WorkloadError::of(text));
        }
        if let Some(size) = [from, to].into_iter().find(|size| !(1..=MAX_VALUE_SIZE).contains(size)) {
            return Err(WorkloadError::of(format!("a value has 1 to {MAX_VALUE_SIZE} bytes, not {size}")));
        }
        match self.content {
            Content::Compressible(share) if !(LEAST_SHARE..=1.0).contains(&share) => {
                let text =
                    format!("values are compressible to {LEAST_SHARE} to 1 of their size, not to {share}");
                Err(WorkloadError::of(text))
            }
            Content::Json if from < self.content.least() => {
                let least = self.content.least();
                Err(WorkloadError::of(format!("an object of JSON has at least {least} bytes, not {from}")))
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
    fn what_cannot_be_is_refused_and_why() {
        for good in
            ["1..67108864", "64M", "1:1,2:0", "11..12 json", "compressible 0.02", "8 compressible 1", "text"]
        {
            assert_eq!(error(good), None, "{good}");
        }
        for (bad, message) in [
            ("0", "a value has 1 to 67108864 bytes, not 0"),
            ("0..5", "a value has 1 to 67108864 bytes, not 0"),
            ("67108865", "a value has 1 to 67108864 bytes, not 67108865"),
            ("1:1,67108865:1", "a value has 1 to 67108864 bytes, not 67108865"),
            ("9..3", "a range of sizes goes from the lower to the higher, not from 9 to 3"),
            ("9:0,3:0", "none of its sizes has a weight"),
            ("9:1000001", "the weights of sizes go up to 1000000, not 1000001"),
            ("compressible 0.01", "values are compressible to 0.02 to 1 of their size, not to 0.01"),
            ("compressible NaN", "values are compressible to 0.02 to 1 of their size, not to NaN"),
            ("10..20 json", "an object of JSON has at least 11 bytes, not 10"),
            ("json", "an object of JSON has at least 11 bytes, not 8"),
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
