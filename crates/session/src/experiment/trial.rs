//! A trial of the search for the highest rate measures whether one rate keeps the limit. If the limit is not kept, the
//! cause is the rate or a disturbance.
//!
//! ```text
//!                     too much                      a disturbance
//!  answered of due    ▇▇▆▆▆▆▆▆▆▆▆▆▆▆▆▆  evenly      ▇▇▇▇▇▇▇▇▇▇▁▁████  now and then, or far less than in the closed loop
//!  slow requests      ▁▂▃▄▅▆▇▇▇▇▇▇▇▇▇▇  mostly      ▁▁▁▁▁▁▁▁▁▁▇▇▁▁▁▁  now and then, or waits for a core of this machine
//! ```
//! A disturbance hardly ever makes a trial better. The search therefore trusts each trial that keeps the limit. This
//! module does no I/O.

use std::fmt;

use super::{Limit, measurement::Measurement};
use crate::{knobs::Arrivals, session::Interval, units};

/// The share of due requests that must be answered.
const ACHIEVED: f64 = 0.99;
/// The number of parts of a trial.
const PARTS: usize = 4;
/// A part is called short if less than this share of its due requests was answered. If a rate is too high, at
/// least three of the four parts are short.
const SHORT: f64 = f64::midpoint(ACHIEVED, 1.0);
/// The largest ratio of the best part's throughput to the mean throughput without a disturbance. After a stall, the
/// server answers the waiting requests quickly, so the throughput of the best part is higher.
const EVEN: f64 = 1.1;
/// The smallest ratio of the throughput to the throughput of the closed loop, at a rate that is too high. The server is
/// then as busy as in the closed loop.
const OF_PEAK: f64 = 0.9;

/// The result of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TrialOutcome {
    /// The limit was kept.
    Held,
    /// The limit was not kept because of the rate, or requests failed.
    NotHeld,
    /// The limit was not kept, and a disturbance may be the cause.
    Disturbed(Disturbance),
}

/// A cause of a failed trial, other than the rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Disturbance {
    /// No request succeeded.
    Silence,
    /// In some parts, too few requests were answered. The field is the number of these parts.
    ShortFor(usize),
    /// The throughput of the best part exceeded the mean throughput by this share.
    Uneven(f64),
    /// The server answered fewer requests per second (the first number) than in the closed loop (the second).
    BelowPeak(f64, f64),
    /// The limit was exceeded in less than half of the intervals. The fields are the number of these intervals, and the
    /// number of all intervals.
    BrokenFor(usize, usize),
    /// The limit was exceeded only by requests that waited for a core of this machine.
    NoCore,
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silence => f.write_str("no request succeeded"),
            Self::ShortFor(parts) => {
                write!(f, "too few replies came, but only in {parts} of {PARTS} parts of the trial")
            }
            Self::Uneven(share) => {
                write!(
                    f,
                    "the best of {PARTS} parts of the trial had {} more replies than the average",
                    units::percent(*share)
                )
            }
            Self::BelowPeak(ops_per_s, peak) => write!(
                f,
                "only {} were answered, compared with {} in a closed loop",
                units::rate(*ops_per_s),
                units::rate(*peak)
            ),
            Self::BrokenFor(broken, of) => {
                write!(f, "the limit was exceeded in only {broken} of {of} quarters of a second")
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
    is_kept: bool,
}

/// The measurements of a trial.
#[derive(Debug, Clone)]
pub(super) struct TrialMeasurement {
    stretch: Measurement,
    ticks: Vec<Tick>,
}

impl TrialMeasurement {
    /// Returns a trial that starts at `start_s`, in seconds since the session began.
    pub(super) fn from(start_s: f64) -> Self {
        Self { stretch: Measurement::from(start_s), ticks: Vec::new() }
    }

    /// Takes the next interval of a trial of this limit.
    pub(super) fn take(&mut self, interval: &Interval, limit: &Limit) {
        if self.stretch.take(interval) {
            let (length_s, ops) = (interval.length_s, interval.ops);
            self.ticks.push(Tick { length_s, ops, is_kept: limit.is_kept(interval) });
        }
    }

    /// Returns the measurement so far.
    pub(super) fn all(&self) -> &Interval {
        &self.stretch.measured
    }

    /// Returns whether the trial has at least this length.
    pub(super) fn has(&self, length_s: f64) -> bool {
        self.stretch.has(length_s)
    }

    /// Returns the result of a trial at `rate`. `peak` is the throughput of the closed loop.
    pub(super) fn outcome(&self, rate: f64, arrivals: Arrivals, peak: f64, limit: &Limit) -> TrialOutcome {
        let all = self.all();
        let due = rate * all.length_s;
        // The count of a Poisson process with mean n has a standard deviation of √n.
        let by_chance = if arrivals == Arrivals::Poisson { 3.0 * due.sqrt() } else { 0.0 };
        let is_achieved = all.ops as f64 >= due * ACHIEVED - by_chance - 1.0;
        let parts: Vec<_> = self.parts().collect();
        let short = parts.iter().filter(|(length_s, ops)| *ops < rate * length_s * SHORT).count();
        // A difference of one reply in a part is not significant.
        let chance = |ops: f64| if arrivals == Arrivals::Poisson { 3.0 * ops.sqrt() } else { 1.0 };
        let shares = parts.iter().map(|(length_s, ops)| (ops - chance(*ops)) / length_s / all.ops_per_s);
        let best = shares.fold(0.0, f64::max);
        let (broken, ticks) = (self.ticks.iter().filter(|tick| !tick.is_kept).count(), self.ticks.len());
        TrialOutcome::Disturbed(match () {
            () if all.ops == 0 => Disturbance::Silence,
            () if !all.errors.is_empty() => return TrialOutcome::NotHeld,
            () if is_achieved && limit.is_kept(all) => return TrialOutcome::Held,
            () if best > EVEN => Disturbance::Uneven(best - 1.0),
            () if !is_achieved && short + 1 < PARTS => Disturbance::ShortFor(short),
            () if !is_achieved && all.ops_per_s < peak * OF_PEAK => {
                Disturbance::BelowPeak(all.ops_per_s, peak)
            }
            () if !is_achieved => return TrialOutcome::NotHeld,
            () if limit.is_kept_without_waits(all) => Disturbance::NoCore,
            () if 2 * broken < ticks => Disturbance::BrokenFor(broken, ticks),
            () => return TrialOutcome::NotHeld,
        })
    }

    /// Returns the length of each part in seconds, and its number of replies.
    fn parts(&self) -> impl Iterator<Item = (f64, f64)> {
        let ticks = self.ticks.chunks(self.ticks.len().div_ceil(PARTS).max(1));
        ticks.map(|part| {
            (part.iter().map(|tick| tick.length_s).sum(), part.iter().map(|tick| tick.ops as f64).sum())
        })
    }
}
