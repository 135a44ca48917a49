//! The results of a workload's receivers (such as subscribers), as a part of a session's record. The results are
//! delivery times and counts of lost messages.
//!
//! ```text
//! "delivery":{"count":…,"p50_us":…,…,"hdr":"…","receivers":10,"lost":3,"by_receiver":[{"receiver":7,"received":…,"lost":3}]}
//! ```

use serde::{Deserialize, Serialize};

use super::part::{add_up, merge_some};
pub use crate::load::OneReceiver;
use crate::{
    load::ReceivedCounts,
    stats::Latency,
    units::{self, grouped},
    workload::ReceiverKind,
};

/// The largest number of receivers in `by_receiver`.
const MOST_NAMED: usize = 64;
/// A receiver counts as slow in a whole segment if at least this share of its messages arrived in intervals in which it
/// was slow.
pub(crate) const LEAST_SLOW_SHARE: f64 = 0.25;

/// The results of a workload's receivers, by the kind of time that is measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReceiverResults {
    /// Messages to subscribers. Their times are from PUBLISH to the receipt by each subscriber.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Box<ReceivedMessages>>,
    /// Messages of queues and streams. Their times are from the sending by a producer to the receipt by a consumer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handover: Option<Box<ReceivedMessages>>,
    /// Invalidations of cached keys. Their times are from the write of a key to the receipt of its invalidation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalidation: Option<Box<ReceivedMessages>>,
}

/// The messages that receivers got, and their times.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceivedMessages {
    /// The times from sending to receipt, one for each received message.
    #[serde(flatten)]
    pub times: Latency,
    /// The number of connected receivers.
    #[serde(default)]
    pub receivers: u32,
    /// The wanted number of receivers; 0 if this number is unknown.
    #[serde(default)]
    pub ordered: u32,
    /// Messages that were sent and not received. `None` for invalidations, whose losses are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Messages that were still on the server at the end.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub left: u64,
    /// Messages of another session or workload. The other counts exclude these messages.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub foreign: u64,
    /// Messages that were received after they had been counted as lost.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub late: u64,
    /// Messages that were received a second time. The times exclude the second receipt.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub doubled: u64,
    /// Invalidations without a time. Their key was written several times before the invalidation arrived.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub unclear: u64,
    /// Messages that a receiver took over from another receiver.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub claimed: u64,
    /// Lost connections of receivers.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub reconnects: u64,
    /// At most 64 receivers. The first receivers in the list are those that lost messages, lost their connection, or
    /// were slower than other receivers. An interval lists only such receivers, except for the last interval of a
    /// segment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_receiver: Vec<OneReceiver>,
}

impl ReceiverResults {
    /// Returns the results of each kind of time, with the name that the kind has in records (`delivery`).
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &ReceivedMessages)> {
        let all = [
            ("delivery", &self.delivery),
            ("handover", &self.handover),
            ("invalidation", &self.invalidation),
        ];
        all.into_iter().filter_map(|(name, received)| Some((name, received.as_deref()?)))
    }

    /// Returns the name of the times that receivers of this kind measure.
    pub fn name_of(kind: ReceiverKind) -> &'static str {
        match kind {
            ReceiverKind::Pubsub | ReceiverKind::ShardedPubsub => "delivery",
            kind if kind.is_of_keys() => "invalidation",
            _ => "handover",
        }
    }

    /// Adds the results of one kind of receivers in an interval.
    pub(super) fn add(&mut self, arrived: &ReceivedCounts) {
        self.of(arrived.kind).get_or_insert_default().merge(&ReceivedMessages::from(arrived));
    }

    fn of(&mut self, kind: ReceiverKind) -> &mut Option<Box<ReceivedMessages>> {
        match Self::name_of(kind) {
            "delivery" => &mut self.delivery,
            "handover" => &mut self.handover,
            _ => &mut self.invalidation,
        }
    }

    /// Adds `later`.
    pub(super) fn merge(&mut self, later: &Self) {
        let Self { delivery, handover, invalidation } = later;
        let parts = [
            (&mut self.delivery, delivery),
            (&mut self.handover, handover),
            (&mut self.invalidation, invalidation),
        ];
        for (into, from) in parts {
            from.iter().for_each(|from| into.get_or_insert_default().merge(from));
        }
    }

    /// Returns whether there are no receivers.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl From<&ReceivedCounts> for ReceivedMessages {
    fn from(arrived: &ReceivedCounts) -> Self {
        Self {
            times: arrived.times.latency(),
            receivers: arrived.receivers,
            ordered: arrived.ordered,
            lost: (!arrived.kind.is_of_keys()).then_some(arrived.lost),
            left: arrived.left,
            foreign: arrived.foreign,
            late: arrived.late,
            doubled: arrived.doubled,
            unclear: arrived.unclear,
            claimed: arrived.claimed,
            reconnects: arrived.reconnects,
            by_receiver: arrived.named.clone(),
        }
    }
}

impl ReceivedMessages {
    /// Returns a line with the counts, and at most `most` lines about receivers that lost messages or were slow. The
    /// worst receivers come first, and a last line counts the other ones. The number of lost messages is shown even if
    /// this number is 0.
    pub fn lines(&self, most: usize) -> Vec<String> {
        let of = self.ordered.max(self.receivers);
        let connected =
            if of > self.receivers { format!("{} of {of}", self.receivers) } else { of.to_string() };
        let noun = if of == 1 { "receiver" } else { "receivers" };
        let mut first = format!("{} received by {connected} {noun}", grouped(self.times.count()));
        first += &self.lost.map_or_else(String::new, |lost| format!(", {} lost", grouped(lost)));
        let counts = [
            (self.left, "left in the server"),
            (self.foreign, "of other sessions"),
            (self.late, "of the lost arrived later"),
            (self.doubled, "doubled"),
            (self.unclear, "unclear"),
            (self.claimed, "taken over"),
            (self.reconnects, if self.reconnects == 1 { "connection lost" } else { "connections lost" }),
        ];
        for (n, what) in counts.into_iter().filter(|(n, _)| *n > 0) {
            first += &format!(", {} {what}", grouped(n));
        }
        let p50 = |times: &Latency| units::latency(times.value_at_quantile(0.5));
        let mut named: Vec<_> = self.by_receiver.iter().collect();
        named.sort_by_key(|one| {
            std::cmp::Reverse((one.lost, one.times.as_ref().map(|times| times.value_at_quantile(0.5))))
        });
        let line = |one: &OneReceiver| {
            // The times are only those of the intervals in which the receiver was slow.
            let share = |times: &Latency| times.count() as f64 / one.received.max(1) as f64;
            let slow = one.times.as_ref().filter(|times| share(times) >= LEAST_SLOW_SHARE).map(|times| {
                let part = Some(units::percent(share(times))).filter(|_| share(times) < 1.0);
                let part = part.map_or_else(String::new, |part| format!(" of {part} of its messages"));
                format!("p50 {}{part}, all receivers {}", p50(times), p50(&self.times))
            });
            let lost = (one.lost > 0).then(|| format!("{} lost", one.lost));
            let late = (one.late > 0).then(|| format!("{} late", one.late));
            let parts: Vec<_> = [slow, lost, late].into_iter().flatten().collect();
            (!parts.is_empty()).then(|| format!("receiver {} of {of}: {}", one.receiver, parts.join(", ")))
        };
        let mut lines: Vec<_> = named.into_iter().filter_map(line).collect();
        let more = lines.len().saturating_sub(most) as u64;
        lines.truncate(most);
        lines.extend((more > 0).then(|| format!("and {}", units::count_with_noun(more, "more receiver"))));
        lines.insert(0, first);
        lines
    }

    /// Adds `later`.
    fn merge(&mut self, later: &Self) {
        self.times.merge(&later.times);
        // Results that arrive after the end of a segment have no number of receivers.
        if later.receivers.max(later.ordered) > 0 {
            (self.receivers, self.ordered) = (later.receivers, later.ordered);
        }
        add_up!(self += later, left foreign late doubled unclear claimed reconnects);
        if let Some(lost) = later.lost {
            *self.lost.get_or_insert_default() += lost;
        }
        for later in &later.by_receiver {
            let has_room = self.by_receiver.len() < MOST_NAMED;
            match self.by_receiver.iter_mut().find(|one| one.receiver == later.receiver) {
                Some(one) => {
                    one.received += later.received;
                    one.lost += later.lost;
                    one.late += later.late;
                    one.reconnects += later.reconnects;
                    merge_some(&mut one.times, later.times.as_ref());
                }
                None if has_room => self.by_receiver.push(later.clone()),
                None => {}
            }
        }
    }
}
