//! The CONFIG parameters that affect latency: their names, their values, and the conversion of typed values.
//!
//! Other parameters are never read or set, because they may contain a password.

use std::ops::RangeInclusive;

/// A parameter that a session can set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The name of the parameter in CONFIG.
    pub name: &'static str,
    /// The values that a key press steps through.
    pub values: ParameterValues,
    /// The effect of the parameter, in a few words.
    pub about: &'static str,
    /// The default of Redis 7 and Valkey without a configuration file.
    pub usual: &'static str,
}

/// The values that a key press steps through, and the other plausible values. Users can type any value, and the server
/// accepts or refuses this value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterValues {
    /// A list of words. Only these words are valid.
    Words(&'static [&'static str]),
    /// A list of values with save points. Other plausible values are pairs of seconds and changes.
    SavePoints(&'static [&'static str]),
    /// A list of numbers, and the range of plausible values. From a value between two of these numbers, a step goes to
    /// the next number.
    Numbers(&'static [u64], RangeInclusive<i64>),
    /// A list of memory limits in bytes. 0 means no limit. Other plausible values are at least 1 MiB.
    Bytes(&'static [u64]),
}

const YES_NO: ParameterValues = ParameterValues::Words(&["no", "yes"]);
const MIB: u64 = 1 << 20;
/// The largest plausible memory limit: 1 PiB.
const MOST_BYTES: u64 = 1 << 50;
/// The largest number of seconds or changes that the server accepts in a save point.
const MOST_CHANGES: i64 = i32::MAX as i64;
/// The largest plausible number of save points.
const MOST_SAVE_POINTS: usize = 10;

/// The parameters, in the order in which the screen lists them.
pub static PARAMETERS: [Parameter; 10] = [
    Parameter {
        name: "maxmemory",
        values: ParameterValues::Bytes(&[
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
        usual: "0",
    },
    Parameter {
        name: "maxmemory-policy",
        values: ParameterValues::Words(&[
            "noeviction",
            "allkeys-lru",
            "allkeys-lfu",
            "allkeys-random",
            "volatile-lru",
            "volatile-lfu",
            "volatile-random",
            "volatile-ttl",
        ]),
        about: "which keys are evicted at the memory limit",
        usual: "noeviction",
    },
    Parameter {
        name: "save",
        values: ParameterValues::SavePoints(&["", "3600 1 300 100 60 10000"]),
        about: "RDB snapshots: pairs of seconds and changes",
        usual: "3600 1 300 100 60 10000",
    },
    Parameter { name: "appendonly", values: YES_NO, about: "keep an append-only file", usual: "no" },
    Parameter {
        name: "appendfsync",
        values: ParameterValues::Words(&["no", "everysec", "always"]),
        about: "when the append-only file is synced to disk",
        usual: "everysec",
    },
    Parameter {
        name: "io-threads",
        values: ParameterValues::Numbers(&[1, 2, 3, 4, 6, 8], 1..=256),
        about: "threads for sockets",
        usual: "1",
    },
    Parameter {
        name: "hz",
        values: ParameterValues::Numbers(&[1, 10, 20, 50, 100, 200, 500], 1..=500),
        about: "runs of the server's background tasks per second",
        usual: "10",
    },
    Parameter { name: "activedefrag", values: YES_NO, about: "defragment memory while serving", usual: "no" },
    Parameter {
        name: "latency-monitor-threshold",
        values: ParameterValues::Numbers(&[0, 1, 2, 5, 10, 20, 50, 100], 0..=i64::MAX),
        about: "shortest event that the latency monitor keeps, in ms; 0 is off; no measurable cost",
        usual: "0",
    },
    Parameter {
        name: "slowlog-log-slower-than",
        values: ParameterValues::Numbers(
            &[0, 100, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000],
            -1..=i64::MAX,
        ),
        about: "shortest command for the slow log in µs; -1 is off",
        usual: "10000",
    },
];

/// The parameter that selects the keyspace notifications. Only the setup of a workload sets this parameter.
pub(super) static NOTIFICATIONS: Parameter = Parameter {
    name: "notify-keyspace-events",
    values: ParameterValues::Words(&[""]),
    about: "which changes of keys are published",
    usual: "",
};
/// The letters in values of `notify-keyspace-events`, in lower case.
const LETTERS: &str = "keag$lshzxtdmnoc";

impl Parameter {
    /// Returns the parameter with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|parameter| parameter.name == name)
    }

    /// Returns all parameters that a session may set, first the parameters that the screen lists.
    pub(super) fn all() -> impl Iterator<Item = &'static Self> {
        PARAMETERS.iter().chain([&NOTIFICATIONS])
    }

    /// Returns the next higher step from the value `now` if `up` is true, otherwise the next lower step; `None` means
    /// that there is no further step. Memory limits below the `used` bytes are left out. If `used` is unknown, all
    /// memory limits except 0 (no limit) are left out.
    pub fn step_from(&self, now: &str, up: bool, used: Option<u64>) -> Option<String> {
        match &self.values {
            ParameterValues::Words(words) | ParameterValues::SavePoints(words) => {
                let at = words.iter().position(|word| *word == now);
                let next = match (at, up) {
                    (Some(at), true) => words.get(at + 1),
                    (Some(at), false) => words.get(at.checked_sub(1)?),
                    // If the value is not in the list, the step up is the last word, and the step down is the
                    // first word.
                    (None, true) => words.last(),
                    (None, false) => words.first(),
                };
                next.map(|word| (*word).to_owned())
            }
            ParameterValues::Numbers(steps, _) => next_step(now, up, steps.iter().copied()),
            ParameterValues::Bytes(steps) => {
                let holds = |limit: u64| limit == 0 || used.is_some_and(|used| limit >= used);
                next_step(now, up, steps.iter().copied().filter(|limit| holds(*limit)))
            }
        }
    }

    /// Converts a typed text to the form for CONFIG SET. A size may have a unit as in Redis (1 kb is 1024 bytes, 1 k is
    /// 1000 bytes) or as in `1.5 GiB`. A time may have a unit, too. Other texts are not changed, and the server accepts
    /// or refuses these texts.
    pub fn typed(&self, text: &str) -> String {
        let text = text.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = (text[..digits].parse::<f64>().ok(), text[digits..].trim().to_lowercase());
        let times = match (&self.values, self.name) {
            (ParameterValues::Bytes(_), _) => power_of_bytes(&unit),
            (ParameterValues::Numbers(..), "slowlog-log-slower-than") => seconds_of(&unit).map(|s| s * 1e6),
            (ParameterValues::Numbers(..), "latency-monitor-threshold") => seconds_of(&unit).map(|s| s * 1e3),
            _ => None,
        };
        let value = number.zip(times).map(|(number, times)| (number * times).round());
        match value.filter(|value| (0.0..=MOST_BYTES as f64).contains(value)) {
            Some(value) => format!("{value:.0}"),
            None => text.to_owned(),
        }
    }

    /// Returns whether a user could have configured `value`. redyno restores only such values. redyno also checks the
    /// values in markers with this function, because other clients can write to markers.
    pub fn is_plausible(&self, value: &str) -> bool {
        match &self.values {
            ParameterValues::Words(_) if *self == NOTIFICATIONS => {
                value.chars().all(|letter| LETTERS.contains(letter.to_ascii_lowercase()))
            }
            ParameterValues::Words(words) => words.contains(&value),
            ParameterValues::SavePoints(_) => {
                let numbers: Vec<_> = value.split(' ').filter(|word| !word.is_empty()).collect();
                numbers.len() <= 2 * MOST_SAVE_POINTS
                    && numbers.len().is_multiple_of(2)
                    && numbers
                        .iter()
                        .all(|text| number(text).is_some_and(|n| (0..=MOST_CHANGES).contains(&n)))
            }
            ParameterValues::Numbers(_, range) => number(value).is_some_and(|n| range.contains(&n)),
            ParameterValues::Bytes(_) => bytes(value).is_some_and(|bytes| bytes == 0 || bytes >= MIB),
        }
    }

    /// Returns whether a session may set `value`, in the form of CONFIG GET. If the session is killed, a later redyno
    /// must recognise this value as set by redyno. A memory limit may be lower than the [plausible](Self::is_plausible)
    /// limits, because redyno never restores a value that redyno itself has set.
    pub fn takes(&self, value: &str) -> bool {
        self.is_plausible(value) || matches!(self.values, ParameterValues::Bytes(_)) && bytes(value).is_some()
    }

    /// Returns the range of [plausible](Self::is_plausible) values: `1 to 500`.
    pub fn plausible_words(&self) -> String {
        match &self.values {
            ParameterValues::Words(_) if *self == NOTIFICATIONS => format!("the letters {LETTERS}"),
            ParameterValues::Words(words) => words.join(", "),
            ParameterValues::SavePoints(_) => {
                format!("up to {MOST_SAVE_POINTS} pairs of seconds and changes")
            }
            ParameterValues::Numbers(_, range) => format!("{} to {}", range.start(), range.end()),
            ParameterValues::Bytes(_) => format!("0, or {MIB} to {MOST_BYTES} bytes"),
        }
    }
}

/// Parses a whole number as CONFIG GET writes it.
fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Parses a number of bytes that may be a memory limit.
fn bytes(text: &str) -> Option<u64> {
    number(text).and_then(|n| u64::try_from(n).ok()).filter(|bytes| *bytes <= MOST_BYTES)
}

/// Returns the number of bytes in a unit: 1024 for `kb`.
fn power_of_bytes(unit: &str) -> Option<f64> {
    let (base, letter) = match unit {
        "b" => return Some(1.0),
        _ if unit.ends_with('b') => (1024_f64, unit.trim_end_matches("ib").trim_end_matches('b')),
        _ => (1000.0, unit),
    };
    let power = ["k", "m", "g", "t"].iter().position(|known| *known == letter)?;
    Some(base.powi(power as i32 + 1))
}

/// Returns the number of seconds in a unit: 0.001 for `ms`.
fn seconds_of(unit: &str) -> Option<f64> {
    match unit {
        "us" | "µs" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        _ => None,
    }
}

/// Returns the step before or after the number `now`.
fn next_step(now: &str, up: bool, mut steps: impl DoubleEndedIterator<Item = u64>) -> Option<String> {
    // A negative number means off, like -1.
    let now: i128 = now.parse().ok()?;
    let next = if up {
        steps.find(|step| i128::from(*step) > now)
    } else {
        steps.rev().find(|step| i128::from(*step) < now)
    };
    next.map(|step| step.to_string())
}

/// Returns the text that is shown for a value: `""` for an empty value.
pub fn value_words(value: &str) -> &str {
    if value.is_empty() { "\"\"" } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turned(name: &str, now: &str, up: bool) -> Option<String> {
        Parameter::named(name).unwrap().step_from(now, up, Some(0))
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
    fn sizes_and_times_may_have_units_and_other_texts_are_not_changed() {
        let typed = |name: &str, text| Parameter::named(name).unwrap().typed(text);
        for (text, bytes) in [
            ("1gb", "1073741824"),
            (" 1.5 GiB ", "1610612736"),
            ("100m", "100000000"),
            ("64KB", "65536"),
            ("512b", "512"),
            ("104857600", "104857600"),
            ("50%", "50%"),
            ("1xb", "1xb"),
            ("-1mb", "-1mb"),
            ("", ""),
            ("9e9 tb", "9e9 tb"),
        ] {
            assert_eq!(typed("maxmemory", text), bytes, "{text}");
        }
        assert_eq!(
            ["5ms", "1.5 s", "300us", "-1"].map(|t| typed("slowlog-log-slower-than", t)),
            ["5000", "1500000", "300", "-1"]
        );
        assert_eq!(["1s", "20"].map(|text| typed("latency-monitor-threshold", text)), ["1000", "20"]);
        assert_eq!((typed("save", "900 1"), typed("hz", "10s")), ("900 1".to_owned(), "10s".to_owned()));
    }

    #[test]
    fn no_limit_below_the_used_memory_is_offered() {
        let maxmemory = Parameter::named("maxmemory").unwrap();
        let turned = |now: u64, up, used| maxmemory.step_from(&now.to_string(), up, used);
        let used = Some(320 * MIB);
        assert_eq!(turned(0, true, used), Some((512 * MIB).to_string()));
        assert_eq!(turned(1024 * MIB, false, used), Some((512 * MIB).to_string()));
        assert_eq!(turned(512 * MIB, false, used).as_deref(), Some("0"), "0 means no limit");
        assert_eq!(turned(0, true, Some(u64::MAX)), None);
        assert_eq!((turned(0, true, None), turned(512 * MIB, false, None).as_deref()), (None, Some("0")));
    }

    #[test]
    fn a_value_is_plausible_if_a_server_may_have_been_configured_with_it() {
        let plausible = |name: &str, value| Parameter::named(name).unwrap().is_plausible(value);
        for (name, value) in [
            ("maxmemory", "0"),
            ("maxmemory", "3221225472"),
            ("maxmemory-policy", "volatile-ttl"),
            ("save", ""),
            ("save", "900 1 300 10"),
            ("appendonly", "yes"),
            ("hz", "15"),
            ("slowlog-log-slower-than", "-1"),
            ("slowlog-log-slower-than", "4000000000"),
            ("latency-monitor-threshold", "9223372036854775807"),
            ("notify-keyspace-events", "AKE"),
        ] {
            assert!(plausible(name, value), "{name} {value}");
        }
        for (name, value) in [
            ("maxmemory", "1"),
            ("maxmemory", "-1"),
            ("maxmemory", "99999999999999999999"),
            ("maxmemory", "+5000000"),
            ("maxmemory-policy", "none"),
            ("save", "900"),
            ("save", "1 \x1b[2J"),
            ("save", "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"),
            ("appendonly", "maybe"),
            ("hz", "0"),
            ("hz", "501"),
            ("hz", "ten"),
            ("hz", ""),
            ("notify-keyspace-events", "K\r"),
        ] {
            assert!(!plausible(name, value), "{name} {value}");
        }
        for parameter in &PARAMETERS {
            let all: Vec<_> = match &parameter.values {
                ParameterValues::Words(words) | ParameterValues::SavePoints(words) => {
                    words.iter().map(|w| (*w).to_owned()).collect()
                }
                ParameterValues::Numbers(steps, _) | ParameterValues::Bytes(steps) => {
                    steps.iter().map(u64::to_string).collect()
                }
            };
            assert!(all.iter().all(|value| parameter.is_plausible(value)), "{}", parameter.name);
        }
    }

    #[test]
    fn a_memory_limit_may_be_set_that_would_not_be_restored() {
        let takes = |name: &str, value| Parameter::named(name).unwrap().takes(value);
        assert!(takes("maxmemory", "1") && takes("maxmemory", "524288") && takes("hz", "500"));
        assert!(!takes("maxmemory", "-1") && !takes("maxmemory", "1125899906842625") && !takes("hz", "501"));
    }

    #[test]
    fn no_parameter_can_hold_a_password() {
        for parameter in &PARAMETERS {
            let name = parameter.name;
            assert!(!name.contains("pass") && !name.contains("auth") && !name.contains("user"), "{name}");
        }
    }
}
