//! The PINGs of the last seconds, for conditions of `--abort-if` on PING.

use std::collections::VecDeque;

use crate::{
    compare::{Condition, MetCondition},
    probe::Ping,
    session::{Interval, Span, figures::Row},
    stats::Latency,
};

/// The minimum length of a measurement that counts as a second, in seconds.
pub(super) const SECOND_S: f64 = 0.99;
/// The length of a window of PING, in seconds. A single second has too few PINGs for p99. A window of this length has
/// enough PINGs.
pub(super) const WINDOW: usize = 15;
/// The highest percentile of PING for which a window has enough samples.
pub(super) const PING_QUANTILE: f64 = 0.99;

/// The PINGs of the last seconds.
#[derive(Default)]
pub(super) struct PingSeconds {
    /// The round trips of each of the last seconds, the newest last.
    ended: VecDeque<Latency>,
    /// The present second.
    second: Latency,
    length_s: f64,
    has_failed: bool,
}

impl PingSeconds {
    /// Adds the PINGs of a quarter of a second. At the end of a second, returns whether PINGs waited in this second
    /// without any reply.
    pub(super) fn push(&mut self, span: &Span<Ping>) -> Option<bool> {
        self.second.merge(&span.body.rtt);
        self.length_s += span.length_s;
        // A PING is missed if redyno did not run.
        self.has_failed |= span.body.errors.keys().any(|kind| kind != "missed");
        if self.length_s < SECOND_S {
            return None;
        }
        let is_silent = self.second.is_empty() && (self.has_failed || span.body.waiting_us > 0);
        self.ended.push_back(std::mem::take(&mut self.second));
        if self.ended.len() > WINDOW {
            self.ended.pop_front();
        }
        (self.length_s, self.has_failed) = (0.0, false);
        Some(is_silent)
    }

    /// Returns the condition if the last second meets it. If the last second has too few samples, the window of the
    /// last seconds must meet the condition instead. The window does not count after a second without any reply.
    pub(super) fn check(&self, condition: &Condition, is_silent: bool) -> Option<MetCondition> {
        let total = Interval::default();
        let of = |pings| condition.of_row(&Row { pings, ..Row::of_interval(&total) }, false);
        let met = of(self.ended.back())?;
        if met.is_sure || is_silent {
            return Some(met);
        }
        let mut window = Latency::default();
        self.ended.iter().for_each(|second| window.merge(second));
        of(Some(&window))
    }
}
