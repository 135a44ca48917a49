//! Two knobs of an open loop. The first is the distribution of the arrivals (the times when requests are due). The
//! second decides what happens to requests that cannot be sent in time.

use std::{fmt, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use super::KnobError;
use crate::units;

/// The distribution of the times when requests are due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Arrivals {
    /// Requests are due at equal intervals.
    #[default]
    Constant,
    /// Requests are due at random intervals with an exponential distribution. Many independent users send requests in
    /// this way.
    Poisson,
    /// Requests are due at the times of a file, which may be a trace. The times of the file are scaled, so that the
    /// mean rate is the rate of the load.
    Times,
    /// Requests come in bursts. Within a burst, requests are due at equal short intervals. Between bursts, requests are
    /// due at equal longer intervals.
    Bursty(Bursts),
}

/// Bursts of requests. With `10x 1s/10s`, each period of ten seconds begins with a burst of one second. In
/// the burst, the rate is ten times as high as in the other nine seconds. The mean rate is the rate of the
/// load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bursts {
    /// The rate of a burst, as a multiple of the rate between bursts: 2 to 1000.
    times: u32,
    /// The length of a burst, shorter than the period.
    length_ms: u32,
    /// The time from the beginning of a burst to the beginning of the next burst: 2 ms to an hour.
    period_ms: u32,
}

impl Bursts {
    /// Returns the burst's share of the requests of a period, and the burst's share of the time of a period.
    fn shares(self) -> (f64, f64) {
        let (burst, period) = (f64::from(self.length_ms), f64::from(self.period_ms));
        let requests = burst * f64::from(self.times);
        (requests / (requests + period - burst), burst / period)
    }

    /// Converts the due time of a request on a schedule without bursts to its due time on the schedule with bursts.
    /// Both schedules have the same mean rate. All times count from the beginning of the first burst, in ns.
    pub fn due_ns(self, even_ns: f64) -> f64 {
        self.moved(even_ns, self.shares())
    }

    /// Converts a due time with bursts to the due time without bursts. This function is the inverse of
    /// [`due_ns`](Self::due_ns).
    pub fn even_ns(self, due_ns: f64) -> f64 {
        let (requests, time) = self.shares();
        self.moved(due_ns, (time, requests))
    }

    /// Moves a time within its period. The first part of the period has the share `from` of the period. The function
    /// stretches or shortens the first part to the share `to`. The rest of the period takes the remaining share.
    fn moved(self, at_ns: f64, (from, to): (f64, f64)) -> f64 {
        let period_ns = f64::from(self.period_ms) * 1e6;
        let periods = (at_ns / period_ns).floor();
        let at = at_ns / period_ns - periods;
        let moved = if at < from { at / from * to } else { to + (at - from) / (1.0 - from) * (1.0 - to) };
        (periods + moved) * period_ns
    }
}

impl fmt::Display for Bursts {
    /// Writes `10x 1s/10s`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let length =
            |ms: u32| if ms.is_multiple_of(1000) { format!("{}s", ms / 1000) } else { format!("{ms}ms") };
        write!(f, "{}x {}/{}", self.times, length(self.length_ms), length(self.period_ms))
    }
}

impl Bursts {
    fn read(text: &str) -> Option<Self> {
        let (times, lengths) = text.trim().split_once(' ')?;
        let times = times.strip_suffix('x')?.parse().ok()?;
        let (length, period) = lengths.split_once('/')?;
        let ms = |text: &str| {
            let length = units::parse_duration(text.trim()).ok()?;
            let ms = u32::try_from(length.as_millis()).ok()?;
            (Duration::from_millis(ms.into()) == length).then_some(ms)
        };
        let (length_ms, period_ms) = (ms(length)?, ms(period)?);
        let is_possible = (2..=1000).contains(&times) && (1..period_ms).contains(&length_ms);
        (is_possible && period_ms <= 3_600_000).then_some(Self { times, length_ms, period_ms })
    }
}

crate::named_values! {
    /// What happens to requests that are due while every connection waits for replies.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Backlog {
        /// Delayed requests are sent as soon as a connection is free. The response time of a delayed request includes
        /// the delay.
        #[default]
        Queue "queue",
        /// Requests that are more than [`SHED_AFTER_NS`] late are dropped and counted as shed.
        Shed "shed",
    }
}

crate::named_values! {
    /// How soon a client sends its next requests after its replies have arrived.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Rhythm {
        /// Before a client sends, redyno reads all replies that have arrived for all clients. The server then receives
        /// many requests at a time, as from other load generators.
        #[default]
        Grouped "grouped",
        /// A client sends as soon as its own replies have arrived. Independent clients send in this way.
        Spread "spread",
    }
}

/// How late a request may be sent with [`Backlog::Shed`]: 10 ms. This time is longer than a worker takes to wake up,
/// and shorter than a stall of the server.
pub const SHED_AFTER_NS: u64 = 10_000_000;

macro_rules! choice {
    ($choice:ident) => {
        impl fmt::Display for $choice {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $choice {
            type Err = KnobError;

            fn from_str(given: &str) -> Result<Self, Self::Err> {
                let known = Self::ALL.into_iter().find(|known| known.name() == given.trim().to_lowercase());
                let allowed = Self::ALL.map(Self::name).join(" or ");
                known.ok_or_else(|| KnobError::of(format!("'{given}' must be {allowed}")))
            }
        }
    };
}

choice!(Backlog);
choice!(Rhythm);

impl Arrivals {
    /// The values on the command line.
    pub const NAMES: &[&str] = &["constant", "poisson", "times", "bursty 10x 1s/10s"];

    /// Returns the rate within bursts as a multiple of the mean rate. Returns 1 without bursts.
    pub fn peak(self) -> f64 {
        let Self::Bursty(bursts) = self else { return 1.0 };
        let (requests, time) = bursts.shares();
        requests / time
    }
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Constant => f.pad("constant"),
            Self::Poisson => f.pad("poisson"),
            Self::Times => f.pad("times"),
            Self::Bursty(bursts) => f.pad(&format!("bursty {bursts}")),
        }
    }
}

impl FromStr for Arrivals {
    type Err = KnobError;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        match given.trim().to_lowercase().as_str() {
            "constant" => Ok(Self::Constant),
            "poisson" => Ok(Self::Poisson),
            "times" => Ok(Self::Times),
            other => match other.strip_prefix("bursty") {
                None => Err(KnobError::of(format!(
                    "'{given}' must be constant, poisson, times, or bursts such as 'bursty 10x 1s/10s'"
                ))),
                Some(bursts) => Bursts::read(bursts).map(Self::Bursty).ok_or_else(|| {
                    KnobError::of(format!(
                        "'{given}' is not a burst; write for example 'bursty 10x 1s/10s': every 10 s, a burst of 1 s has \
                         10 times the rate between bursts. The factor is 2 to 1000. Both times are whole milliseconds; \
                         the second is longer, and at most 1h"
                    ))
                }),
            },
        }
    }
}

impl TryFrom<String> for Arrivals {
    type Error = KnobError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Arrivals> for String {
    fn from(arrivals: Arrivals) -> Self {
        arrivals.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_an_unknown_word_lists_the_choices() {
        assert_eq!("Poisson".parse(), Ok(Arrivals::Poisson));
        assert_eq!("shed".parse(), Ok(Backlog::Shed));
        let error = "never".parse::<Backlog>().unwrap_err();
        assert_eq!(error.to_string(), "'never' must be queue or shed");
        let error = "uniform".parse::<Arrivals>().unwrap_err().to_string();
        assert!(error.starts_with("'uniform' must be constant, poisson, times, or bursts"), "{error}");
        for bad in [
            "bursty",
            "bursty 1x 1s/10s",
            "bursty 9x 10s/10s",
            "bursty 9x 1s/2h",
            "bursty 9x 1.5ms/10ms",
            "bursty 9 1s/2s",
        ] {
            let error = bad.parse::<Arrivals>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{bad}' is not a burst; write")), "{error}");
        }
    }

    #[test]
    fn bursts_survive_writing_and_parsing() {
        for text in ["bursty 10x 1s/10s", "bursty 2x 50ms/1s"] {
            let bursts: Arrivals = text.parse().unwrap();
            assert_eq!(bursts.to_string(), text);
            let json = serde_json::to_string(&bursts).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Arrivals>(&json).unwrap(), bursts);
        }
    }

    #[test]
    fn a_burst_has_its_multiple_of_requests_and_the_mean_rate_stays() {
        let bursts = Bursts::read("10x 1s/10s").unwrap();
        // A period of 10 s has 10 + 9 units of requests, of which 10 are due in its first second.
        let dues: Vec<_> = (0..1900).map(|k| bursts.due_ns((f64::from(k) + 0.5) * 1e10 / 1900.0)).collect();
        assert_eq!(dues.iter().filter(|due_ns| **due_ns < 1e9).count(), 1000);
        assert!(dues.is_sorted() && dues[1899] < 1e10 && bursts.due_ns(1e10) == 1e10);
        for even_ns in [0.0, 1e9, 6e9, 2.7e10] {
            assert!((bursts.even_ns(bursts.due_ns(even_ns)) - even_ns).abs() < 1.0, "{even_ns}");
        }
    }
}
