//! One knob: its name, how its value is written, how it turns and what may be typed into it.

use std::fmt;

use thiserror::Error;

use super::{Arrivals, KnobError, Knobs, MAX_CLIENTS, MAX_KEYSPACE, MAX_PIPELINE, ParseChoiceError};
use crate::{
    units::{self, ParseQuantityError},
    workload::{MAX_VALUE_SIZE, NoPreset},
};

/// The highest rate that turning reaches; above it is "max". Typing goes on to the top of the range.
const HIGHEST_TURNED_RATE: u64 = 5_000_000;
/// How far one step turns the share of reads, in percent.
const READS_STEP: u32 = 5;

/// A setting that a person can turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Knob {
    /// Connections.
    Clients,
    /// Requests in flight on each.
    Pipeline,
    /// Requests per second that are due; at its top the loop is closed.
    Rate,
    /// How they come due.
    Arrivals,
    /// Share of GET among GET and SET.
    Reads,
    /// Bytes of a value.
    ValueSize,
    /// Keys to choose from.
    Keys,
}

/// Which way a knob turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Less.
    Down,
    /// More.
    Up,
}

impl Direction {
    /// The other one.
    pub fn reversed(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }
}

/// Why a knob stays where it is.
#[derive(Debug, Error, PartialEq)]
pub enum TurnError {
    /// Turned against its stop.
    #[error("{0} is at its {1}, {2}")]
    AtTheEnd(Knob, &'static str, String),
    /// The workload has neither GET nor SET.
    #[error("this workload has neither GET nor SET, so there is no share of reads to turn")]
    NoReads,
    /// Every value has a size that the workload says.
    #[error("the values of this workload have sizes of its own, so there is no value size to turn")]
    OwnSizes,
    /// Without a rate nothing is due.
    #[error("the loop is closed: give the rate a value first, then requests come due")]
    Closed,
    /// The text names no choice.
    #[error(transparent)]
    Choice(#[from] ParseChoiceError),
    /// The text names no workload.
    #[error(transparent)]
    Workload(#[from] NoPreset),
    /// The text is no quantity.
    #[error(transparent)]
    Quantity(#[from] ParseQuantityError),
    /// The number is outside the range.
    #[error(transparent)]
    Range(#[from] KnobError),
    /// The number is too large for the setting.
    #[error("{0} cannot be as high as {1}")]
    TooLarge(&'static str, u64),
    /// A share above the whole.
    #[error("reads must lie between 0 and 100 percent, not {0}")]
    Share(u64),
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Knob {
    /// All knobs, in the order of the panel.
    pub const ALL: [Self; 7] =
        [Self::Clients, Self::Pipeline, Self::Rate, Self::Arrivals, Self::Reads, Self::ValueSize, Self::Keys];

    /// Its name on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clients => "clients",
            Self::Pipeline => "pipeline",
            Self::Rate => "rate",
            Self::Arrivals => "arrivals",
            Self::Reads => "reads",
            Self::ValueSize => "value size",
            Self::Keys => "keys",
        }
    }

    /// Its value in `knobs`, with its unit.
    pub fn value(self, knobs: &Knobs) -> String {
        match self {
            Self::Clients => knobs.clients.to_string(),
            Self::Pipeline => knobs.pipeline.to_string(),
            Self::Rate => {
                knobs.rate.map_or_else(|| "max".to_owned(), |rate| units::setting(rate.into()) + "/s")
            }
            Self::Arrivals => knobs.rate.map_or("closed", |_| knobs.arrivals.name()).to_owned(),
            Self::Reads => knobs.workload.read_share().map_or_else(|| "none".to_owned(), units::percent),
            Self::ValueSize if knobs.workload.has_own_sizes() => "the workload's".to_owned(),
            Self::ValueSize => units::bytes(knobs.value_size.into()),
            Self::Keys => units::setting(knobs.keyspace),
        }
    }

    /// `knobs` with this one turned a step. `ops_per_s` is what the load reaches now: a rate that was "max"
    /// comes down to just below it, where turning first makes a difference.
    ///
    /// # Errors
    /// When it is at its end, when there is nothing to turn, or when it does not go with the others.
    pub fn turned(
        self,
        knobs: &Knobs,
        direction: Direction,
        ops_per_s: Option<f64>,
    ) -> Result<Knobs, TurnError> {
        let mut turned = knobs.clone();
        match self {
            Self::Clients => turned.clients = stepped(knobs.clients, direction, MAX_CLIENTS),
            Self::Pipeline => turned.pipeline = stepped(knobs.pipeline, direction, MAX_PIPELINE),
            Self::Rate => turned.rate = turned_rate(knobs.rate, direction, ops_per_s),
            Self::Arrivals => {
                knobs.rate.ok_or(TurnError::Closed)?;
                turned.arrivals = match direction {
                    Direction::Down => Arrivals::Constant,
                    Direction::Up => Arrivals::Poisson,
                };
            }
            Self::Reads => {
                let percent = knobs.workload.read_share().ok_or(TurnError::NoReads)? * 100.0;
                turned.workload = knobs.workload.with_read_percent(turned_percent(percent, direction));
            }
            Self::ValueSize if knobs.workload.has_own_sizes() => return Err(TurnError::OwnSizes),
            Self::ValueSize => turned.value_size = doubled(knobs.value_size, direction, MAX_VALUE_SIZE),
            Self::Keys => turned.keyspace = step_125(knobs.keyspace, direction).clamp(1, MAX_KEYSPACE),
        }
        if turned == *knobs {
            let end = if direction == Direction::Up { "highest" } else { "lowest" };
            return Err(TurnError::AtTheEnd(self, end, self.value(knobs)));
        }
        Ok(turned.checked()?)
    }

    /// `knobs` with this one set to what was typed: a count or size with an optional suffix, a percentage,
    /// `max` for a rate.
    ///
    /// # Errors
    /// When the text is no such quantity or lies outside the range; the message says which.
    pub fn typed(self, knobs: &Knobs, text: &str) -> Result<Knobs, TurnError> {
        let mut typed = knobs.clone();
        let text = text.trim();
        let narrow = |n: u64| u32::try_from(n).map_err(|_| TurnError::TooLarge(self.name(), n));
        match self {
            Self::Clients => typed.clients = narrow(units::parse_count(text)?)?,
            Self::Pipeline => typed.pipeline = narrow(units::parse_count(text)?)?,
            Self::Rate if text.eq_ignore_ascii_case("max") => typed.rate = None,
            Self::Rate => {
                let bare = text.strip_suffix("/s").unwrap_or(text);
                typed.rate = Some(narrow(units::parse_count(bare)?)?);
            }
            Self::Arrivals => {
                knobs.rate.ok_or(TurnError::Closed)?;
                typed.arrivals = text.parse()?;
            }
            Self::Reads => {
                knobs.workload.read_share().ok_or(TurnError::NoReads)?;
                let percent = units::parse_count(text.trim_end_matches('%').trim_end())?;
                let percent = u32::try_from(percent).ok().filter(|p| *p <= 100);
                let percent = percent.ok_or_else(|| TurnError::Share(percent_of(text)))?;
                typed.workload = knobs.workload.with_read_percent(percent);
            }
            Self::ValueSize if knobs.workload.has_own_sizes() => return Err(TurnError::OwnSizes),
            Self::ValueSize => typed.value_size = narrow(units::parse_bytes(text)?)?,
            Self::Keys => typed.keyspace = units::parse_count(text)?,
        }
        Ok(typed.checked()?)
    }
}

fn percent_of(text: &str) -> u64 {
    units::parse_count(text.trim_end_matches('%').trim_end()).unwrap_or(u64::MAX)
}

/// The next of 1, 2, 5, 10, 20, 50, … beyond `n`.
fn step_125(n: u64, direction: Direction) -> u64 {
    let mut decade = 1_u64;
    while decade <= n / 10 {
        decade *= 10;
    }
    match direction {
        Direction::Up => [1, 2, 5, 10].iter().map(|d| d * decade).find(|step| *step > n).unwrap_or(n),
        Direction::Down => {
            let below = [5, 2, 1].iter().map(|d| d * decade).find(|step| *step < n);
            below.unwrap_or(decade / 2).max(1)
        }
    }
}

fn stepped(n: u32, direction: Direction, highest: u32) -> u32 {
    u32::try_from(step_125(n.into(), direction)).unwrap_or(highest).min(highest)
}

/// The next power of two beyond `n`.
fn doubled(n: u32, direction: Direction, highest: u32) -> u32 {
    let power = n.checked_ilog2().map_or(1, |log| 1 << log);
    match direction {
        Direction::Up => (power * 2).min(highest),
        Direction::Down if power < n => power,
        Direction::Down => (power / 2).max(1),
    }
}

fn turned_rate(rate: Option<u32>, direction: Direction, ops_per_s: Option<f64>) -> Option<u32> {
    let next = match (rate, direction) {
        (None, Direction::Up) => return None,
        (None, Direction::Down) => {
            let reached = ops_per_s.map_or(HIGHEST_TURNED_RATE, |ops| ops as u64);
            step_125(reached.clamp(2, HIGHEST_TURNED_RATE + 1), direction)
        }
        (Some(rate), _) => step_125(rate.into(), direction),
    };
    u32::try_from(next).ok().filter(|next| u64::from(*next) <= HIGHEST_TURNED_RATE)
}

/// The next multiple of the step beyond `percent`.
fn turned_percent(percent: f64, direction: Direction) -> u32 {
    let steps = percent / f64::from(READS_STEP);
    let next = match direction {
        Direction::Up => (steps + 1e-9).floor() + 1.0,
        Direction::Down => (steps - 1e-9).ceil() - 1.0,
    };
    (next.max(0.0) as u32 * READS_STEP).min(100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Workload, preset};

    fn walk(knob: Knob, direction: Direction, from: Knobs, steps: usize) -> Vec<String> {
        let mut knobs = from;
        (0..steps)
            .map_while(|_| {
                knobs = knob.turned(&knobs, direction, Some(121_300.0)).ok()?;
                Some(knob.value(&knobs))
            })
            .collect()
    }

    #[test]
    fn counts_step_by_one_two_five_and_sizes_double() {
        let knobs = Knobs::default();
        assert_eq!(
            walk(Knob::Clients, Direction::Up, knobs.clone(), 99).join(" "),
            "100 200 500 1000 2000 5000 10000"
        );
        assert_eq!(walk(Knob::Clients, Direction::Down, knobs.clone(), 99).join(" "), "20 10 5 2 1");
        assert_eq!(walk(Knob::ValueSize, Direction::Up, knobs.clone(), 3).join(", "), "64 B, 128 B, 256 B");
        let odd = Knobs { clients: 37, value_size: 100, ..knobs };
        assert_eq!(walk(Knob::Clients, Direction::Down, odd.clone(), 1), ["20"]);
        assert_eq!(walk(Knob::ValueSize, Direction::Down, odd, 1), ["64 B"]);
    }

    #[test]
    fn the_rate_comes_down_from_max_to_just_below_what_is_reached() {
        let knobs = Knobs::default();
        assert_eq!(walk(Knob::Rate, Direction::Down, knobs.clone(), 3).join(", "), "100 k/s, 50 k/s, 20 k/s");
        let high = Knobs { rate: Some(2_000_000), ..knobs.clone() };
        assert_eq!(walk(Knob::Rate, Direction::Up, high, 9).join(", "), "5 M/s, max");
        let idle = Knob::Rate.turned(&knobs, Direction::Down, None).unwrap();
        assert_eq!(idle.rate, Some(2_000_000));
    }

    #[test]
    fn arrivals_turn_once_there_is_a_rate() {
        let closed = Knobs::default();
        assert_eq!(Knob::Arrivals.value(&closed), "closed");
        assert_eq!(Knob::Arrivals.turned(&closed, Direction::Up, None), Err(TurnError::Closed));
        let open = Knobs { rate: Some(1000), ..closed };
        assert_eq!(walk(Knob::Arrivals, Direction::Up, open.clone(), 9), ["poisson"]);
        assert_eq!(Knob::Arrivals.typed(&open, "poisson").unwrap().arrivals, Arrivals::Poisson);
        let error = Knob::Arrivals.typed(&open, "x").unwrap_err().to_string();
        assert_eq!(error, "'x' is neither constant nor poisson");
    }

    #[test]
    fn reads_turn_by_five_percent_to_round_numbers() {
        let knobs = Knobs::default();
        assert_eq!(walk(Knob::Reads, Direction::Up, knobs.clone(), 9).join(" "), "95 % 100 %");
        assert_eq!(walk(Knob::Reads, Direction::Down, knobs.clone(), 2).join(" "), "90 % 85 %");
        let ping = Knobs { workload: preset("ping").unwrap(), ..knobs };
        assert_eq!(Knob::Reads.turned(&ping, Direction::Up, None), Err(TurnError::NoReads));
    }

    #[test]
    fn the_value_size_turns_where_a_value_follows_it() {
        let mut workload = Workload::clone(&Workload::ratio(1, 1));
        workload.values.insert("value".to_owned(), "64..1024".parse().unwrap());
        let own = Knobs { workload: workload.clone().into(), ..Knobs::default() };
        assert_eq!(Knob::ValueSize.value(&own), "the workload's");
        assert_eq!(Knob::ValueSize.turned(&own, Direction::Up, None), Err(TurnError::OwnSizes));
        assert_eq!(Knob::ValueSize.typed(&own, "64"), Err(TurnError::OwnSizes));
        workload.values.insert("value".to_owned(), "json".parse().unwrap());
        let json = Knobs { workload: workload.into(), ..own };
        assert_eq!(walk(Knob::ValueSize, Direction::Up, json.clone(), 1), ["64 B"]);
        let error = Knob::ValueSize.typed(&json, "8").unwrap_err().to_string();
        assert_eq!(error, "the values 'value' cannot be: an object of JSON has at least 11 bytes, not 8");
    }

    #[test]
    fn a_stop_is_said_and_not_swallowed() {
        let knobs = Knobs { clients: MAX_CLIENTS, ..Knobs::default() };
        let error = Knob::Clients.turned(&knobs, Direction::Up, None).unwrap_err();
        assert_eq!(error.to_string(), "clients is at its highest, 10000");
        assert!(Knob::Rate.turned(&knobs, Direction::Up, None).is_err());
        let most = Knobs { keyspace: MAX_KEYSPACE, value_size: MAX_VALUE_SIZE, ..knobs };
        assert!(Knob::Keys.turned(&most, Direction::Up, None).is_err());
        assert!(Knob::ValueSize.turned(&most, Direction::Up, None).is_err());
    }

    #[test]
    fn typed_values_take_suffixes_and_bad_ones_say_why() {
        let knobs = Knobs::default();
        assert_eq!(Knob::Keys.typed(&knobs, "1M").unwrap().keyspace, 1_000_000);
        assert_eq!(Knob::ValueSize.typed(&knobs, "4k").unwrap().value_size, 4096);
        assert_eq!(Knob::Rate.typed(&knobs, "5k/s").unwrap().rate, Some(5000));
        assert_eq!(Knob::Rate.typed(&Knobs { rate: Some(1), ..knobs.clone() }, "max").unwrap().rate, None);
        assert_eq!(Knob::Reads.typed(&knobs, "50 %").unwrap().workload.to_string(), "GET:SET 1:1");
        for (knob, text, message) in [
            (Knob::Clients, "0", "clients must lie between 1 and 10000, not 0"),
            (Knob::Clients, "9G", "clients cannot be as high as 9000000000"),
            (Knob::Reads, "101", "reads must lie between 0 and 100 percent, not 101"),
            (Knob::Pipeline, "x", "'x' is not a count such as 50, 100k or 1.5M"),
        ] {
            assert_eq!(knob.typed(&knobs, text).unwrap_err().to_string(), message);
        }
    }
}
