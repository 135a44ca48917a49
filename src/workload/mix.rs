//! The weighted commands of a workload.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A command that a workload can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Command {
    /// `GET key`
    Get,
    /// `SET key value`
    Set,
    /// `INCR counter`
    Incr,
    /// `PING`
    Ping,
}

impl Command {
    /// All commands, in the order of their index.
    pub const ALL: [Self; 4] = [Self::Get, Self::Set, Self::Incr, Self::Ping];

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Set => "SET",
            Self::Incr => "INCR",
            Self::Ping => "PING",
        }
    }

    /// Its place in [`ALL`](Self::ALL).
    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether it changes the server's data.
    pub fn writes(self) -> bool {
        matches!(self, Self::Set | Self::Incr)
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How often each command is asked for: relative weights, at least one of them above 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub struct Mix {
    /// Weight of GET.
    pub get: u32,
    /// Weight of SET.
    pub set: u32,
    /// Weight of INCR.
    pub incr: u32,
    /// Weight of PING.
    pub ping: u32,
}

/// Why a text is no mix.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ParseMixError {
    /// Not of the form `SET:GET`.
    #[error("'{0}' is not a ratio SET:GET of two whole numbers, such as 1:10")]
    Form(String),
    /// A side above [`MAX_WEIGHT`].
    #[error("the weights of a ratio go up to {MAX_WEIGHT}, '{0}' goes beyond")]
    TooLarge(String),
    /// Both sides are 0.
    #[error("a ratio of 0:0 asks for nothing; give at least one side a weight, such as 1:10")]
    Nothing,
    /// No preset of that name.
    #[error("there is no workload '{0}'; there are {names}", names = Mix::preset_names())]
    UnknownPreset(String),
}

/// The largest weight of a command: turning the read share multiplies weights by up to 200, within 32 bits.
pub const MAX_WEIGHT: u32 = 1_000_000;

/// Presets that `--workload` takes.
const PRESETS: [(&str, Mix); 6] = [
    ("cache", Mix::ratio(1, 10)),
    ("mixed", Mix::ratio(1, 1)),
    ("get", Mix::ratio(0, 1)),
    ("set", Mix::ratio(1, 0)),
    ("incr", Mix { get: 0, set: 0, incr: 1, ping: 0 }),
    ("ping", Mix { get: 0, set: 0, incr: 0, ping: 1 }),
];

impl Default for Mix {
    fn default() -> Self {
        Self::USUAL
    }
}

impl Mix {
    /// Ten GET for each SET, as memtier_benchmark does.
    pub const USUAL: Self = Self::ratio(1, 10);

    /// `set` SETs for every `get` GETs.
    pub const fn ratio(set: u32, get: u32) -> Self {
        Self { get, set, incr: 0, ping: 0 }
    }

    /// The preset called `name`.
    ///
    /// # Errors
    /// When there is none; the message lists those there are.
    pub fn preset(name: &str) -> Result<Self, ParseMixError> {
        let found = PRESETS.iter().find(|(preset, _)| *preset == name).map(|(_, mix)| *mix);
        found.ok_or_else(|| ParseMixError::UnknownPreset(name.to_owned()))
    }

    /// All presets, by name.
    pub fn presets() -> impl Iterator<Item = (&'static str, Self)> {
        PRESETS.into_iter()
    }

    /// The names of all presets, for a message or a help text.
    pub fn preset_names() -> String {
        PRESETS.map(|(name, _)| name).join(", ")
    }

    /// Reads memtier_benchmark's `SET:GET`.
    ///
    /// # Errors
    /// When the text has another form, or asks for nothing.
    pub fn parse_ratio(text: &str) -> Result<Self, ParseMixError> {
        let form = || ParseMixError::Form(text.to_owned());
        let (set, get) = text.split_once(':').ok_or_else(form)?;
        let weight = |part: &str| u32::from_str(part.trim()).map_err(|_| form());
        match Self::ratio(weight(set)?, weight(get)?) {
            Self { get: 0, set: 0, .. } => Err(ParseMixError::Nothing),
            Self { get, set, .. } if get.max(set) > MAX_WEIGHT => {
                Err(ParseMixError::TooLarge(text.to_owned()))
            }
            mix => Ok(mix),
        }
    }

    /// The weight of `command`.
    pub fn weight(&self, command: Command) -> u32 {
        match command {
            Command::Get => self.get,
            Command::Set => self.set,
            Command::Incr => self.incr,
            Command::Ping => self.ping,
        }
    }

    /// The sum of all weights.
    pub fn total(&self) -> u64 {
        Command::ALL.iter().map(|c| u64::from(self.weight(*c))).sum()
    }

    /// Whether any command changes the server's data.
    pub fn writes(&self) -> bool {
        Command::ALL.iter().any(|c| c.writes() && self.weight(*c) > 0)
    }

    /// The share of GET among GET and SET, 0 to 1; `None` when the workload has neither.
    pub fn read_share(&self) -> Option<f64> {
        let both = f64::from(self.get) + f64::from(self.set);
        (both > 0.0).then(|| f64::from(self.get) / both)
    }

    /// The same mix with `percent` (0 to 100) of its GETs and SETs being GETs. INCR and PING keep their share.
    /// A mix without GET and SET stays as it is.
    #[must_use]
    pub fn with_read_percent(mut self, percent: u32) -> Self {
        if self.get + self.set == 0 {
            return self;
        }
        let both = self.get + self.set;
        let percent = percent.min(100);
        self.get = both * percent;
        self.set = both * (100 - percent);
        self.incr *= 100;
        self.ping *= 100;
        self.reduced()
    }

    /// Divides all weights by what they have in common, so that a mix turned back and forth is the same mix.
    fn reduced(self) -> Self {
        let divisor = Command::ALL.iter().fold(0, |divisor, c| gcd(divisor, self.weight(*c))).max(1);
        Self {
            get: self.get / divisor,
            set: self.set / divisor,
            incr: self.incr / divisor,
            ping: self.ping / divisor,
        }
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl fmt::Display for Mix {
    /// `GET:SET 10:1`, with the commands that have a weight; one alone is just its name.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let asked: Vec<_> = Command::ALL.into_iter().filter(|c| self.weight(*c) > 0).collect();
        let names: Vec<_> = asked.iter().map(|c| c.name()).collect();
        let weights: Vec<_> = asked.iter().map(|c| self.weight(*c).to_string()).collect();
        match names.len() {
            1 => f.write_str(names[0]),
            _ => write!(f, "{} {}", names.join(":"), weights.join(":")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_set_before_get() {
        assert_eq!(Mix::parse_ratio("1:10"), Ok(Mix { get: 10, set: 1, incr: 0, ping: 0 }));
        assert_eq!(Mix::parse_ratio("0:0"), Err(ParseMixError::Nothing));
        for bad in ["1", "1:", "a:b", "1:2:3", "-1:2"] {
            assert_eq!(Mix::parse_ratio(bad), Err(ParseMixError::Form(bad.to_owned())));
        }
    }

    #[test]
    fn the_read_share_turns_both_ways_and_leaves_other_commands_their_share() {
        let mix = Mix::ratio(1, 1).with_read_percent(91);
        assert_eq!(mix.read_share(), Some(0.91));
        assert_eq!(mix.with_read_percent(50), Mix::ratio(1, 1));
        let with_ping = Mix { ping: 2, ..Mix::ratio(1, 1) }.with_read_percent(0);
        assert_eq!(with_ping, Mix { get: 0, set: 1, incr: 0, ping: 1 });
        assert_eq!(Mix::preset("incr").unwrap().with_read_percent(20), Mix::preset("incr").unwrap());
    }

    #[test]
    fn a_mix_is_written_as_its_commands_and_weights() {
        assert_eq!(Mix::default().to_string(), "GET:SET 10:1");
        assert_eq!(Mix::preset("ping").unwrap().to_string(), "PING");
    }

    #[test]
    fn an_unknown_preset_names_the_known_ones() {
        let message = Mix::preset("zip").unwrap_err().to_string();
        assert_eq!(message, "there is no workload 'zip'; there are cache, mixed, get, set, incr, ping");
    }
}
