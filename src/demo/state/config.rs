//! The parameters that CONFIG knows, as a table of names, kinds and defaults.
//!
//! They act where the built-in server has what they speak of: `requirepass`, `maxmemory`, `maxclients`, `hz`, the slow log
//! and the latency monitor. It evicts nothing, has no persistence and no I/O threads; `save`, `appendonly`, `appendfsync`
//! and `activedefrag` are kept and shown, as a Redis without traffic would show them, so that a client that turns them can
//! be tried.

use crate::demo::failure::Failure;
use crate::demo::glob::matches;
use crate::units::parse_bytes;

/// What a parameter may hold.
#[derive(Debug, Clone, Copy)]
enum Kind {
    YesNo,
    Integer {
        low: i64,
        high: i64,
    },
    /// Bytes, with units.
    Memory,
    OneOf(&'static [&'static str]),
    Text,
    /// Pairs of seconds and changes.
    SavePoints,
    /// Fixed at the start.
    Fixed,
}

struct Parameter {
    name: &'static str,
    kind: Kind,
    default: &'static str,
}

/// The most connections that `maxclients` can allow.
const MAX_CLIENTS: i64 = 100_000;

const fn parameter(name: &'static str, kind: Kind, default: &'static str) -> Parameter {
    Parameter { name, kind, default }
}

const PARAMETERS: &[Parameter] = &[
    parameter("activedefrag", Kind::YesNo, "no"),
    parameter("appendfsync", Kind::OneOf(&["everysec", "always", "no"]), "everysec"),
    parameter("appendonly", Kind::YesNo, "no"),
    parameter("databases", Kind::Fixed, "16"),
    parameter("hz", Kind::Integer { low: 1, high: 500 }, "10"),
    parameter("io-threads", Kind::Fixed, "1"),
    parameter("latency-monitor-threshold", Kind::Integer { low: 0, high: i64::MAX }, "0"),
    parameter("maxclients", Kind::Integer { low: 1, high: MAX_CLIENTS }, "10000"),
    parameter("maxmemory", Kind::Memory, "0"),
    parameter("maxmemory-policy", Kind::OneOf(&["noeviction"]), "noeviction"),
    parameter("port", Kind::Fixed, "0"),
    parameter("requirepass", Kind::Text, ""),
    parameter("save", Kind::SavePoints, ""),
    parameter("slowlog-log-slower-than", Kind::Integer { low: -1, high: i64::MAX }, "10000"),
    parameter("slowlog-max-len", Kind::Integer { low: 0, high: i64::MAX }, "128"),
];

/// The values of all parameters; those that are looked at for every command also in their own types.
#[derive(Debug, Clone)]
pub struct Config {
    values: Vec<String>,
    /// Ticks of housekeeping per second.
    pub hz: u64,
    /// Commands at least this long, in µs, enter the slow log; `None` is none.
    pub slower_than_us: Option<u64>,
    /// Entries that the slow log keeps.
    pub slowlog_max_len: usize,
    /// Commands at least this long, in ms, enter the latency monitor; 0 is none.
    pub latency_threshold_ms: u64,
    /// Bytes of data beyond which writes fail; 0 is no limit.
    pub maxmemory: u64,
    /// Connections.
    pub maxclients: usize,
}

impl Config {
    /// The defaults, with this port and password (empty: none).
    pub fn new(port: u16, password: &str) -> Self {
        let mut config = Self {
            values: PARAMETERS.iter().map(|parameter| parameter.default.to_owned()).collect(),
            hz: 0,
            slower_than_us: None,
            slowlog_max_len: 0,
            latency_threshold_ms: 0,
            maxmemory: 0,
            maxclients: 0,
        };
        config.store("port", port.to_string());
        config.store("requirepass", password.to_owned());
        config.settle();
        config
    }

    /// A parameter's value; empty for one that there is not.
    pub fn value(&self, name: &str) -> &str {
        PARAMETERS.iter().position(|parameter| parameter.name == name).map_or("", |index| &self.values[index])
    }

    /// Names and values of the parameters that match any of the patterns.
    pub fn matching<'a>(&'a self, patterns: &[&[u8]]) -> Vec<(&'static str, &'a str)> {
        let patterns: Vec<Vec<u8>> = patterns.iter().map(|pattern| pattern.to_ascii_lowercase()).collect();
        let wanted = |name: &str| patterns.iter().any(|pattern| matches(pattern, name.as_bytes()));
        let all = PARAMETERS.iter().zip(&self.values);
        all.filter(|(parameter, _)| wanted(parameter.name))
            .map(|(p, value)| (p.name, value.as_str()))
            .collect()
    }

    /// Sets all of these parameters, or none.
    ///
    /// # Errors
    /// Names the first that does not exist or does not take its value.
    pub fn set<'a>(&mut self, pairs: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Result<(), Failure> {
        let mut changed = self.clone();
        for (given, value) in pairs {
            let parameter =
                PARAMETERS.iter().find(|parameter| given.eq_ignore_ascii_case(parameter.name.as_bytes()));
            let Some(parameter) = parameter else {
                let given = String::from_utf8_lossy(given);
                return Err(Failure::other(format!(
                    "ERR Unknown option or number of arguments for CONFIG SET - '{given}'"
                )));
            };
            let value = read(parameter.kind, value).map_err(|reason| {
                let name = parameter.name;
                Failure::other(format!(
                    "ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}"
                ))
            })?;
            changed.store(parameter.name, value);
        }
        changed.settle();
        *self = changed;
        Ok(())
    }

    fn store(&mut self, name: &str, value: String) {
        if let Some(index) = PARAMETERS.iter().position(|parameter| parameter.name == name) {
            self.values[index] = value;
        }
    }

    /// Brings the typed copies in line with the values.
    fn settle(&mut self) {
        self.hz = self.integer("hz");
        self.slower_than_us = self.value("slowlog-log-slower-than").parse().ok();
        self.slowlog_max_len = usize::try_from(self.integer("slowlog-max-len")).unwrap_or(usize::MAX);
        self.latency_threshold_ms = self.integer("latency-monitor-threshold");
        self.maxmemory = self.integer("maxmemory");
        self.maxclients = usize::try_from(self.integer("maxclients")).unwrap_or(usize::MAX);
    }

    fn integer(&self, name: &str) -> u64 {
        self.value(name).parse().expect("the table's integers are checked when they are set")
    }
}

/// Reads a value of this kind into its usual form, or says why it is none.
fn read(kind: Kind, value: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(value).into_owned();
    let lower = text.to_ascii_lowercase();
    match kind {
        Kind::YesNo if matches!(lower.as_str(), "yes" | "no") => Ok(lower),
        Kind::YesNo => Err("argument must be 'yes' or 'no'".to_owned()),
        Kind::Integer { low, high } => match text.parse::<i64>() {
            Ok(n) if (low..=high).contains(&n) => Ok(n.to_string()),
            Ok(_) => Err(format!("argument must be between {low} and {high} inclusive")),
            Err(_) => Err("argument couldn't be parsed into an integer".to_owned()),
        },
        Kind::Memory => match parse_bytes(&text) {
            Ok(n) => Ok(n.to_string()),
            Err(_) => Err("argument must be a memory value".to_owned()),
        },
        Kind::OneOf(names) if names.contains(&lower.as_str()) => Ok(lower),
        Kind::OneOf(names) => Err(format!("argument(s) must be one of the following: {}", names.join(", "))),
        Kind::Text => Ok(text),
        Kind::SavePoints => {
            let words: Vec<&str> = text.split_whitespace().collect();
            let numbers = words.iter().all(|word| word.parse::<u32>().is_ok());
            if numbers && words.len().is_multiple_of(2) {
                Ok(words.join(" "))
            } else {
                Err("Invalid save parameters".to_owned())
            }
        }
        Kind::Fixed => Err("can't set immutable config".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_that_its_parameter_takes() {
        let config = Config::new(6379, "");
        for parameter in PARAMETERS.iter().filter(|parameter| !matches!(parameter.kind, Kind::Fixed)) {
            assert_eq!(read(parameter.kind, parameter.default.as_bytes()).as_deref(), Ok(parameter.default));
        }
        assert_eq!((config.hz, config.slower_than_us, config.maxclients), (10, Some(10_000), 10_000));
        assert_eq!(config.value("port"), "6379");
    }

    #[test]
    fn globs_find_parameters_in_any_case() {
        let config = Config::new(0, "");
        assert_eq!(
            config.matching(&[b"MAXMEM*", b"hz"]),
            [("hz", "10"), ("maxmemory", "0"), ("maxmemory-policy", "noeviction")]
        );
        assert!(config.matching(&[b"nosuch"]).is_empty());
    }

    #[test]
    fn all_pairs_are_set_or_none() {
        let mut config = Config::new(0, "");
        assert!(config.set([(&b"hz"[..], &b"50"[..]), (b"maxmemory", b"lots")]).is_err());
        assert_eq!(config.hz, 10);
        assert!(config.set([(&b"HZ"[..], &b"50"[..]), (b"maxmemory", b"10mb")]).is_ok());
        assert_eq!((config.hz, config.maxmemory), (50, 10 << 20));
    }

    #[test]
    fn a_value_is_refused_in_the_words_of_redis() {
        let mut config = Config::new(0, "");
        let cases: [(&str, &str, &str); 7] = [
            ("maxmemory-policy", "allkeys-lru", "argument(s) must be one of the following: noeviction"),
            ("nosuch", "1", "ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'"),
            ("hz", "foo", "argument couldn't be parsed into an integer"),
            ("appendonly", "maybe", "argument must be 'yes' or 'no'"),
            ("slowlog-max-len", "-3", "argument must be between 0 and 9223372036854775807 inclusive"),
            ("io-threads", "4", "can't set immutable config"),
            ("save", "60", "Invalid save parameters"),
        ];
        for (name, value, words) in cases {
            let error = config.set([(name.as_bytes(), value.as_bytes())]).unwrap_err().to_string();
            assert!(error.ends_with(words), "{error}");
        }
    }
}
