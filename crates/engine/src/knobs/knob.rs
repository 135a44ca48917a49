//! A knob. This module contains its name, how its value is shown, and the values that can be typed.

use super::{Backlog, Knobs, RandomLength, Rhythm, steps::DISTRIBUTIONS};
use crate::{
    units::{self, ParseQuantityError},
    workload::{Operation, SearchNumber, presets},
};

/// The value of `reconnect` that makes clients keep their connections.
pub(super) const NEVER: &str = "never";

/// The value that turns off `think` or `session-length`.
pub(super) const NONE: &str = "none";

/// A knob: a setting that a user can change while the load runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Knob {
    /// The number of connections.
    #[default]
    Clients,
    /// Requests in flight on each connection.
    Pipeline,
    /// The number of requests that are due per second. One step above the highest rate is `max`, which makes the loop
    /// closed.
    Rate,
    /// How the due times of requests are distributed.
    Arrivals,
    /// The share of GETs among all GETs and SETs.
    Reads,
    /// The size of a value, in bytes.
    ValueSize,
    /// The number of keys of the workload.
    Keys,
    /// The distribution of the keys in the requests.
    Distribution,
    /// The exponent of the distribution of keys, if the distribution has one.
    Exponent,
    /// The number of receivers of the messages that the workload sends.
    Receivers,
    /// A number in the searches for nearest vectors, such as the number of neighbours.
    Search(SearchNumber),
    /// The weight of the operation with this index in the workload.
    Weight(u16),
    /// The weight of one operation. The typed value contains the operation's name and the weight.
    WeightByName,
    /// What happens to requests that cannot be sent in time.
    Backlog,
    /// How soon a client sends again after its replies have arrived.
    Rhythm,
    /// The number of replies after which a client opens a new connection.
    Reconnect,
    /// How long clients pause between batches.
    Think,
    /// How long a client uses a connection before it opens a new connection.
    SessionLength,
    /// The workload. The typed value is the name of a preset of `--workload`. A workload file cannot be given.
    Workload,
}

impl Knob {
    /// All knobs except the weights of single operations. The knobs of the panel come first, in the order of the panel.
    pub const ALL: [Self; 19] = [
        Self::Clients,
        Self::Pipeline,
        Self::Rate,
        Self::Arrivals,
        Self::Reads,
        Self::ValueSize,
        Self::Keys,
        Self::Distribution,
        Self::Exponent,
        Self::Receivers,
        Self::Search(SearchNumber::Neighbours),
        Self::Search(SearchNumber::Ef),
        Self::WeightByName,
        Self::Backlog,
        Self::Rhythm,
        Self::Reconnect,
        Self::Think,
        Self::SessionLength,
        Self::Workload,
    ];

    /// The knobs that are not on the panel, and whose values are fields of [`Knobs`].
    pub const ALONE: [Self; 5] =
        [Self::Backlog, Self::Rhythm, Self::Reconnect, Self::Think, Self::SessionLength];

    /// Returns the knobs that are available with these settings, in the order of the panel. A workload of
    /// only GET and SET has a knob for the share of reads. Any other workload with several operations has a
    /// knob for the weight of each operation.
    pub fn of(knobs: &Knobs) -> Vec<Self> {
        let workload = &knobs.workload;
        let is_there = |knob: &Self| match knob {
            Self::Reads => workload.has_get_and_set_alone(),
            Self::Distribution => !workload.keys.is_empty() && workload.trace.is_none(),
            Self::Exponent => workload.exponent().is_some(),
            Self::Receivers => workload.receivers.is_some(),
            Self::Search(number) => workload.search_number(*number).is_some(),
            Self::Clients | Self::Pipeline | Self::Rate | Self::Arrivals | Self::ValueSize | Self::Keys => {
                true
            }
            _ => false,
        };
        let several = workload.operations.len() > 1 && !workload.has_get_and_set_alone();
        let operations = if several { workload.operations.len() } else { 0 };
        let weights = (0..operations).map(|place| Self::Weight(place as u16));
        Self::ALL.into_iter().filter(is_there).chain(weights).collect()
    }

    /// Returns the operation whose weight is this knob. Returns `None` for other knobs.
    pub(super) fn operation(self, knobs: &Knobs) -> Option<&Operation> {
        let Self::Weight(place) = self else { return None };
        knobs.workload.operations.get(usize::from(place))
    }

    /// Returns the knob's name in a list of knobs. The knob of a weight has the name of the operation.
    pub fn called(self, knobs: &Knobs) -> &str {
        self.operation(knobs).map_or(self.name(), |operation| &operation.name)
    }

    /// Finds the setting at the beginning of a query, by its full name or its first letters. Returns the setting and
    /// the value after it.
    pub fn in_query(query: &str) -> Option<(Self, &str)> {
        let query = query.trim_start();
        let named = |setting: Self| query.strip_prefix(setting.name()).filter(|rest| rest.starts_with(' '));
        if let Some((setting, rest)) =
            Self::ALL.into_iter().find_map(|setting| Some((setting, named(setting)?)))
        {
            return Some((setting, rest.trim()));
        }
        let (word, value) = query.split_once(' ')?;
        let setting =
            Self::ALL.into_iter().find(|setting| setting.name().starts_with(&word.to_lowercase()))?;
        Some((setting, value.trim()))
    }

    /// Returns the knob's name, as the screen shows it and as a user types it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clients => "clients",
            Self::Pipeline => "pipeline",
            Self::Rate => "rate",
            Self::Arrivals => "arrivals",
            Self::Reads => "reads",
            Self::ValueSize => "value size",
            Self::Keys => "keys",
            Self::Distribution => "distribution",
            Self::Exponent => "exponent",
            Self::Receivers => "receivers",
            Self::Search(number) => number.name(),
            Self::Weight(_) | Self::WeightByName => "weight",
            Self::Backlog => "backlog",
            Self::Rhythm => "rhythm",
            Self::Reconnect => "reconnect",
            Self::Think => "think",
            Self::SessionLength => "session-length",
            Self::Workload => "workload",
        }
    }

    /// Returns whether the knob has an effect with these knobs. `backlog` has no effect in a closed loop,
    /// where requests have no due times. `think` has no effect in an open loop.
    pub fn applies(self, knobs: &Knobs) -> bool {
        match self {
            Self::Backlog => knobs.rate.is_some(),
            Self::Think => knobs.rate.is_none(),
            _ => true,
        }
    }

    /// Returns the knobs in [`ALONE`](Self::ALONE) that have an effect and differ from their value in `base`. Each
    /// entry of the result is the name and the value of a knob.
    pub fn changed_alone(base: &Knobs, now: &Knobs) -> Vec<(&'static str, String)> {
        let changed = |knob: &Self| knob.applies(now) && knob.value(now) != knob.value(base);
        Self::ALONE.into_iter().filter(changed).map(|knob| (knob.name(), knob.value(now))).collect()
    }

    /// Returns whether the values of the knob are whole numbers or lengths of time. A sweep can vary such a knob.
    pub fn is_number(self) -> bool {
        !matches!(
            self,
            Self::Arrivals
                | Self::Distribution
                | Self::Exponent
                | Self::Weight(_)
                | Self::WeightByName
                | Self::Backlog
                | Self::Rhythm
                | Self::Workload
        )
    }

    /// Returns whether the values are lengths of time.
    pub fn is_length(self) -> bool {
        matches!(self, Self::Think | Self::SessionLength)
    }

    /// Returns the knob's value in `knobs`, with its unit.
    pub fn value(self, knobs: &Knobs) -> String {
        let none = || NONE.to_owned();
        let length = |length: Option<RandomLength>| length.map_or_else(none, |length| length.to_string());
        match self {
            Self::Arrivals => knobs.rate.map_or_else(|| "closed".to_owned(), |_| knobs.arrivals.to_string()),
            Self::Reads => knobs.workload.read_share().map_or_else(none, units::percent),
            Self::Distribution => match knobs.workload.distribution() {
                None if knobs.workload.keys.is_empty() => none(),
                None => "several".to_owned(),
                // The exponent is a knob of its own.
                Some(distribution) if distribution.exponent().is_some() => distribution.name(),
                Some(distribution) => distribution.to_string(),
            },
            Self::Exponent => knobs.workload.exponent().map_or_else(none, |exponent| exponent.to_string()),
            Self::Backlog => knobs.backlog.to_string(),
            Self::Rhythm => knobs.rhythm.to_string(),
            Self::Think => length(knobs.think),
            Self::SessionLength => length(knobs.session_length),
            Self::WeightByName | Self::Workload => knobs.workload.to_string(),
            _ => match self.number(knobs) {
                Some(number) => self.written(number),
                None => self.without_number().to_owned(),
            },
        }
    }

    /// Returns the value of a knob that has no number.
    fn without_number(self) -> &'static str {
        match self {
            Self::Rate => "max",
            Self::ValueSize | Self::Keys => "its own",
            Self::Reconnect => NEVER,
            _ => NONE,
        }
    }

    /// Returns a number of this knob with its unit: `50`, `10 k/s`, `4.00 KiB`, `5.00 ms`.
    pub fn written(self, number: u64) -> String {
        match self {
            Self::Rate => units::setting(number) + "/s",
            Self::Reads => format!("{number} %"),
            Self::ValueSize => units::bytes(number),
            Self::Keys => units::setting(number),
            _ if self.is_length() && number == 0 => NONE.to_owned(),
            _ if self.is_length() => units::latency(number.saturating_mul(1000)),
            _ => number.to_string(),
        }
    }

    /// Parses a number of this knob: `50`, `10k`, `4k` bytes, `5ms`, `none`. A length is in µs.
    ///
    /// # Errors
    /// Fails if the text is no number, or no length of time.
    pub fn parse(self, text: &str) -> Result<u64, ParseQuantityError> {
        match self {
            Self::Rate => units::parse_count(text.trim_end_matches("/s")),
            Self::Reads => units::parse_count(text.trim_end_matches('%').trim_end()),
            Self::ValueSize => units::parse_bytes(text),
            _ if self.is_length() && matches!(text, "0" | NONE) => Ok(0),
            _ if self.is_length() => units::parse_microseconds(text),
            _ => units::parse_count(text),
        }
    }

    /// Returns the values that are words, such as `max` or `poisson`.
    pub fn choices(self) -> Vec<&'static str> {
        match self {
            Self::Rate => vec!["max"],
            Self::Arrivals => vec!["constant", "poisson"],
            Self::Distribution => DISTRIBUTIONS.to_vec(),
            Self::Backlog => Backlog::ALL.map(Backlog::name).to_vec(),
            Self::Rhythm => Rhythm::ALL.map(Rhythm::name).to_vec(),
            Self::Reconnect => vec![NEVER],
            Self::Think | Self::SessionLength => vec![NONE],
            Self::Workload => presets().map(|preset| preset.name.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns a short description of the values that can be typed.
    pub fn range(self) -> &'static str {
        match self {
            Self::Clients | Self::Pipeline | Self::Keys | Self::Receivers | Self::Search(_) => {
                "a count: 250, 20k, 1.5M"
            }
            Self::Rate => "requests a second, or max",
            Self::Reads => "percent",
            Self::ValueSize => "bytes: 100, 4k, 1M",
            Self::Arrivals => "constant, poisson, bursty 10x 1s/10s, or times (--times, --trace)",
            Self::Distribution => "a distribution with its parameters: zipfian 1.1, hotspot 0.2 0.8",
            Self::Exponent => "a number above 0, up to 10",
            Self::Weight(_) => "a number; 0 switches the operation off",
            Self::WeightByName => "an operation and its weight: GET 5, or GET 0 to switch it off",
            Self::Backlog => "queue or shed",
            Self::Rhythm => "grouped or spread",
            Self::Reconnect => "a number of replies after which clients reconnect, or never",
            Self::Think | Self::SessionLength => "20ms, 5ms..50ms, exponential 20ms, or none",
            Self::Workload => "the name of a preset",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_begins_with_the_name_of_a_setting_or_its_first_letters() {
        let found = |query| Knob::in_query(query).map(|(setting, value)| (setting.name(), value));
        assert_eq!(found("clients 200"), Some(("clients", "200")));
        assert_eq!(found("cl 200"), Some(("clients", "200")));
        assert_eq!(found("value size 4k"), Some(("value size", "4k")));
        assert_eq!(found("value 4k"), Some(("value size", "4k")));
        assert_eq!(found("dist zipfian 1.1"), Some(("distribution", "zipfian 1.1")));
        assert_eq!(found("weight GET 5"), Some(("weight", "GET 5")));
        assert_eq!(found("rate "), Some(("rate", "")));
        assert_eq!(found("rate"), None, "no value is begun");
        assert_eq!(found("preset cache"), None);
    }
}
