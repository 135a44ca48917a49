//! Parses the settings of an experiment: `clients 50`, `rate 5k, pipeline 16`, `config appendfsync always`,
//! `preset write-heavy`.

use std::fmt;

use thiserror::Error;

use crate::{
    knobs::{Knob, Knobs, PRESETS},
    server::{PARAMETERS, Parameter},
    units::ParseQuantityError,
};

/// The error for an invalid text of an experiment, setting, limit, script or series. The message says what to write
/// instead.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct WordsError(String);

impl WordsError {
    pub(super) fn of(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

impl From<ParseQuantityError> for WordsError {
    fn from(error: ParseQuantityError) -> Self {
        Self::of(error)
    }
}

/// A complete setting of an experiment: all knobs, the node that has the load, and server parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct ExperimentSetting {
    /// The description of the setting.
    pub words: String,
    /// The knobs.
    pub knobs: Knobs,
    /// The number of the node under load, from 0.
    pub node: u16,
    /// The server parameters to set. Each parameter occurs once. All other parameters keep the value from
    /// before the experiment.
    pub config: Vec<(&'static Parameter, String)>,
}

/// Returns the error for the text `part` of a setting, which changes nothing.
fn nothing(part: &str) -> WordsError {
    let words = Knob::ALL.map(Knob::name)[1..].join(", ");
    let example = format!("clients 50, {words}, preset NAME or config NAME VALUE");
    WordsError::of(format!("'{part}' is not a setting; write for example {example}"))
}

impl ExperimentSetting {
    /// The description of a setting that changes no knob.
    pub const AS_IT_IS: &str = "as it is";

    /// Returns a setting with these knobs and without parameters.
    pub fn of(knobs: Knobs) -> Self {
        Self { words: Self::AS_IT_IS.to_owned(), knobs, node: 0, config: Vec::new() }
    }

    /// Returns the server parameters of these settings. Each parameter occurs once with all its values, in the order of
    /// the settings.
    pub fn parameters(settings: &[Self]) -> Vec<(&'static Parameter, Vec<&str>)> {
        let mut all: Vec<(&'static Parameter, Vec<&str>)> = Vec::new();
        for (parameter, to) in settings.iter().flat_map(|setting| &setting.config) {
            match all.iter_mut().find(|(known, _)| known == parameter) {
                Some((_, values)) if values.contains(&to.as_str()) => {}
                Some((_, values)) => values.push(to),
                None => all.push((parameter, vec![to])),
            }
        }
        all
    }

    /// Parses a setting. The changes in `text` are separated by commas, and apply to the knobs `base`.
    ///
    /// # Errors
    /// The error is a message with the invalid setting and the reason.
    pub fn parse(text: &str, base: &Knobs) -> Result<Self, WordsError> {
        let mut setting = Self { words: text.trim().to_owned(), ..Self::of(base.clone()) };
        let mut named = Vec::new();
        text.split(',').try_for_each(|part| setting.set(part.trim(), &mut named))?;
        setting.without_effect(base).map_or(Ok(()), |why| Err(WordsError::of(why)))?;
        Ok(setting)
    }

    /// Returns the reason why a knob that differs from `base` has no effect. Returns `None` if there is no such knob.
    fn without_effect(&self, base: &Knobs) -> Option<String> {
        let Self { knobs, words, .. } = self;
        let workload = &knobs.workload;
        if knobs.backlog != base.backlog && knobs.rate.is_none() {
            Some(format!(
                "backlog has no effect in a closed loop; set a rate too, such as 'rate 5k, {words}'"
            ))
        } else if knobs.keyspace != base.keyspace && workload.keys.is_empty() {
            Some(format!("keys has no effect, because the workload '{}' uses no keys", workload.name))
        } else if knobs.value_size != base.value_size && !workload.sends_values() {
            Some(format!(
                "value size has no effect, because the workload '{}' sends no values",
                workload.name
            ))
        } else {
            None
        }
    }

    /// Applies the change `part`. `known` are the knobs of the changes before, to which the knob of this change is added.
    fn set(&mut self, part: &str, known: &mut Vec<Knob>) -> Result<(), WordsError> {
        let (word, rest) = part.split_once(' ').map_or((part, ""), |(word, rest)| (word, rest.trim()));
        match word {
            "config" => self.set_parameter(rest)?,
            "preset" => {
                let preset = PRESETS.iter().find(|preset| preset.name == rest);
                let names = || PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
                let none = || WordsError::of(format!("there is no preset '{rest}'; give one of {}", names()));
                let preset = preset.ok_or_else(none)?;
                self.knobs = preset.of(&self.knobs);
            }
            _ => {
                let named = Knob::in_query(part).filter(|(_, value)| !value.is_empty());
                let (named, value) = named.ok_or_else(|| nothing(part))?;
                // Each operation of a workload has its own weight.
                if !matches!(named, Knob::Weight(_)) && known.contains(&named) {
                    return Err(WordsError::of(format!("{} is given twice; leave one out", named.name())));
                }
                known.push(named);
                self.knobs = named.typed(&self.knobs, value).map_err(WordsError::of)?;
            }
        }
        Ok(())
    }

    /// Returns the server parameter `name`, with the value to set.
    ///
    /// # Errors
    /// Fails if redyno cannot set the parameter, or if the value is missing.
    pub fn parameter(name: &str, value: &str) -> Result<(&'static Parameter, String), WordsError> {
        let names = || PARAMETERS.iter().map(|parameter| parameter.name).collect::<Vec<_>>().join(", ");
        let none =
            || WordsError::of(format!("redyno cannot set the parameter '{name}'; give one of {}", names()));
        let parameter = Parameter::named(name).ok_or_else(none)?;
        match value.trim() {
            "" => Err(WordsError::of(format!("config {name} needs a value"))),
            // As in a shell, empty values and values with spaces are in quotes.
            quoted => Ok((parameter, quoted.trim_matches(['"', '\'']).to_owned())),
        }
    }

    fn set_parameter(&mut self, text: &str) -> Result<(), WordsError> {
        let (name, value) = text.split_once(' ').unwrap_or((text, ""));
        let (parameter, value) = Self::parameter(name, value)?;
        if self.config.iter().any(|(set, _)| set.name == parameter.name) {
            return Err(WordsError::of(format!("config {name} is given twice; leave one out")));
        }
        self.config.push((parameter, value));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ExperimentSetting, WordsError> {
        ExperimentSetting::parse(text, &Knobs::default())
    }

    #[test]
    fn a_text_sets_knobs_and_parameters_and_keeps_the_rest() {
        let setting = parse("clients 200, rate 5k,arrivals poisson").unwrap();
        let wanted = Knobs {
            clients: 200,
            rate: Some(5000),
            arrivals: "poisson".parse().unwrap(),
            ..Knobs::default()
        };
        assert_eq!((setting.knobs, setting.config.len()), (wanted, 0));
        let setting = parse("preset pipeline-16, value size 1k, config appendfsync always").unwrap();
        assert_eq!((setting.knobs.pipeline, setting.knobs.value_size), (16, 1024));
        assert_eq!(setting.config, [(Parameter::named("appendfsync").unwrap(), "always".to_owned())]);
        assert!(parse("backlog shed, rate 5k").is_ok() && parse("workload get, value size 5").is_ok());
        let save = parse("config save \"3600 1\"").unwrap();
        assert_eq!(save.config[0].1, "3600 1");
        assert_eq!(parse("config save ''").unwrap().config[0].1, "");
        assert_eq!(save.words, "config save \"3600 1\"");
    }

    #[test]
    fn an_invalid_setting_is_refused_with_examples() {
        for (text, expected) in [
            ("", "'' is not a setting; write for example clients 50, pipeline, rate, "),
            ("clients", "'clients' is not a setting"),
            ("wheels 4", "'wheels 4' is not a setting"),
            ("clients 0", "clients must be between 1 and 18000, not 0"),
            ("arrivals poisson", "in a closed loop, requests"),
            (
                "backlog shed",
                "backlog has no effect in a closed loop; set a rate too, such as 'rate 5k, backlog shed'",
            ),
            ("backlog shed, rate max", "backlog has no effect in a closed loop"),
            ("workload ping, keys 5", "keys has no effect, because the workload 'ping' uses no keys"),
            (
                "workload ping, value size 5",
                "value size has no effect, because the workload 'ping' sends no values",
            ),
            ("preset huge", "there is no preset 'huge'; give one of cache, "),
            (
                "config requirepass x",
                "redyno cannot set the parameter 'requirepass'; give one of maxmemory, ",
            ),
            ("config hz", "config hz needs a value"),
            ("config hz 10, config hz 20", "config hz is given twice"),
            ("clients 5, rate 5k, cl 6", "clients is given twice; leave one out"),
            ("clients 50, ", "'' is not a setting"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
