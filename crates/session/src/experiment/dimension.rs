//! The horizontal axis of a curve: a knob or a server parameter whose values are numbers or lengths of time.

use super::{ExperimentSetting, WordsError};
use crate::{
    knobs::{Knob, Knobs},
    server::{PARAMETERS, Parameter, ParameterValues},
    units::{self, ParseQuantityError},
};

/// A knob (a setting of the load) or a server parameter, with numeric values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// A knob. The values of `think` and `session-length` are fixed lengths, in µs; 0 is `none`.
    Knob(Knob),
    /// A parameter of the server.
    Parameter(&'static Parameter),
}

impl Dimension {
    /// Returns all dimensions: the knobs in the order of the screen's panel, then the server parameters.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::knobs().chain(Self::parameters())
    }

    fn knobs() -> impl Iterator<Item = Self> {
        Knob::ALL.into_iter().filter(|knob| knob.is_number()).map(Self::Knob)
    }

    fn parameters() -> impl Iterator<Item = Self> {
        let has_numbers = |parameter: &&Parameter| {
            matches!(parameter.values, ParameterValues::Numbers(..) | ParameterValues::Bytes(_))
        };
        PARAMETERS.iter().filter(has_numbers).map(Self::Parameter)
    }

    /// Parses the knob or parameter at the start of a text such as `clients 1..1000` or `config io-threads 1,2,4`.
    /// Returns the dimension and the rest of the text.
    ///
    /// # Errors
    /// The error is a message that lists the existing dimensions.
    pub fn in_words(text: &str) -> Result<(Self, &str), WordsError> {
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("config ") {
            let (name, rest) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
            let found = Self::parameters().find(|parameter| parameter.name() == name);
            let names = || Self::parameters().map(Self::name).collect::<Vec<_>>().join(", ");
            let none = || {
                WordsError::of(format!(
                    "config '{name}' is not a parameter with numbers; give one of {}",
                    names()
                ))
            };
            return Ok((found.ok_or_else(none)?, rest.trim()));
        }
        if let Some((knob, rest)) = Knob::in_query(text).filter(|(knob, _)| knob.is_number()) {
            return Ok((Self::Knob(knob), rest));
        }
        let words = Self::knobs().map(Self::word).collect::<Vec<_>>().join(", ");
        Err(WordsError::of(format!(
            "'{text}' must begin with one of {words}, config NAME, whose values are whole numbers or times"
        )))
    }

    /// Returns the name of the dimension: `value size`, `io-threads`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Knob(knob) => knob.name(),
            Self::Parameter(parameter) => parameter.name,
        }
    }

    /// Returns the text that a user types before a value: `value size`, `config io-threads`.
    pub fn word(self) -> String {
        match self {
            Self::Parameter(parameter) => format!("config {}", parameter.name),
            _ => self.name().to_owned(),
        }
    }

    /// Returns the setting of a value as a user types it: `clients 50`, `think 5000us`.
    pub(super) fn setting(self, value: u64) -> String {
        match value {
            0 if self.is_length() => format!("{} none", self.word()),
            value => format!("{} {value}{}", self.word(), if self.is_length() { "us" } else { "" }),
        }
    }

    /// Returns whether the values are lengths of time.
    fn is_length(self) -> bool {
        matches!(self, Self::Knob(knob) if knob.is_length())
    }

    /// Returns whether the dimension is a concurrency, such as the number of clients. The universal
    /// scalability law applies only to such dimensions.
    pub fn is_concurrency(self) -> bool {
        match self {
            Self::Knob(knob) => matches!(knob, Knob::Clients | Knob::Pipeline),
            Self::Parameter(parameter) => parameter.name == "io-threads",
        }
    }

    /// Returns whether the values are bytes.
    pub fn is_bytes(self) -> bool {
        match self {
            Self::Knob(knob) => knob == Knob::ValueSize,
            Self::Parameter(parameter) => matches!(parameter.values, ParameterValues::Bytes(_)),
        }
    }

    /// Parses a typed value: `50`, `10k`, `4k` bytes, `5ms`, `none`.
    ///
    /// # Errors
    /// Fails if the text is not a number, or not a length of time.
    pub fn parse(self, text: &str) -> Result<u64, ParseQuantityError> {
        match self {
            Self::Knob(knob) => knob.parse(text),
            _ if self.is_bytes() => units::parse_bytes(text),
            Self::Parameter(_) => units::parse_count(text),
        }
    }

    /// Returns a value with its unit: `50`, `10 k/s`, `4.00 KiB`, `5.00 ms`.
    pub fn written(self, value: u64) -> String {
        match self {
            Self::Knob(
                Knob::Clients | Knob::Pipeline | Knob::Receivers | Knob::Search(_) | Knob::Reconnect,
            ) => units::setting(value),
            Self::Knob(knob) => knob.written(value),
            _ if self.is_bytes() => units::bytes(value),
            Self::Parameter(_) => units::setting(value),
        }
    }

    /// Returns the name and a value: `pipeline 16`, `value size 4.00 KiB`.
    pub fn named(self, value: u64) -> String {
        format!("{} {}", self.name(), self.written(value))
    }

    /// Returns the value of the dimension in these knobs. Returns `None` for a server parameter, and for a knob without
    /// a value, such as the rate of a closed loop.
    pub fn value(self, knobs: &Knobs) -> Option<u64> {
        match self {
            Self::Knob(knob) => knob.number(knobs),
            Self::Parameter(_) => None,
        }
    }

    /// Returns a setting with the knobs `base`, except for this value of the dimension.
    ///
    /// # Errors
    /// Fails if the value is outside the valid range.
    pub fn set(self, value: u64, base: &Knobs) -> Result<ExperimentSetting, WordsError> {
        ExperimentSetting::parse(&self.setting(value), base)
    }

    /// Returns the knobs, with 1 as the value of this dimension's knob. Knobs that differ only in this knob become
    /// equal.
    pub(super) fn others(self, knobs: &Knobs) -> Knobs {
        let Self::Knob(knob) = self else { return knobs.clone() };
        knob.with_number(knobs, 1).unwrap_or_else(|_| knobs.clone())
    }
}

/// A range of values of a dimension, as text: `1k..50k`, `1..64 in 10`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    /// The first value.
    pub(super) from: u64,
    /// The last value, which can be lower than the first value.
    pub(super) to: u64,
    /// The number of steps, if given.
    pub(super) steps: Option<usize>,
}

impl Range {
    /// Parses a range.
    pub(super) fn parse(dimension: Dimension, words: &str) -> Result<Self, WordsError> {
        let none = || {
            let (name, unit) = (dimension.name(), if dimension.is_length() { "ms" } else { "" });
            WordsError::of(format!(
                "'{words}' is not a range of {name}; write for example {name} 1{unit}..64{unit}, or 1{unit}..64{unit} \
                 in 10"
            ))
        };
        let (from, to) = words.split_once("..").ok_or_else(none)?;
        let (to, steps) = match to.split_once(" in ") {
            Some((to, steps)) => {
                let steps = steps.trim().trim_end_matches("steps").trim_end();
                (to, Some(steps.parse().ok().filter(|steps| *steps > 0).ok_or_else(none)?))
            }
            None => (to, None),
        };
        let (from, to) = (from.trim(), to.trim());
        if from.is_empty() || to.is_empty() {
            return Err(none());
        }
        Ok(Self { from: dimension.parse(from)?, to: dimension.parse(to)?, steps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dimension_parses_its_own_text_and_values() {
        for dimension in Dimension::all() {
            let text = dimension.setting(50);
            let typed = if dimension.is_length() { "50us" } else { "50" };
            assert_eq!(Dimension::in_words(&text), Ok((dimension, typed)));
            assert_eq!(
                dimension.parse(dimension.written(50).trim_end_matches(" %")),
                Ok(50),
                "{dimension:?}"
            );
            let mut knobs = Knobs::default();
            match dimension {
                Dimension::Knob(Knob::Receivers) => {
                    knobs.workload = crate::workload::preset("pubsub").unwrap();
                }
                Dimension::Knob(Knob::Search(_)) => {
                    knobs.workload = crate::workload::preset("vectors").unwrap();
                }
                _ => {}
            }
            let setting = dimension.set(50, &knobs).unwrap();
            match dimension {
                Dimension::Knob(_) => assert_eq!(dimension.value(&setting.knobs), Some(50)),
                Dimension::Parameter(parameter) => assert_eq!(setting.config, [(parameter, "50".to_owned())]),
            }
            assert_eq!(dimension.others(&setting.knobs), dimension.others(&knobs), "{dimension:?}");
        }
    }

    #[test]
    fn sizes_and_rates_are_read_and_written_with_their_units() {
        let (size, rest) = Dimension::in_words("value 4k").unwrap();
        let (rate, _) = Dimension::in_words("rate 10k/s").unwrap();
        assert_eq!((size.parse(rest), size.written(4096)), (Ok(4096), "4.00 KiB".to_owned()));
        assert_eq!((rate.parse("10k/s"), rate.written(10_000)), (Ok(10_000), "10 k/s".to_owned()));
        assert_eq!(rate.value(&Knobs::default()), None);
        let (memory, rest) = Dimension::in_words("config maxmemory 64mb").unwrap();
        assert_eq!(memory.parse(rest), Ok(64 << 20));
    }

    #[test]
    fn the_lengths_of_a_sweep_are_fixed_and_none_is_no_pause() {
        let (think, rest) = Dimension::in_words("think 0,5ms,1.5s").unwrap();
        let values: Vec<_> = rest.split(',').map(|text| think.parse(text).unwrap()).collect();
        assert_eq!(values, [0, 5000, 1_500_000]);
        let written: Vec<_> = values.iter().map(|value| think.written(*value)).collect();
        assert_eq!(written, ["none", "5.00 ms", "1.50 s"]);
        let read_back =
            values.iter().map(|value| think.value(&think.set(*value, &Knobs::default()).unwrap().knobs));
        assert!(read_back.eq(values.iter().copied().map(Some)));
        let random = Knobs { think: Some("1ms..2ms".parse().unwrap()), ..Knobs::default() };
        assert_eq!(think.value(&random), None, "a random length is no value of a curve");
        let open = Knobs { rate: Some(5), ..Knobs::default() };
        assert!(
            think.set(5000, &open).unwrap_err().to_string().starts_with("think time needs a closed loop")
        );
    }

    #[test]
    fn a_dimension_without_numbers_is_refused_with_a_list_of_valid_ones() {
        for (text, expected) in [
            (
                "wheels 1..4",
                "'wheels 1..4' must begin with one of clients, pipeline, rate, reads, value size, keys, receivers, neighbours, ef, reconnect, think, session-length, config NAME, whose",
            ),
            ("arrivals 1..4", "'arrivals 1..4' must begin with one of"),
            ("workload get", "'workload get' must begin with one of"),
            (
                "config appendfsync 1",
                "config 'appendfsync' is not a parameter with numbers; give one of maxmemory, io-threads, hz",
            ),
            ("", "'' must begin with one of"),
        ] {
            let error = Dimension::in_words(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
