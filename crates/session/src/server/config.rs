//! Reads and sets the [`PARAMETERS`] with CONFIG GET and CONFIG SET, and no other parameters. Redyno never sends CONFIG
//! REWRITE.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ServerError, link::Wire, parameter::PARAMETERS};

/// A changed parameter, with the values from CONFIG GET before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigChange {
    /// The name of the parameter.
    pub name: String,
    /// The value before the change.
    pub from: String,
    /// The value after the change.
    pub to: String,
}

/// The last reported values of the parameters.
#[derive(Debug, Default)]
pub(super) struct Config {
    values: BTreeMap<String, String>,
    /// The number of parameters requested one by one. Before Redis 7, CONFIG GET accepts only one name, so each poll
    /// requests the next parameter.
    one_by_one: Option<usize>,
}

impl Config {
    pub(super) fn values(&self) -> &BTreeMap<String, String> {
        &self.values
    }

    pub(super) fn take(&mut self, found: BTreeMap<String, String>) {
        let is_asked = |name: &String| PARAMETERS.iter().any(|parameter| parameter.name == name);
        self.values.extend(found.into_iter().filter(|(name, _)| is_asked(name)));
    }

    /// Requests all parameters, or from a server before Redis 7 only the next one.
    pub(super) async fn ask(&mut self, wire: &Wire) -> Result<BTreeMap<String, String>, ServerError> {
        if self.one_by_one.is_none() {
            let words: Vec<_> = ["CONFIG", "GET"]
                .into_iter()
                .chain(PARAMETERS.iter().map(|parameter| parameter.name))
                .collect();
            match wire.texts(&words).await {
                Ok(pairs) => return Ok(by_name(&pairs)),
                Err(error) if is_too_many(&error) => self.one_by_one = Some(0),
                Err(error) => return Err(error),
            }
        }
        let next = self.one_by_one.get_or_insert(0);
        let name = PARAMETERS[*next % PARAMETERS.len()].name;
        *next += 1;
        Ok(by_name(&wire.config_get(name).await?))
    }
}

/// Returns whether the error is a refusal of several names, as by Redis 6 and older.
fn is_too_many(error: &ServerError) -> bool {
    matches!(error, ServerError::Refused { message, .. }
        if message.contains("wrong number of arguments") || message.contains("nknown subcommand"))
}

fn by_name(pairs: &[String]) -> BTreeMap<String, String> {
    pairs.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// Returns the value of one parameter.
pub(super) async fn get(wire: &Wire, name: &str) -> Result<String, ServerError> {
    let found = by_name(&wire.config_get(name).await?).remove(name);
    let missing = || ServerError::Refused {
        command: "CONFIG GET".to_owned(),
        message: format!("this server has no parameter {name}"),
    };
    found.ok_or_else(missing)
}

/// Sets one parameter.
pub(super) async fn set(wire: &Wire, name: &str, value: &str) -> Result<(), ServerError> {
    wire.config_set(name, value).await
}
