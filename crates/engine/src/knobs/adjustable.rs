//! Parses load settings as a user types them, a name and a value: `clients 200`, `rate max`, `weight GET 5`,
//! `backlog shed`.

use super::{
    Backlog, Knob, KnobChangeError, KnobError, Knobs, ParseLengthError, RandomLength, Rhythm,
    steps::DISTRIBUTIONS,
};
use crate::{
    units,
    workload::{WorkloadChoice, presets},
};

/// The value of `reconnect` that makes clients keep their connections.
const NEVER: &str = "never";

/// The value that turns off `think` or `session-length`.
const NONE: &str = "none";

fn length(length: Option<RandomLength>) -> String {
    length.map_or_else(|| NONE.to_owned(), |length| length.to_string())
}

fn typed_length(text: &str) -> Result<Option<RandomLength>, ParseLengthError> {
    Some(text).filter(|text| *text != NONE).map(str::parse).transpose()
}

/// A setting that a user changes by typing its name and a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adjustable {
    /// A knob: a setting on the screen's knob panel.
    Knob(Knob),
    /// The weight of one operation. The typed value contains the operation's name and the weight.
    Weight,
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
    /// The workload. The value is the name of a preset of `--workload`. A workload file cannot be given.
    Workload,
}

impl Adjustable {
    /// The settings that are fields of [`Knobs`] but not on the knob panel.
    pub const ALONE: [Self; 5] =
        [Self::Backlog, Self::Rhythm, Self::Reconnect, Self::Think, Self::SessionLength];

    /// Returns all settings: first the knobs in the order of the panel, then the other settings.
    pub fn all() -> impl Iterator<Item = Self> {
        let knobs = Knob::ALL.into_iter().map(Self::Knob);
        knobs.chain([Self::Weight]).chain(Self::ALONE).chain([Self::Workload])
    }

    /// Finds the setting whose full name or first letters are at the beginning of a query. Returns the setting and the
    /// value after it.
    pub fn in_query(query: &str) -> Option<(Self, &str)> {
        let query = query.trim_start();
        let named = |setting: &Self| query.strip_prefix(setting.word()).filter(|rest| rest.starts_with(' '));
        if let Some((setting, rest)) = Self::all().find_map(|setting| Some((setting, named(&setting)?))) {
            return Some((setting, rest.trim()));
        }
        let (word, value) = query.split_once(' ')?;
        let setting = Self::all().find(|setting| setting.word().starts_with(&word.to_lowercase()))?;
        Some((setting, value.trim()))
    }

    /// Returns the name of the setting as a user types it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Knob(knob) => knob.name(),
            Self::Weight => "weight",
            Self::Backlog => "backlog",
            Self::Rhythm => "rhythm",
            Self::Reconnect => "reconnect",
            Self::Think => "think",
            Self::SessionLength => "session-length",
            Self::Workload => "workload",
        }
    }

    /// Returns whether the setting has an effect with these knobs. `backlog` has no effect in a closed loop,
    /// where requests have no due times. `think` has no effect in an open loop.
    pub fn applies(self, knobs: &Knobs) -> bool {
        match self {
            Self::Backlog => knobs.rate.is_some(),
            Self::Think => knobs.rate.is_none(),
            _ => true,
        }
    }

    /// Returns the setting's value in `knobs`.
    pub fn value(self, knobs: &Knobs) -> String {
        match self {
            Self::Knob(knob) => knob.value(knobs),
            Self::Backlog => knobs.backlog.to_string(),
            Self::Rhythm => knobs.rhythm.to_string(),
            Self::Reconnect => knobs.reconnect.map_or_else(|| NEVER.to_owned(), |n| n.to_string()),
            Self::Think => length(knobs.think),
            Self::SessionLength => length(knobs.session_length),
            Self::Weight | Self::Workload => knobs.workload.to_string(),
        }
    }

    /// Returns the setting's values that are words, such as `max` or `poisson`.
    pub fn choices(self) -> Vec<&'static str> {
        match self {
            Self::Knob(Knob::Rate) => vec!["max"],
            Self::Knob(Knob::Arrivals) => vec!["constant", "poisson"],
            Self::Knob(Knob::Distribution) => DISTRIBUTIONS.to_vec(),
            Self::Knob(_) | Self::Weight => Vec::new(),
            Self::Backlog => Backlog::ALL.map(Backlog::name).to_vec(),
            Self::Rhythm => Rhythm::ALL.map(Rhythm::name).to_vec(),
            Self::Reconnect => vec![NEVER],
            Self::Think | Self::SessionLength => vec![NONE],
            Self::Workload => presets().map(|preset| preset.name.as_str()).collect(),
        }
    }

    /// Returns a short description of the values that can be typed.
    pub fn range(self) -> &'static str {
        match self {
            Self::Knob(Knob::Clients | Knob::Pipeline | Knob::Keys | Knob::Receivers | Knob::Search(_)) => {
                "a count: 250, 20k, 1.5M"
            }
            Self::Knob(Knob::Rate) => "requests a second, or max",
            Self::Knob(Knob::Reads) => "percent",
            Self::Knob(Knob::ValueSize) => "bytes: 100, 4k, 1M",
            Self::Knob(Knob::Arrivals) => "constant, poisson, bursty 10x 1s/10s, or times (--times, --trace)",
            Self::Knob(Knob::Distribution) => {
                "a distribution with its parameters: zipfian 1.1, hotspot 0.2 0.8"
            }
            Self::Knob(Knob::Exponent) => "a number above 0, up to 10",
            Self::Knob(Knob::Weight(_)) => "a number; 0 switches the operation off",
            Self::Weight => "an operation and its weight: GET 5, or GET 0 to switch it off",
            Self::Backlog => "queue or shed",
            Self::Rhythm => "grouped or spread",
            Self::Reconnect => "a number of replies after which clients reconnect, or never",
            Self::Think | Self::SessionLength => "20ms, 5ms..50ms, exponential 20ms, or none",
            Self::Workload => "the name of a preset",
        }
    }

    /// Returns `knobs` with this setting changed to the typed value.
    ///
    /// # Errors
    /// Fails if the value is invalid.
    pub fn typed(self, knobs: &Knobs, value: &str) -> Result<Knobs, KnobChangeError> {
        match self {
            Self::Knob(knob) => knob.typed(knobs, value),
            Self::Weight => weighed(knobs, value),
            Self::Reconnect => {
                let after =
                    Some(value).filter(|value| *value != NEVER).map(units::parse_count).transpose()?;
                let narrow =
                    |n| u32::try_from(n).map_err(|_| KnobChangeError::TooLarge("reconnect", n, u32::MAX));
                let reconnect = after.map(narrow).transpose()?;
                Ok(Knobs { reconnect, ..knobs.clone() }.checked()?)
            }
            Self::Think => Ok(Knobs { think: typed_length(value)?, ..knobs.clone() }.checked()?),
            Self::SessionLength => {
                Ok(Knobs { session_length: typed_length(value)?, ..knobs.clone() }.checked()?)
            }
            Self::Rhythm => Ok(Knobs { rhythm: value.parse()?, ..knobs.clone() }.checked()?),
            Self::Backlog => Ok(Knobs { backlog: value.parse()?, ..knobs.clone() }.checked()?),
            Self::Workload => Ok(knobs.with_chosen(&WorkloadChoice::of_preset(value)?)?),
        }
    }
}

/// Parses a text such as `GET 5`, and returns `knobs` with the weight 5 for the operation GET.
fn weighed(knobs: &Knobs, text: &str) -> Result<Knobs, KnobChangeError> {
    let text = text.trim();
    let operations = &knobs.workload.operations;
    let place = |name: &str| {
        let is_alike = |known: &&str| known.eq_ignore_ascii_case(name);
        let names = || operations.iter().map(|operation| operation.name.as_str());
        names().position(|known| known == name).or_else(|| names().position(|known| is_alike(&known)))
    };
    let found = text.rsplit_once(' ').and_then(|(name, weight)| Some((place(name.trim())?, weight)));
    let first = operations.first().map_or("GET", |operation| &operation.name);
    let (place, weight) =
        found.ok_or_else(|| KnobChangeError::NoOperation(text.to_owned(), format!("weight {first}")))?;
    Knob::Weight(place as u16).typed(knobs, weight)
}

impl Knobs {
    /// Returns the knobs with the chosen workload, and with the clients, pipeline, rate, value size and number of keys
    /// that the workload suggests.
    ///
    /// # Errors
    /// Fails if a knob is out of range. The error names the first such knob.
    pub fn with_chosen(&self, WorkloadChoice { workload, load }: &WorkloadChoice) -> Result<Self, KnobError> {
        let knobs = Self {
            workload: workload.clone(),
            clients: load.clients.unwrap_or(self.clients),
            pipeline: load.pipeline.unwrap_or(self.pipeline),
            rate: load.rate.or(self.rate),
            value_size: load.data_size.unwrap_or(self.value_size),
            keyspace: load.keys.unwrap_or(self.keyspace),
            ..self.clone()
        };
        knobs.checked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::preset;

    #[test]
    fn a_query_begins_with_the_name_of_a_setting_or_its_first_letters() {
        let found = |query| Adjustable::in_query(query).map(|(setting, value)| (setting.word(), value));
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

    #[test]
    fn a_weight_is_set_by_the_name_of_its_operation() {
        let knobs = Knobs::default();
        let set = |text| Adjustable::Weight.typed(&knobs, text).map(|knobs| knobs.workload.to_string());
        for text in ["GET 5", "get 5", " GET  5 "] {
            assert_eq!(set(text), Ok("SET:GET 1:5".to_owned()), "{text}");
        }
        for (text, error) in [
            ("INCR 5", "'INCR 5' is not an operation with a weight; write for example weight GET 5"),
            ("GET", "'GET' is not an operation with a weight; write for example weight GET 5"),
            ("GET x", "'x' is not a count such as 50, 100k or 1.5M"),
        ] {
            assert_eq!(set(text).unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn valid_values_are_accepted_and_other_values_are_refused() {
        let knobs = Knobs::default();
        assert_eq!(Adjustable::Backlog.typed(&knobs, "shed").unwrap().backlog, Backlog::Shed);
        assert_eq!(Adjustable::Workload.typed(&knobs, "get").unwrap().workload, preset("get").unwrap());
        assert!(
            Adjustable::Workload
                .typed(&knobs, "x")
                .unwrap_err()
                .to_string()
                .starts_with("there is no workload 'x'")
        );
        for setting in Adjustable::all() {
            assert!(setting.typed(&knobs, "?").is_err(), "{setting:?}");
            let open = Knobs { rate: Some(1000), ..knobs.clone() };
            assert!(!setting.range().is_empty());
            for choice in setting.choices() {
                assert!(setting.typed(&open, choice).is_ok(), "{setting:?} {choice}");
            }
        }
    }
}
