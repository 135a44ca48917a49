//! Parses and formats a workload's kind of values. The form is a table in a file, or a single line.

use std::{collections::BTreeMap, fmt, str::FromStr};

use super::{Content, Size, ValueKind};
use crate::{units::parse_bytes, workload::WorkloadError};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
    ser::SerializeMap,
};

impl FromStr for ValueKind {
    type Err = WorkloadError;

    /// Parses `64..1024`, `64..1024 text`, `64:9,4k:1`, `4k compressible 0.5` or `json`.
    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let no_kind = || {
            let sizes = "a size (128, 4k), a range (64..1024) or sizes with weights (64:9,4k:1)";
            let contents = "printable, random, text, json, base64, alike or compressible 0.5";
            invalid!(
                "'{text}' is not a kind of values; write {sizes}, then optionally the content: {contents}"
            )
        };
        let mut words = text.split_whitespace().peekable();
        let size = words.next_if(|word| word.starts_with(|first: char| first.is_ascii_digit()));
        let size = size.map_or(Some(Size::Knob), size_of).ok_or_else(no_kind)?;
        let content = match words.collect::<Vec<_>>().as_slice() {
            [] if !size.is_knobs() => Some(Content::default()),
            ["printable"] => Some(Content::Printable),
            ["random"] => Some(Content::Random),
            ["text"] => Some(Content::Text),
            ["json"] => Some(Content::Json),
            ["base64"] => Some(Content::Base64),
            ["alike"] => Some(Content::Alike),
            ["compressible", share] => share.parse().ok().map(Content::Compressible),
            _ => None,
        };
        Ok(Self { size, content: content.ok_or_else(no_kind)? })
    }
}

/// Parses a size in the syntax of a single line.
fn size_of(text: &str) -> Option<Size> {
    if let Some((from, to)) = text.split_once("..") {
        return Some(Size::Range { from: bytes(from)?, to: bytes(to)? });
    }
    if !text.contains(':') {
        return bytes(text).map(Size::Bytes);
    }
    let weight = |one: &str| {
        let (size, weight) = one.split_once(':')?;
        Some((bytes(size)?, weight.parse().ok()?))
    };
    weights(text.split(',').map(weight).collect::<Option<Vec<_>>>()?).map(Size::Weights)
}

fn bytes(text: &str) -> Option<u32> {
    parse_bytes(text).ok()?.try_into().ok()
}

/// Collects sizes with their weights. Returns `None` if a size occurs twice.
fn weights(all: Vec<(u32, u32)>) -> Option<BTreeMap<u32, u32>> {
    let count = all.len();
    Some(all.into_iter().collect::<BTreeMap<_, _>>()).filter(|weights| weights.len() == count)
}

impl fmt::Display for ValueKind {
    /// Writes the kind of values in the syntax of a single line.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let size = match &self.size {
            Size::Knob => return write!(f, "{}", self.content),
            Size::Bytes(bytes) => bytes.to_string(),
            Size::Range { from, to } => format!("{from}..{to}"),
            Size::Weights(weights) => {
                let all: Vec<_> = weights.iter().map(|(size, weight)| format!("{size}:{weight}")).collect();
                all.join(",")
            }
        };
        match self.content {
            Content::Printable => f.write_str(&size),
            content => write!(f, "{size} {content}"),
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Printable => f.write_str("printable"),
            Self::Random => f.write_str("random"),
            Self::Text => f.write_str("text"),
            Self::Json => f.write_str("json"),
            Self::Base64 => f.write_str("base64"),
            Self::Alike => f.write_str("alike"),
            Self::Compressible(share) => write!(f, "compressible {share}"),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Knob => to.serialize_none(),
            Self::Bytes(bytes) => to.serialize_u32(*bytes),
            Self::Range { from, to: last } => {
                let mut map = to.serialize_map(Some(2))?;
                map.serialize_entry("from", from)?;
                map.serialize_entry("to", last)?;
                map.end()
            }
            Self::Weights(weights) => {
                // Some formats do not allow numbers as keys.
                let weights = weights.iter().map(|(size, weight)| (size.to_string(), weight));
                let mut map = to.serialize_map(Some(1))?;
                map.serialize_entry("weights", &weights.collect::<BTreeMap<_, _>>())?;
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl<'de> Visitor<'de> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a size such as 128 or \"4k\", { from, to } or { weights }")
    }

    fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Size, E> {
        self.visit_str(&bytes.to_string())
    }

    fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Size, E> {
        self.visit_str(&bytes.to_string())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
        let bytes = bytes(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))?;
        Ok(Size::Bytes(bytes))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Size, A::Error> {
        let table = SizeTable::deserialize(MapAccessDeserializer::new(map))?;
        let bytes = |size: Self::Value| match size {
            Size::Bytes(bytes) => Ok(bytes),
            _ => Err(de::Error::custom("a range of sizes needs two numbers, from and to")),
        };
        match table {
            SizeTable { from: Some(from), to: Some(to), weights: None } => {
                Ok(Size::Range { from: bytes(from)?, to: bytes(to)? })
            }
            SizeTable { from: None, to: None, weights: Some(all) } => {
                let wrong =
                    || de::Error::custom("weights must be for sizes such as 128 or \"4k\", each size once");
                let all = all.iter().map(|(size, weight)| Some((self::bytes(size)?, *weight)));
                let all = all.collect::<Option<Vec<_>>>().and_then(weights);
                all.map(Size::Weights).ok_or_else(wrong)
            }
            _ => Err(de::Error::custom("a size must have either from and to, or weights")),
        }
    }
}

/// A size in the form of a table in a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SizeTable {
    from: Option<Size>,
    to: Option<Size>,
    weights: Option<BTreeMap<String, u32>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_in_a_single_line_is_read_back() {
        for (line, written) in [
            ("128", "128"),
            ("4k", "4096"),
            ("64..1k", "64..1024"),
            ("64:9,4k:1", "64:9,4096:1"),
            ("64..1024 text", "64..1024 text"),
            (" 4k  compressible 0.5", "4096 compressible 0.5"),
            ("8 printable", "8"),
            ("json", "json"),
            ("printable", "printable"),
            ("random", "random"),
            ("12 base64", "12 base64"),
        ] {
            let kind = line.parse::<ValueKind>().unwrap();
            assert_eq!(kind.to_string(), written);
            assert_eq!(written.parse(), Ok(kind));
        }
        for bad in [
            "",
            "x",
            "64..",
            "..64",
            "64...128",
            "64:",
            "64:9,",
            "64:9,64:1",
            "64:-1",
            "5G",
            "64 zip",
            "text 64",
            "64 64",
            "compressible",
            "compressible half",
            "64..1024,5",
        ] {
            let error = bad.parse::<ValueKind>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("'{bad}' is not a kind of values; write a size (128, 4k), ")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_kind_in_a_file_is_read_back() {
        for (written, line) in [
            (r#"{"size":128}"#, "128"),
            (r#"{"size":{"from":64,"to":1024},"content":"text"}"#, "64..1024 text"),
            (r#"{"size":{"weights":{"4096":1,"64":9}}}"#, "64:9,4k:1"),
            (r#"{"content":{"compressible":0.5}}"#, "compressible 0.5"),
            ("{}", "printable"),
        ] {
            let kind = line.parse::<ValueKind>().unwrap();
            assert_eq!(serde_json::to_string(&kind).unwrap(), written);
            assert_eq!(serde_json::from_str::<ValueKind>(written).unwrap(), kind);
        }
        let read = |text: &str| serde_json::from_str::<ValueKind>(text).unwrap();
        assert_eq!(read(r#"{"size":"4k"}"#), read(r#"{"size":4096}"#));
        assert_eq!(read(r#"{"size":{"from":"1k","to":"2k"}}"#), "1k..2k".parse().unwrap());
    }

    #[test]
    fn an_invalid_kind_in_a_file_is_reported() {
        for (written, message) in [
            (r#"{"size":-1}"#, "invalid value: string \"-1\", expected a size such as 128"),
            (r#"{"size":"much"}"#, "invalid value: string \"much\", expected a size such as 128"),
            (r#"{"size":4294967296}"#, "invalid value: string \"4294967296\""),
            (r#"{"size":true}"#, "invalid type: boolean `true`, expected a size such as 128"),
            (r#"{"size":{"from":1}}"#, "a size must have either from and to, or weights"),
            (r#"{"size":{"from":1,"to":2,"weights":{}}}"#, "a size must have either from and to, or weights"),
            (r#"{"size":{"from":1,"upto":2}}"#, "unknown field `upto`"),
            (r#"{"size":{"from":{"weights":{"1":1}},"to":2}}"#, "needs two numbers, from and to"),
            (r#"{"size":{"weights":{"4k":1,"4096":1}}}"#, "each size once"),
            (r#"{"size":{"weights":{"much":1}}}"#, "weights must be for sizes such as 128"),
            (r#"{"size":{"weights":{"4k":-1}}}"#, "invalid value: integer `-1`, expected u32"),
            (r#"{"sizes":1}"#, "unknown field `sizes`"),
            (r#"{"content":"zip"}"#, "unknown variant `zip`"),
        ] {
            let error = serde_json::from_str::<ValueKind>(written).unwrap_err().to_string();
            assert!(error.contains(message), "{written}: {error}");
        }
    }
}
