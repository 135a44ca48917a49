//! The messages that the receivers of a workload got in an interval. Receivers are, for example, the subscribers of a
//! channel.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::{
    stats::{Latency, Recorder},
    workload::ReceiverKind,
};

/// The largest number of receivers that an interval lists individually.
const MOST_NAMED: usize = 16;
/// The largest number of receivers that the last interval of a segment lists.
const MOST_AT_LAST: usize = 64;
/// A receiver is slow if its median time is more than this multiple of the median of all receivers.
const FACTOR: f64 = 2.0;
/// A slow receiver's median time must also exceed the median of all receivers by more than this time, in ns.
const LEAST_NS: u64 = 500_000;
/// A receiver with fewer messages than this in an interval does not count as slow.
const FEWEST: u64 = 10;
/// With at most this many receivers, every receiver has a histogram. With more receivers, only slow receivers have a
/// histogram.
const ALL_WATCHED: usize = 64;

/// The messages that the receivers (clients that wait for messages) of a workload got in an interval. All
/// these messages were sent in the same segment, between two changes of the settings.
#[derive(Debug)]
pub struct ReceivedCounts {
    /// The mechanism by which the receivers get messages.
    pub kind: ReceiverKind,
    /// How many receivers were connected at the end of the interval.
    pub receivers: u32,
    /// The number of receivers that the workload requires.
    pub ordered: u32,
    /// The time from sending to receipt of each message.
    pub times: Recorder,
    /// The number of received messages. If the receivers get invalidations of keys instead of messages, this field
    /// counts the invalidations.
    pub received: u64,
    /// Messages that are known to be lost.
    pub lost: u64,
    /// Messages that the server still stores at the end of the interval.
    pub left: u64,
    /// Messages of another session or another workload. No other field counts these messages.
    pub foreign: u64,
    /// Messages that arrived after they had been counted as lost.
    pub late: u64,
    /// Messages that arrived a second time. The latency of such messages is not measured.
    pub doubled: u64,
    /// Invalidations that cannot be assigned to a write, because the key was written several times. This
    /// field also counts messages that were on their way when the receivers were replaced.
    pub unclear: u64,
    /// Messages that a receiver claimed from another receiver.
    pub claimed: u64,
    /// Lost connections of receivers.
    pub reconnects: u64,
    /// The receivers that are slow, have lost messages, or have lost their connection. In the last interval of a
    /// segment, the list contains all receivers.
    pub named: Vec<OneReceiver>,
}

/// The results of one receiver.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OneReceiver {
    /// The number of the receiver, from 1.
    pub receiver: u32,
    /// The number of messages that the receiver got. In an interval, messages are counted since the last interval of
    /// the segment that lists the receiver.
    pub received: u64,
    /// Messages that the receiver lost.
    pub lost: u64,
    /// Messages that the receiver got after they had been counted as lost.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub late: u64,
    /// Lost connections of this receiver.
    #[serde(default, skip_serializing_if = "crate::stats::is_default")]
    pub reconnects: u64,
    /// The receiver's times in the intervals when it was slower than the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<Latency>,
}

/// The counts of one receiver since the last tick. A tick is 250 ms long.
#[derive(Debug, Default)]
pub(super) struct ReceiverCounts {
    pub(super) received: u64,
    /// Messages in earlier ticks that no interval of the segment has listed yet.
    unlisted: u64,
    /// Whether an interval of the segment lists the receiver.
    is_listed: bool,
    sum_ns: u64,
    pub(super) lost: u64,
    pub(super) late: u64,
    pub(super) reconnects: u64,
    times: Option<Box<Recorder>>,
}

impl ReceivedCounts {
    pub(super) fn new(kind: ReceiverKind) -> Self {
        Self {
            kind,
            receivers: 0,
            ordered: 0,
            times: Recorder::new(),
            received: 0,
            lost: 0,
            left: 0,
            foreign: 0,
            late: 0,
            doubled: 0,
            unclear: 0,
            claimed: 0,
            reconnects: 0,
            named: Vec::new(),
        }
    }

    /// Counts a message that arrived `ns` after it was sent.
    pub(super) fn count(&mut self, ns: u64, own: &mut ReceiverCounts) {
        self.received += 1;
        self.times.record(ns);
        own.received += 1;
        own.sum_ns += ns;
        own.times.iter_mut().for_each(|times| times.record(ns));
    }

    /// Lists the receivers that are slow or have lost messages or connections, and clears the counts of all receivers.
    /// In the last interval of a segment (`is_last`), the function lists all receivers. The messages of every receiver
    /// in the whole segment are then known.
    pub(super) fn name(&mut self, all: &mut [ReceiverCounts], is_last: bool) {
        let all_ns = self.times.latency();
        let stands_out =
            |ns: u64, usual_ns: u64| ns as f64 > usual_ns as f64 * FACTOR && ns > usual_ns + LEAST_NS;
        let (median_ns, are_few) = (all_ns.value_at_quantile(0.5), all.len() <= ALL_WATCHED);
        for (receiver, own) in (1..).zip(all.iter_mut()) {
            let ReceiverCounts { received, unlisted, is_listed, sum_ns, lost, late, reconnects, times } =
                std::mem::take(own);
            let is_slow = |times: &Recorder| {
                received >= FEWEST && stands_out(times.latency().value_at_quantile(0.5), median_ns)
            };
            let is_slow = times.as_deref().is_some_and(is_slow);
            let (slow, mut kept) = if is_slow { (times, None) } else { (None, times) };
            (own.unlisted, own.is_listed) = (unlisted + received, is_listed);
            if is_slow || lost + late + reconnects > 0 || is_last {
                let (received, times) = (own.unlisted, slow.map(|times| times.latency()));
                self.named.push(OneReceiver { receiver, received, lost, late, reconnects, times });
            }
            let is_watched = are_few || received > 0 && stands_out(sum_ns / received, median_ns);
            kept.iter_mut().for_each(|times| times.reset());
            own.times = is_watched.then(|| kept.unwrap_or_default());
        }
        self.named.sort_by_key(|one| {
            let slow_ns = one.times.as_ref().map(|times| times.value_at_quantile(0.5));
            let is_listed = all[one.receiver as usize - 1].is_listed;
            Reverse((is_last && is_listed, one.lost, slow_ns, one.reconnects))
        });
        let with_losses = |one: &OneReceiver| one.lost + one.late + one.reconnects > 0;
        let at_last =
            || self.named.iter().rposition(with_losses).map_or(0, |place| place + 1).max(MOST_AT_LAST);
        let most = if is_last { at_last() } else { MOST_NAMED };
        // A later interval lists these.
        for one in self.named.drain(most.min(self.named.len())..) {
            let own = &mut all[one.receiver as usize - 1];
            (own.lost, own.late, own.reconnects) = (one.lost, one.late, one.reconnects);
        }
        let listed = self.named.iter().map(|one| one.receiver as usize - 1);
        listed.for_each(|place| (all[place].unlisted, all[place].is_listed) = (0, true));
        if is_last {
            all.iter_mut().for_each(|own| (own.unlisted, own.is_listed) = (0, false));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_receivers_with_the_most_losses_are_listed() {
        let mut all: Vec<ReceiverCounts> =
            (0..40).map(|lost| ReceiverCounts { lost, ..ReceiverCounts::default() }).collect();
        let mut arrived = ReceivedCounts::new(ReceiverKind::Pubsub);
        arrived.name(&mut all, false);
        let named: Vec<_> = arrived.named.iter().map(|one| (one.receiver, one.lost)).collect();
        assert_eq!((named[0], named[15], named.len()), ((40, 39), (25, 24), 16));
    }

    #[test]
    fn no_loss_of_a_receiver_is_forgotten() {
        let mut all =
            (0..200).map(|_| ReceiverCounts { lost: 3, late: 2, reconnects: 1, ..ReceiverCounts::default() });
        let mut all: Vec<_> = all.by_ref().collect();
        let mut sums = [0; 3];
        for tick in 1..=3 {
            let mut arrived = ReceivedCounts::new(ReceiverKind::Pubsub);
            arrived.name(&mut all, tick == 3);
            assert_eq!(arrived.named.len(), [16, 16, 200][tick - 1]);
            arrived.named.iter().for_each(|one| {
                sums = [sums[0] + one.lost, sums[1] + one.late, sums[2] + one.reconnects];
            });
        }
        assert_eq!(sums, [600, 400, 200]);
    }

    #[test]
    fn the_listed_messages_of_a_receiver_are_those_of_the_whole_segment() {
        let mut all = [ReceiverCounts::default(), ReceiverCounts::default()];
        let mut listed = [0; 2];
        for tick in 1..=4 {
            let mut arrived = ReceivedCounts::new(ReceiverKind::Pubsub);
            all.iter_mut().for_each(|own| (0..10).for_each(|_| arrived.count(5, own)));
            all[0].lost = u64::from(tick == 2);
            arrived.name(&mut all, tick == 4);
            assert_eq!(arrived.named.len(), [0, 1, 0, 2][tick - 1]);
            arrived.named.iter().for_each(|one| listed[one.receiver as usize - 1] += one.received);
        }
        assert_eq!(listed, [40, 40]);
    }
}
