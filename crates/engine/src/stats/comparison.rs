//! What a comparison of two sides comes to, whatever was measured of them.
//!
//! | measured | model |
//! |---|---|
//! | pairs, one side right after the other | [`paired`](super::paired) |
//! | several runs of each side | [`repeats`](super::repeats) |
//! | the seconds of one stretch of each side | [`seconds`](super::seconds) |
//!
//! All compare logarithms; what they say are shares of the first side. Pure.

use crate::units;

/// The smallest difference that is worth reporting, as a share of the first side.
pub(super) const SMALLEST: f64 = 0.02;
/// Two sides are the same if no difference above this can be.
pub(super) const CLOSE: f64 = 0.05;
/// An interval whose end is nearer to zero touches it: as a percentage that end is 0.0.
pub(super) const TOUCHES: f64 = 0.000_5;

/// Which way a figure is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More is better: replies per second.
    Higher,
    /// Less is better: latencies.
    Lower,
}

/// How much more the second side is, as shares of the first: 0.1 is ten percent more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The most likely value; `None` where one side has nothing.
    pub change: Option<f64>,
    /// Where it lies; `None` where too little was measured for an interval that is as sure as was asked.
    pub interval: Option<(f64, f64)>,
    /// What it comes to.
    pub verdict: Verdict,
}

/// What the second side is, compared with the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// Better, by more than noise.
    Better,
    /// Worse, by more than noise.
    Worse,
    /// There is no difference above this share.
    Same {
        /// The share.
        above: f64,
    },
    /// That cannot be said.
    NotClear(Reason),
}

impl Verdict {
    /// It in a word, the same everywhere.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same { .. } => "no difference",
            Self::NotClear(_) => "not clear",
        }
    }

    /// Why.
    pub fn reason(self) -> String {
        match self {
            Self::Better | Self::Worse => "more than noise".to_owned(),
            Self::Same { above } => format!("above {}", units::percent(above)),
            Self::NotClear(Reason::TooLittle) => "too little was measured".to_owned(),
            Self::NotClear(Reason::TooFew) => "too few pairs or runs".to_owned(),
            Self::NotClear(Reason::Noise) => "within the noise".to_owned(),
            Self::NotClear(Reason::MoreSeconds { first, second }) => {
                let first = first.map(|s| format!(", and {} s more of the base,", units::count(s)));
                format!("about {} s more{} would decide", units::count(second), first.unwrap_or_default())
            }
            Self::NotClear(Reason::Drift) => "drift is possible; alternate the sides".to_owned(),
        }
    }
}

/// Why it is not clear which side is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reason {
    /// Nothing was measured of a side, or too little.
    TooLittle,
    /// There are too few pairs, or runs of a side.
    TooFew,
    /// The interval holds zero, and differences that matter.
    Noise,
    /// The same; this many more seconds would decide it.
    MoreSeconds {
        /// Of the first side; none if that has enough.
        first: Option<f64>,
        /// Of the second.
        second: f64,
    },
    /// What noise alone would not explain, a drift of the machine does.
    Drift,
}

impl Comparison {
    /// That of sides of which nothing is known.
    pub(super) const NOTHING: Self =
        Self { change: None, interval: None, verdict: Verdict::NotClear(Reason::TooLittle) };

    /// One of this difference of logarithms and its interval; the sides are the same if no difference above `close` can be.
    pub(super) fn of(estimate: f64, interval: Option<(f64, f64)>, better: Better, close: f64) -> Self {
        let change = estimate.exp_m1();
        let interval = interval.map(|(low, high)| (low.exp_m1(), high.exp_m1()));
        let verdict = match interval {
            None => Verdict::NotClear(Reason::TooFew),
            // What is shown as 0.0 % is no end that leaves out zero.
            Some((low, high)) if change.abs() >= SMALLEST && (low >= TOUCHES || high <= -TOUCHES) => {
                better.verdict(change)
            }
            Some((low, high)) => match low.abs().max(high.abs()) {
                above if above <= close => Verdict::Same { above },
                _ => Verdict::NotClear(Reason::Noise),
            },
        };
        Self { change: Some(change), interval, verdict }
    }
}

impl Better {
    /// The verdict on a difference that is one.
    pub(super) fn verdict(self, change: f64) -> Verdict {
        if (change > 0.0) == (self == Self::Higher) { Verdict::Better } else { Verdict::Worse }
    }
}
