//! CONFIG: the parameters that matter for latency, read and set. Never CONFIG REWRITE.
//!
//! Nothing but the [`PARAMETERS`] is asked for or set: others may hold passwords.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ServerError, link::Wire};

/// A parameter that can be turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in CONFIG.
    pub name: &'static str,
    /// The values that a turn steps through.
    pub values: Values,
    /// What it does, in a few words.
    pub about: &'static str,
}

/// The values that a turn steps through. Others can be typed; the server decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// These words.
    Words(&'static [&'static str]),
    /// These numbers, and from a number between two of them to the next.
    Numbers(&'static [u64]),
    /// The same, of bytes.
    Bytes(&'static [u64]),
}

const YES_NO: Values = Values::Words(&["no", "yes"]);
const MIB: u64 = 1 << 20;

/// The parameters, in the order of the screen.
pub const PARAMETERS: [Parameter; 10] = [
    Parameter {
        name: "maxmemory",
        values: Values::Bytes(&[
            0,
            64 * MIB,
            128 * MIB,
            256 * MIB,
            512 * MIB,
            1024 * MIB,
            2048 * MIB,
            4096 * MIB,
            8192 * MIB,
            16384 * MIB,
        ]),
        about: "bytes of data; 0 is no limit",
    },
    Parameter {
        name: "maxmemory-policy",
        values: Values::Words(&[
            "noeviction",
            "allkeys-lru",
            "allkeys-lfu",
            "allkeys-random",
            "volatile-lru",
            "volatile-lfu",
            "volatile-random",
            "volatile-ttl",
        ]),
        about: "which keys go at the limit",
    },
    Parameter {
        name: "save",
        values: Values::Words(&["", "3600 1 300 100 60 10000"]),
        about: "snapshots: after seconds with so many changes",
    },
    Parameter { name: "appendonly", values: YES_NO, about: "keep an append-only file" },
    Parameter {
        name: "appendfsync",
        values: Values::Words(&["no", "everysec", "always"]),
        about: "when that file goes to disk",
    },
    Parameter {
        name: "io-threads",
        values: Values::Numbers(&[1, 2, 3, 4, 6, 8]),
        about: "threads for sockets",
    },
    Parameter {
        name: "hz",
        values: Values::Numbers(&[1, 10, 20, 50, 100, 200, 500]),
        about: "rounds of housekeeping a second",
    },
    Parameter { name: "activedefrag", values: YES_NO, about: "defragment memory while serving" },
    Parameter {
        name: "latency-monitor-threshold",
        values: Values::Numbers(&[0, 1, 2, 5, 10, 20, 50, 100]),
        about: "ms that the latency monitor notes; 0 is off",
    },
    Parameter {
        name: "slowlog-log-slower-than",
        values: Values::Numbers(&[0, 100, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000]),
        about: "µs that the slow log notes; -1 is off",
    },
];

impl Parameter {
    /// The parameter of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PARAMETERS.iter().find(|parameter| parameter.name == name)
    }

    /// The value before or after `now` among those that a turn steps through; `None` at their end.
    pub fn turned(&self, now: &str, up: bool) -> Option<String> {
        match self.values {
            Values::Words(words) => {
                let at = words.iter().position(|word| *word == now);
                let next = match (at, up) {
                    (Some(at), true) => words.get(at + 1),
                    (Some(at), false) => words.get(at.checked_sub(1)?),
                    // A value of its own: the first word is below it, the last above.
                    (None, true) => words.last(),
                    (None, false) => words.first(),
                };
                next.map(|word| (*word).to_owned())
            }
            Values::Numbers(steps) | Values::Bytes(steps) => {
                // What is below zero is off, as -1 is.
                let now: i128 = now.parse().ok()?;
                let mut steps = steps.iter().map(|step| i128::from(*step));
                let next =
                    if up { steps.find(|step| *step > now) } else { steps.rev().find(|step| *step < now) };
                next.map(|step| step.to_string())
            }
        }
    }
}

/// A parameter that was set, as CONFIG GET told it before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigChange {
    /// The parameter.
    pub name: String,
    /// Its value before.
    pub from: String,
    /// Its value now.
    pub to: String,
}

/// The parameters as they were last told.
#[derive(Debug, Default)]
pub(super) struct Config {
    values: BTreeMap<String, String>,
    /// Before Redis 7, CONFIG GET takes one name; then each poll asks for the next.
    one_by_one: Option<usize>,
}

impl Config {
    pub(super) fn values(&self) -> &BTreeMap<String, String> {
        &self.values
    }

    pub(super) fn take(&mut self, found: BTreeMap<String, String>) {
        self.values.extend(found);
    }

    /// Asks for all of them, or for the next.
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
        Ok(by_name(&wire.texts(&["CONFIG", "GET", name]).await?))
    }
}

/// What Redis 6 and older say to several names.
fn is_too_many(error: &ServerError) -> bool {
    matches!(error, ServerError::Refused { message, .. }
        if message.contains("wrong number of arguments") || message.contains("nknown subcommand"))
}

fn by_name(pairs: &[String]) -> BTreeMap<String, String> {
    pairs.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// One parameter.
pub(super) async fn get(wire: &Wire, name: &str) -> Result<String, ServerError> {
    let found = by_name(&wire.texts(&["CONFIG", "GET", name]).await?).remove(name);
    let missing = || ServerError::Refused {
        command: "CONFIG GET".to_owned(),
        message: format!("this server has no {name}"),
    };
    found.ok_or_else(missing)
}

/// Sets one.
pub(super) async fn set(wire: &Wire, name: &str, value: &str) -> Result<(), ServerError> {
    wire.ask(&["CONFIG", "SET", name, value]).await.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned(name: &str, now: &str, up: bool) -> Option<String> {
        Parameter::named(name).unwrap().turned(now, up)
    }

    #[test]
    fn a_turn_steps_through_words_and_numbers() {
        assert_eq!(turned("appendonly", "no", true).as_deref(), Some("yes"));
        assert_eq!(turned("appendonly", "yes", true), None);
        assert_eq!(turned("hz", "10", true).as_deref(), Some("20"));
        assert_eq!(turned("hz", "30", false).as_deref(), Some("20"));
        assert_eq!(turned("hz", "1", false), None);
        assert_eq!(turned("maxmemory", "100", true).as_deref(), Some("67108864"));
        assert_eq!(turned("slowlog-log-slower-than", "-1", true).as_deref(), Some("0"));
        assert_eq!(turned("save", "900 1", false).as_deref(), Some(""));
    }

    #[test]
    fn no_parameter_can_hold_a_password() {
        for parameter in PARAMETERS {
            let name = parameter.name;
            assert!(!name.contains("pass") && !name.contains("auth") && !name.contains("user"), "{name}");
        }
    }
}
