//! What can be set by a word and a value: `clients 200`, `rate max`, `backlog shed`, `workload get`.

use super::{Arrivals, Backlog, Knob, Knobs};
use crate::workload::{preset, presets};

/// Something that can be set by a word and a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adjustable {
    /// A knob of the panel.
    Knob(Knob),
    /// What becomes of requests that cannot be sent in time.
    Backlog,
    /// Which commands, by a preset of `--workload`.
    Workload,
}

impl Adjustable {
    /// All of them: the knobs in the order of the panel, then the others.
    pub fn all() -> impl Iterator<Item = Self> {
        Knob::ALL.into_iter().map(Self::Knob).chain([Self::Backlog, Self::Workload])
    }

    /// The setting that a query begins with, by its word or the beginning of one, and the value after it.
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

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Knob(knob) => knob.name(),
            Self::Backlog => "backlog",
            Self::Workload => "workload",
        }
    }

    /// Its value in `knobs`.
    pub fn value(self, knobs: &Knobs) -> String {
        match self {
            Self::Knob(knob) => knob.value(knobs),
            Self::Backlog => knobs.backlog.to_string(),
            Self::Workload => knobs.workload.to_string(),
        }
    }

    /// The values that have names.
    pub fn choices(self) -> Vec<&'static str> {
        match self {
            Self::Knob(Knob::Rate) => vec!["max"],
            Self::Knob(Knob::Arrivals) => vec![Arrivals::Constant.name(), Arrivals::Poisson.name()],
            Self::Knob(_) => Vec::new(),
            Self::Backlog => vec![Backlog::Queue.name(), Backlog::Shed.name()],
            Self::Workload => presets().map(|preset| preset.name.as_str()).collect(),
        }
    }

    /// What else may be typed.
    pub fn range(self) -> &'static str {
        match self {
            Self::Knob(Knob::Clients | Knob::Pipeline | Knob::Keys) => "a count: 250, 20k, 1.5M",
            Self::Knob(Knob::Rate) => "requests a second, or max",
            Self::Knob(Knob::Reads) => "percent",
            Self::Knob(Knob::ValueSize) => "bytes: 100, 4k, 1M",
            Self::Knob(Knob::Arrivals) => "constant or poisson",
            Self::Backlog => "queue or shed",
            Self::Workload => "one of its names",
        }
    }

    /// `knobs` with this set to what was typed.
    ///
    /// # Errors
    /// In words, when it cannot be.
    pub fn typed(self, knobs: &Knobs, value: &str) -> Result<Knobs, String> {
        let typed = match self {
            Self::Knob(knob) => return knob.typed(knobs, value).map_err(|error| error.to_string()),
            Self::Backlog => Knobs { backlog: value.parse().map_err(to_string)?, ..knobs.clone() },
            Self::Workload => Knobs { workload: preset(value).map_err(to_string)?, ..knobs.clone() },
        };
        typed.checked().map_err(to_string)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
fn to_string(error: impl ToString) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_a_setting_by_its_word_or_its_beginning() {
        let found = |query| Adjustable::in_query(query).map(|(setting, value)| (setting.word(), value));
        assert_eq!(found("clients 200"), Some(("clients", "200")));
        assert_eq!(found("cl 200"), Some(("clients", "200")));
        assert_eq!(found("value size 4k"), Some(("value size", "4k")));
        assert_eq!(found("value 4k"), Some(("value size", "4k")));
        assert_eq!(found("rate "), Some(("rate", "")));
        assert_eq!(found("rate"), None, "no value is begun");
        assert_eq!(found("preset cache"), None);
    }

    #[test]
    fn values_are_taken_or_refused_in_words() {
        let knobs = Knobs::default();
        assert_eq!(Adjustable::Backlog.typed(&knobs, "shed").unwrap().backlog, Backlog::Shed);
        assert_eq!(Adjustable::Workload.typed(&knobs, "get").unwrap().workload, preset("get").unwrap());
        assert!(Adjustable::Workload.typed(&knobs, "x").unwrap_err().starts_with("there is no workload 'x'"));
        for setting in Adjustable::all() {
            assert!(setting.typed(&knobs, "?").is_err(), "{setting:?}");
            let open = Knobs { rate: Some(1000), ..knobs.clone() };
            for choice in setting.choices() {
                assert!(setting.typed(&open, choice).is_ok(), "{setting:?} {choice}");
            }
        }
    }
}
