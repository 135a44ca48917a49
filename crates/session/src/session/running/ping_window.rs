//! The median round trip of PING to each node in the last ten seconds. With `--read-from nearest` the load reads from
//! the node with the lowest median.

use std::collections::{BTreeMap, VecDeque};

use super::Commission;
use crate::{
    endpoint::{PingMedians, ReadFrom},
    session::Record,
    stats::Latency,
};

/// The length of the window, in seconds.
const WINDOW_S: f64 = 10.0;
/// The time between two computations of a median, in seconds.
const EVERY_S: f64 = 0.9;

/// The recent round trips of PING to the nodes of a session.
#[derive(Debug, Default)]
pub(super) struct PingMedianWindow {
    recent: BTreeMap<u16, VecDeque<(f64, Latency)>>,
    /// The last computed median of each node in nanoseconds, and the time of its computation.
    computed: BTreeMap<u16, (f64, Option<u64>)>,
    /// The published medians; `None` without `--read-from nearest`.
    medians: Option<PingMedians>,
}

impl PingMedianWindow {
    pub(super) fn new(commission: &Commission) -> Self {
        let is_wanted = commission.read_from == ReadFrom::Nearest;
        Self { medians: is_wanted.then(|| commission.pings.clone()), ..Self::default() }
    }

    /// Adds the next record.
    pub(super) fn push(&mut self, record: &Record) {
        let (Some(medians), Record::Ping(span), Some(node)) = (&self.medians, record, record.node()) else {
            return;
        };
        let recent = self.recent.entry(node).or_default();
        recent.push_back((span.t_s, span.body.rtt.clone()));
        while recent.pop_front_if(|(t_s, _)| *t_s <= span.t_s - WINDOW_S).is_some() {}
        let (at_s, median_ns) = self.computed.entry(node).or_default();
        if span.t_s < *at_s + EVERY_S && median_ns.is_some() {
            return;
        }
        let all = Latency::merged(recent.iter().map(|(_, rtt)| rtt));
        (*at_s, *median_ns) = (span.t_s, (!all.is_empty()).then(|| all.value_at_quantile(0.5)));
        let last = self.computed.keys().next_back().copied().unwrap_or_default();
        let median = |node: u16| self.computed.get(&node).and_then(|(_, median_ns)| *median_ns);
        medians.set((0..=last).map(median).collect());
    }
}
