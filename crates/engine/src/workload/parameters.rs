//! The parameters of a workload file: named numbers and words. The option `--set NAME=VALUE` changes them.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    str::FromStr,
};

use super::WorkloadError;

/// The name and the value in one `--set NAME=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterValue {
    /// The name of the parameter.
    pub name: String,
    /// The value of the parameter.
    pub value: String,
}

/// Values for parameters. If a parameter is set more than once, the last value counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings(BTreeMap<String, String>);

impl FromStr for ParameterValue {
    type Err = WorkloadError;

    fn from_str(text: &str) -> Result<Self, WorkloadError> {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| invalid!("'{text}' is not NAME=VALUE, such as recordcount=1M"))?;
        Ok(Self { name: name.trim().to_owned(), value: value.trim_matches(' ').to_owned() })
    }
}

impl From<Vec<ParameterValue>> for Settings {
    fn from(settings: Vec<ParameterValue>) -> Self {
        Self(settings.into_iter().map(|setting| (setting.name, setting.value)).collect())
    }
}

impl Settings {
    /// Returns the value that the user has set for the parameter `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns whether no parameter is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that `names` contains every parameter that is set.
    ///
    /// # Errors
    /// Fails if `names` lacks the name of a parameter that is set. The error contains this name.
    pub fn only<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<(), WorkloadError> {
        let known: Vec<_> = names.into_iter().map(str::to_owned).collect();
        match self.0.keys().find(|name| !known.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let known = if known.is_empty() {
                    "this workload has none".to_owned()
                } else {
                    format!("there are {}", known.join(", "))
                };
                Err(invalid!("there is no parameter '{name}'; {known}"))
            }
        }
    }
}

/// Replaces each `$name` in the text of a file by the value of the parameter. Unknown names stay unchanged.
pub(super) fn fill(text: &str, file: &toml::Table, settings: &Settings) -> Result<String, WorkloadError> {
    let defaults = file.get("parameters").and_then(toml::Value::as_table);
    let is_number =
        |name: &str| defaults.is_some_and(|all| all.get(name).is_some_and(toml::Value::is_integer));
    let all = defaults.into_iter().flatten().map(|(name, value)| (name.as_str(), value_text(value)));
    let mut values: BTreeMap<&str, String> = all.collect();
    settings.only(values.keys().copied())?;
    for (name, value) in &mut values {
        if let Some(set) = settings.get(name) {
            if is_number(name) && !set.starts_with(|c: char| c.is_ascii_digit()) {
                return Err(wrong_value(name, set, "it must be a number"));
            }
            check_value(name, set)?.clone_into(value);
        }
    }
    Ok(replace_parameters(text, &values))
}

/// Checks a value for a parameter, and returns it.
pub fn check_value<'a>(name: &str, value: &'a str) -> Result<&'a str, WorkloadError> {
    // The value may be inserted into a quoted text on one line.
    if value.contains(|c: char| c.is_control() || matches!(c, '"' | '\'' | '\\')) {
        return Err(wrong_value(name, value, "it must not have quotes, backslashes or control characters"));
    }
    Ok(value)
}

/// Returns the error for a value that the parameter cannot have.
pub(super) fn wrong_value(name: &str, value: &str, cause: impl fmt::Display) -> WorkloadError {
    let error = invalid!("the value of '{name}' cannot be '{}': {cause}", value.escape_debug());
    WorkloadError { parameter: Some(name.to_owned()), ..error }
}

/// Replaces each `$name` in a text by the value of the name. Unknown names stay unchanged.
pub fn replace_parameters(text: &str, values: &BTreeMap<&str, String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        filled.push_str(before);
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let (name, after) = behind.split_at(behind.find(|c| !is_name(c)).unwrap_or(behind.len()));
        match values.get(name) {
            Some(value) => filled.push_str(value),
            // Writing to a string cannot fail.
            None => drop(write!(filled, "${name}")),
        }
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// Returns a parameter's value as text.
pub fn value_text(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
