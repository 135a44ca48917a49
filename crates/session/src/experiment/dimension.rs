//! The horizontal axis of a curve: a knob or a server parameter whose values are numbers or lengths of time.

use std::sync::Arc;

use super::{ExperimentSetting, WordsError};
use crate::{
    knobs::{Adjustable, Knob, Knobs, RandomLength},
    server::{PARAMETERS, Parameter, ParameterValues},
    units::{self, ParseQuantityError},
};

/// A knob (a setting of the load) or a server parameter, with numeric values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// A knob.
    Knob(Knob),
    /// `reconnect`, `think` or `session-length`. The values of `think` and `session-length` are fixed
    /// lengths, in µs; 0 is `none`.
    Setting(Adjustable),
    /// A parameter of the server.
    Parameter(&'static Parameter),
}

impl Dimension {
    /// Returns all dimensions: the knobs in the order of the screen's panel, then the server parameters.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::knobs().chain(Self::parameters())
    }

    fn knobs() -> impl Iterator<Item = Self> {
        let settings = [Adjustable::Reconnect, Adjustable::Think, Adjustable::SessionLength];
        let knobs = Knob::ALL.into_iter().filter(|knob| knob.is_whole_number()).map(Self::Knob);
        knobs.chain(settings.map(Self::Setting))
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
        match Adjustable::in_query(text) {
            Some((Adjustable::Knob(knob), rest)) if knob.is_whole_number() => {
                return Ok((Self::Knob(knob), rest));
            }
            Some((setting, rest)) if Self::knobs().any(|known| known == Self::Setting(setting)) => {
                return Ok((Self::Setting(setting), rest));
            }
            _ => {}
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
            Self::Setting(setting) => setting.word(),
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
        matches!(self, Self::Setting(Adjustable::Think | Adjustable::SessionLength))
    }

    /// Returns whether the dimension is a concurrency, such as the number of clients. The universal
    /// scalability law applies only to such dimensions.
    pub fn is_concurrency(self) -> bool {
        match self {
            Self::Knob(knob) => matches!(knob, Knob::Clients | Knob::Pipeline),
            Self::Setting(_) => false,
            Self::Parameter(parameter) => parameter.name == "io-threads",
        }
    }

    /// Returns whether the values are bytes.
    pub fn is_bytes(self) -> bool {
        match self {
            Self::Knob(knob) => knob == Knob::ValueSize,
            Self::Setting(_) => false,
            Self::Parameter(parameter) => matches!(parameter.values, ParameterValues::Bytes(_)),
        }
    }

    /// Parses a typed value: `50`, `10k`, `4k` bytes, `5ms`, `none`.
    ///
    /// # Errors
    /// Fails if the text is not a number, or no length of time.
    pub fn parse(self, text: &str) -> Result<u64, ParseQuantityError> {
        match self {
            _ if self.is_length() && matches!(text, "0" | "none") => Ok(0),
            _ if self.is_length() => units::parse_microseconds(text),
            _ if self.is_bytes() => units::parse_bytes(text),
            Self::Knob(Knob::Rate) => units::parse_count(text.trim_end_matches("/s")),
            Self::Knob(Knob::Reads) => units::parse_count(text.trim_end_matches('%').trim_end()),
            _ => units::parse_count(text),
        }
    }

    /// Returns a value with its unit: `50`, `10 k/s`, `4.00 KiB`, `5.00 ms`.
    pub fn written(self, value: u64) -> String {
        match self {
            _ if self.is_length() && value == 0 => "none".to_owned(),
            _ if self.is_length() => units::latency(value.saturating_mul(1000)),
            _ if self.is_bytes() => units::bytes(value),
            Self::Knob(Knob::Rate) => units::setting(value) + "/s",
            Self::Knob(Knob::Reads) => format!("{value} %"),
            _ => units::setting(value),
        }
    }

    /// Returns the value of the dimension in these knobs. Returns `None` for a server parameter, and for a knob without
    /// a value, such as the rate of a closed loop.
    pub fn value(self, knobs: &Knobs) -> Option<u64> {
        let fixed = |length: Option<RandomLength>| length.map_or(Some(0), RandomLength::fixed_us);
        let knob = match self {
            Self::Knob(knob) => knob,
            Self::Setting(Adjustable::Think) => return fixed(knobs.think),
            Self::Setting(Adjustable::SessionLength) => return fixed(knobs.session_length),
            Self::Setting(_) => return knobs.reconnect.map(u64::from),
            Self::Parameter(_) => return None,
        };
        match knob {
            Knob::Clients => Some(knobs.clients.into()),
            Knob::Pipeline => Some(knobs.pipeline.into()),
            Knob::Rate => knobs.rate.map(u64::from),
            Knob::Arrivals | Knob::Distribution | Knob::Exponent | Knob::Weight(_) => None,
            Knob::Reads => knobs.workload.read_share().map(|share| (share * 100.0).round() as u64),
            Knob::ValueSize => (!knobs.workload.has_own_sizes()).then_some(knobs.value_size.into()),
            Knob::Receivers => knobs.workload.receiver_count().map(u64::from),
            Knob::Search(number) => knobs.workload.search_number(number).map(u64::from),
            Knob::Keys => (!knobs.workload.has_own_keys()).then_some(knobs.keyspace),
        }
    }

    /// Returns a setting with the knobs `base`, except for this value of the dimension.
    ///
    /// # Errors
    /// Fails if the value is outside the valid range.
    pub fn set(self, value: u64, base: &Knobs) -> Result<ExperimentSetting, WordsError> {
        ExperimentSetting::parse(&self.setting(value), base)
    }

    /// Returns the knobs, with the default value for the knob of this dimension.
    pub(super) fn others(self, knobs: &Knobs) -> Knobs {
        let mut knobs = knobs.clone();
        let usual = Knobs::default();
        match self {
            Self::Knob(Knob::Clients) => knobs.clients = usual.clients,
            Self::Knob(Knob::Pipeline) => knobs.pipeline = usual.pipeline,
            Self::Knob(Knob::Rate) => knobs.rate = None,
            Self::Knob(Knob::Reads) if knobs.workload.read_share().is_some() => {
                knobs.workload = knobs.workload.with_read_percent(50);
            }
            Self::Knob(Knob::ValueSize) => knobs.value_size = usual.value_size,
            Self::Knob(Knob::Keys) => knobs.keyspace = usual.keyspace,
            Self::Knob(Knob::Receivers) => {
                if let Ok(workload) = knobs.workload.with_receivers(1) {
                    knobs.workload = Arc::new(workload);
                }
            }
            Self::Knob(Knob::Search(number)) => {
                if let Ok(workload) = knobs.workload.with_search_number(number, 1) {
                    knobs.workload = Arc::new(workload);
                }
            }
            Self::Setting(Adjustable::Think) => knobs.think = None,
            Self::Setting(Adjustable::SessionLength) => knobs.session_length = None,
            Self::Setting(_) => knobs.reconnect = None,
            Self::Knob(_) | Self::Parameter(_) => {}
        }
        knobs
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
                Dimension::Knob(_) | Dimension::Setting(_) => {
                    assert_eq!(dimension.value(&setting.knobs), Some(50));
                }
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
