//! The built-in server's parameters for CONFIG GET and CONFIG SET: their names, kinds and defaults.
//!
//! These parameters have an effect: `requirepass`, `maxmemory`, `maxclients`, `hz`, `notify-keyspace-events` (K with $
//! or A), and the parameters of the slow log and the latency monitor. The built-in server has no eviction, no
//! persistence and no I/O threads. The parameters `save`, `appendonly`, `appendfsync` and `activedefrag` have no
//! effect. Parameters without effect exist only to test clients that set these parameters.
//!
//! The patterns of CONFIG GET and SCAN are glob patterns as in Redis, with `*`, with `?`, and with `\` before
//! a literal byte. Classes such as `[a-z]` are not supported.

use crate::{demo::reply::ReplyError, units::parse_bytes};

/// The kind of a parameter's value.
#[derive(Debug, Clone, Copy)]
enum ParameterKind {
    /// An integer within these bounds.
    Integer(i64, i64),
    /// A size in bytes, with an optional unit such as `mb`.
    Memory,
    OneOf(&'static [&'static str]),
    Text,
    /// A value that cannot be changed with CONFIG SET.
    Fixed,
}

const YES_NO: ParameterKind = ParameterKind::OneOf(&["yes", "no"]);
/// The largest value of `maxclients`.
const MAX_CLIENTS: i64 = 100_000;

/// The parameter of Valkey and Redis 8 that makes a node count the cost of each slot.
const SLOT_STATISTICS: &str = "cluster-slot-stats-enabled";

/// The name, the kind and the default of each parameter.
const PARAMETERS: [(&str, ParameterKind, &str); 17] = [
    ("activedefrag", YES_NO, "no"),
    ("appendfsync", ParameterKind::OneOf(&["everysec", "always", "no"]), "everysec"),
    ("appendonly", YES_NO, "no"),
    ("cluster-enabled", ParameterKind::Fixed, "no"),
    (SLOT_STATISTICS, ParameterKind::Fixed, "no"),
    ("hz", ParameterKind::Integer(1, 500), "10"),
    ("io-threads", ParameterKind::Fixed, "1"),
    ("latency-monitor-threshold", ParameterKind::Integer(0, i64::MAX), "0"),
    ("maxclients", ParameterKind::Integer(1, MAX_CLIENTS), "10000"),
    ("maxmemory", ParameterKind::Memory, "0"),
    ("maxmemory-policy", ParameterKind::OneOf(&["noeviction"]), "noeviction"),
    ("notify-keyspace-events", ParameterKind::Text, ""),
    ("port", ParameterKind::Fixed, "0"),
    ("requirepass", ParameterKind::Text, ""),
    ("save", ParameterKind::Text, ""),
    ("slowlog-log-slower-than", ParameterKind::Integer(-1, i64::MAX), "10000"),
    ("slowlog-max-len", ParameterKind::Integer(0, i64::MAX), "128"),
];

/// The values of all parameters as text, and typed copies of the values that every command needs.
#[derive(Debug, Clone)]
pub struct ServerParameters {
    values: [String; PARAMETERS.len()],
    /// The shortest command that is added to the slow log, in µs, or `None` if the slow log is off.
    pub slower_than_us: Option<u64>,
    /// The shortest command that is added to the latency monitor, in ms, or 0 if the latency monitor is off.
    pub latency_threshold_ms: u64,
    /// Whether SETs are published: `notify-keyspace-events` contains K (keyspace), and $ or A (strings, all).
    pub notifies_sets: bool,
    /// The largest size of the data in bytes, or 0 if there is no limit. If the data is larger, commands that may need
    /// memory are refused.
    pub maxmemory: u64,
}

impl ServerParameters {
    /// Returns the defaults, with this port and this password. An empty password means that clients need no password.
    pub fn new(port: u16, password: &str) -> Self {
        let values = PARAMETERS.map(|(name, _, default)| match name {
            "port" => port.to_string(),
            "requirepass" => password.to_owned(),
            _ => default.to_owned(),
        });
        let mut config = Self {
            values,
            slower_than_us: None,
            latency_threshold_ms: 0,
            notifies_sets: false,
            maxmemory: 0,
        };
        config.settle();
        config
    }

    /// Sets the parameters to the values that a node of a cluster has.
    pub fn join_cluster(&mut self) {
        for ((name, ..), value) in PARAMETERS.iter().zip(&mut self.values) {
            if ["cluster-enabled", SLOT_STATISTICS].contains(name) {
                "yes".clone_into(value);
            }
        }
    }

    /// Returns the value of a parameter, or an empty string for an unknown parameter.
    pub fn value(&self, name: &str) -> &str {
        PARAMETERS.iter().position(|(known, ..)| *known == name).map_or("", |index| &self.values[index])
    }

    /// Returns the value of a numeric parameter, 0 or more.
    pub fn number(&self, name: &str) -> u64 {
        self.value(name).parse().expect("the table's numbers are checked when they are set")
    }

    /// Returns the names and values of the parameters that match any of the patterns.
    pub fn matching<'a>(&'a self, patterns: &[&[u8]]) -> Vec<(&'static str, &'a str)> {
        let patterns: Vec<Vec<u8>> = patterns.iter().map(|pattern| pattern.to_ascii_lowercase()).collect();
        let wanted = |name: &str| patterns.iter().any(|pattern| matches(pattern, name.as_bytes()));
        let all = PARAMETERS.iter().zip(&self.values);
        all.filter(|((name, ..), _)| wanted(name))
            .map(|((name, ..), value)| (*name, value.as_str()))
            .collect()
    }

    /// Sets all given parameters, or no parameter if one is invalid.
    ///
    /// # Errors
    /// Fails if a parameter does not exist, or if its value is invalid. The error names the first such
    /// parameter.
    pub fn set<'a>(
        &mut self,
        pairs: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Result<(), ReplyError> {
        let mut changed = self.clone();
        for (given, value) in pairs {
            let is_meant =
                |(name, ..): &(&str, ParameterKind, &str)| given.eq_ignore_ascii_case(name.as_bytes());
            let Some(index) = PARAMETERS.iter().position(is_meant) else {
                let given = String::from_utf8_lossy(given);
                return Err(ReplyError::other(format!(
                    "ERR Unknown option or number of arguments for CONFIG SET - '{given}'"
                )));
            };
            let (name, kind, _) = PARAMETERS[index];
            changed.values[index] = read(kind, value).map_err(|reason| {
                ReplyError::other(format!(
                    "ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}"
                ))
            })?;
        }
        changed.settle();
        *self = changed;
        Ok(())
    }

    /// Updates the typed copies of parameters from the parameters' texts.
    fn settle(&mut self) {
        self.slower_than_us = self.value("slowlog-log-slower-than").parse().ok();
        self.latency_threshold_ms = self.number("latency-monitor-threshold");
        let letters = self.value("notify-keyspace-events");
        self.notifies_sets = letters.contains('K') && letters.contains(['$', 'A']);
        self.maxmemory = self.number("maxmemory");
    }
}

/// Converts the value of a parameter to the form that CONFIG GET returns. If the value is invalid, returns the reason.
fn read(kind: ParameterKind, value: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(value).into_owned();
    let lower = text.to_ascii_lowercase();
    match kind {
        ParameterKind::Integer(low, high) => match text.parse::<i64>() {
            Ok(n) if (low..=high).contains(&n) => Ok(n.to_string()),
            Ok(_) => Err(format!("argument must be between {low} and {high} inclusive")),
            Err(_) => Err("argument couldn't be parsed into an integer".to_owned()),
        },
        ParameterKind::Memory => match parse_bytes(&text) {
            Ok(n) => Ok(n.to_string()),
            Err(_) => Err("argument must be a memory value".to_owned()),
        },
        ParameterKind::OneOf(names) if names.contains(&lower.as_str()) => Ok(lower),
        ParameterKind::OneOf(names) => {
            Err(format!("argument(s) must be one of the following: {}", names.join(", ")))
        }
        ParameterKind::Text => Ok(text),
        ParameterKind::Fixed => Err("can't set immutable config".to_owned()),
    }
}

/// Returns whether the whole `text` matches `pattern`. The run time is at most proportional to the product of the two
/// lengths.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    // The positions in the text that the pattern may have reached.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    let mut rest = pattern.iter();
    while let Some(byte) = rest.next() {
        if *byte == b'*' {
            let first = reached.iter().position(|is_reached| *is_reached).unwrap_or(reached.len());
            reached[first..].fill(true);
            continue;
        }
        let is_literal = *byte == b'\\';
        let wanted = if is_literal { rest.next().unwrap_or(byte) } else { byte };
        for end in (1..reached.len()).rev() {
            reached[end] = reached[end - 1] && (text[end - 1] == *wanted || (*byte == b'?' && !is_literal));
        }
        reached[0] = false;
    }
    reached[text.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_valid_value_of_its_parameter() {
        let config = ServerParameters::new(6379, "");
        for (_, kind, default) in
            PARAMETERS.iter().filter(|(_, kind, _)| !matches!(kind, ParameterKind::Fixed))
        {
            assert_eq!(read(*kind, default.as_bytes()).as_deref(), Ok(*default));
        }
        assert_eq!((config.number("hz"), config.slower_than_us), (10, Some(10_000)));
        assert_eq!(config.value("port"), "6379");
    }

    #[test]
    fn globs_find_parameters_in_any_case() {
        let config = ServerParameters::new(0, "");
        assert_eq!(
            config.matching(&[b"MAXMEM*", b"hz"]),
            [("hz", "10"), ("maxmemory", "0"), ("maxmemory-policy", "noeviction")]
        );
        assert!(config.matching(&[b"nosuch"]).is_empty());
    }

    #[test]
    fn all_pairs_are_set_or_none() {
        let mut config = ServerParameters::new(0, "");
        assert!(config.set([(&b"hz"[..], &b"50"[..]), (b"maxmemory", b"lots")]).is_err());
        assert_eq!(config.number("hz"), 10);
        assert!(config.set([(&b"HZ"[..], &b"50"[..]), (b"maxmemory", b"10mb")]).is_ok());
        assert_eq!((config.number("hz"), config.maxmemory), (50, 10 << 20));
    }

    #[test]
    fn an_invalid_value_is_refused_with_the_message_of_redis() {
        let mut config = ServerParameters::new(0, "");
        let cases: [(&str, &str, &str); 6] = [
            ("maxmemory-policy", "allkeys-lru", "argument(s) must be one of the following: noeviction"),
            ("nosuch", "1", "ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'"),
            ("hz", "foo", "argument couldn't be parsed into an integer"),
            ("appendonly", "maybe", "argument(s) must be one of the following: yes, no"),
            ("slowlog-max-len", "-3", "argument must be between 0 and 9223372036854775807 inclusive"),
            ("io-threads", "4", "can't set immutable config"),
        ];
        for (name, value, words) in cases {
            let error = config.set([(name.as_bytes(), value.as_bytes())]).unwrap_err().0;
            assert!(error.ends_with(words), "{error}");
        }
    }

    #[test]
    fn patterns_match_as_in_redis() {
        let yes = [
            ("*", ""),
            ("*", "abc"),
            ("a*c", "abbbc"),
            ("*b*d", "abcbcd"),
            ("h?llo", "hello"),
            ("a\\*", "a*"),
            ("redyno:*", "redyno:000001"),
        ];
        for (pattern, text) in yes {
            assert!(matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("a", ""), ("a\\*", "ab"), ("*a", "ab"), ("A", "a")] {
            assert!(!matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
    }

    #[test]
    fn a_hostile_pattern_does_not_take_exponential_time() {
        let pattern = "a*".repeat(40) + "b";
        assert!(!matches(pattern.as_bytes(), &[b'a'; 2000]));
    }
}
