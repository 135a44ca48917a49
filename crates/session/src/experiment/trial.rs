//! A trial of a rate: does it hold its limit, and if not, is the rate the cause or a disturbance?
//!
//! ```text
//!                     too much                      a disturbance
//!  answered of due    ▇▇▆▆▆▆▆▆▆▆▆▆▆▆▆▆  evenly      ▇▇▇▇▇▇▇▇▇▇▁▁████  now and then, or far less than the closed loop did
//!  slow requests      ▁▂▃▄▅▆▇▇▇▇▇▇▇▇▇▇  mostly      ▁▁▁▁▁▁▁▁▁▁▇▇▁▁▁▁  now and then, or those that waited for our own core
//! ```
//! What disturbs a trial makes it bad and hardly ever good: one that holds is believed. Pure.

use std::fmt;

use super::{Limit, stretch::Window};
use crate::{knobs::Arrivals, session::Interval, stats::Latency, units};

/// The share of what was due that must be answered.
const ACHIEVED: f64 = 0.99;
/// Into so many parts a trial is cut.
const PARTS: usize = 4;
/// A rate that is too much answers less than this share of what is due in all parts but one.
const SHORT: f64 = f64::midpoint(ACHIEVED, 1.0);
/// Where nothing disturbs, the best part answers at most so much more than the mean: after a stall it catches up.
const EVEN: f64 = 1.1;
/// A rate that is too much keeps the server as busy as a closed loop does: it answers this share of what that did.
const OF_PEAK: f64 = 0.9;

/// What came of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Outcome {
    /// The limit held.
    Held,
    /// It did not, and the rate is the cause.
    NotHeld,
    /// It did not, and something else may be the cause.
    Disturbed(Disturbance),
}

/// What made a trial fail beside its rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Disturbance {
    /// No request succeeded.
    Silence,
    /// Too little was answered in so many of the four parts.
    ShortFor(usize),
    /// So much more was answered in the best of them than in the mean, as a share.
    Uneven(f64),
    /// So little was answered in a second, where a closed loop had so much.
    BelowPeak(f64, f64),
    /// The limit was broken in so many of so many intervals.
    BrokenFor(usize, usize),
    /// By requests alone that waited for a core of this machine.
    NoCore,
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silence => f.write_str("no request succeeded"),
            Self::ShortFor(parts) => write!(f, "too little was answered in {parts} of {PARTS} parts alone"),
            Self::Uneven(share) => {
                write!(f, "the best of {PARTS} parts answered {} more than the mean", units::percent(*share))
            }
            Self::BelowPeak(ops_per_s, peak) => write!(
                f,
                "only {} were answered, and {} in a closed loop",
                units::rate(*ops_per_s),
                units::rate(*peak)
            ),
            Self::BrokenFor(broken, of) => {
                write!(f, "the limit was broken in {broken} of {of} quarters of a second alone")
            }
            Self::NoCore => f.write_str("the slow requests waited for a core of this machine"),
        }
    }
}

/// One interval of a trial.
#[derive(Debug, Clone)]
struct Tick {
    length_s: f64,
    ops: u64,
    response: Latency,
}

/// What is measured in a trial.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    stretch: Window,
    ticks: Vec<Tick>,
}

impl Measured {
    /// From `start_s` of the session on.
    pub(super) fn from(start_s: f64) -> Self {
        Self { stretch: Window::from(start_s), ticks: Vec::new() }
    }

    /// Takes what was measured next.
    pub(super) fn take(&mut self, interval: &Interval) {
        if self.stretch.take(interval) {
            let response = interval.response.clone().unwrap_or_default();
            self.ticks.push(Tick { length_s: interval.length_s, ops: interval.ops, response });
        }
    }

    /// All of it so far.
    pub(super) fn all(&self) -> &Interval {
        self.stretch.measured()
    }

    /// Whether it is so long.
    pub(super) fn has(&self, length_s: f64) -> bool {
        self.stretch.has(length_s)
    }

    /// What came of it at `rate`, where a closed loop reached `peak`.
    pub(super) fn outcome(&self, rate: f64, arrivals: Arrivals, peak: f64, limit: &Limit) -> Outcome {
        let all = self.all();
        let due = rate * all.length_s;
        // A Poisson process of n has a standard deviation of its square root.
        let by_chance = if arrivals == Arrivals::Poisson { 3.0 * due.sqrt() } else { 0.0 };
        let is_achieved = all.ops as f64 >= due * ACHIEVED - by_chance - 1.0;
        let response = all.response.clone().unwrap_or_default();
        let held = all.client.as_ref().and_then(|client| client.held.as_ref());
        let parts: Vec<_> = self.parts().collect();
        let short = parts.iter().filter(|(length_s, ops)| *ops < rate * length_s * SHORT).count();
        // A reply more or less in a part says nothing.
        let chance = |ops: f64| if arrivals == Arrivals::Poisson { 3.0 * ops.sqrt() } else { 1.0 };
        let shares = parts.iter().map(|(length_s, ops)| (ops - chance(*ops)) / length_s / all.ops_per_s);
        let best = shares.fold(0.0, f64::max);
        let (broken, ticks) =
            (self.ticks.iter().filter(|tick| !limit.holds(&tick.response)).count(), self.ticks.len());
        Outcome::Disturbed(match () {
            () if all.ops == 0 => Disturbance::Silence,
            () if !all.errors.is_empty() => return Outcome::NotHeld,
            () if is_achieved && limit.holds(&response) => return Outcome::Held,
            () if best > EVEN => Disturbance::Uneven(best - 1.0),
            () if !is_achieved && short + 1 < PARTS => Disturbance::ShortFor(short),
            () if !is_achieved && all.ops_per_s < peak * OF_PEAK => {
                Disturbance::BelowPeak(all.ops_per_s, peak)
            }
            () if !is_achieved => return Outcome::NotHeld,
            () if held.is_some_and(|held| limit.holds_without(&response, held)) => Disturbance::NoCore,
            () if 2 * broken < ticks => Disturbance::BrokenFor(broken, ticks),
            () => return Outcome::NotHeld,
        })
    }

    /// The length of each part and what was answered in it.
    fn parts(&self) -> impl Iterator<Item = (f64, f64)> {
        let ticks = self.ticks.chunks(self.ticks.len().div_ceil(PARTS).max(1));
        ticks.map(|part| {
            (part.iter().map(|tick| tick.length_s).sum(), part.iter().map(|tick| tick.ops as f64).sum())
        })
    }
}
