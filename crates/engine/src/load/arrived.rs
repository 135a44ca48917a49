//! What the receivers got in an interval.

use std::cmp::Reverse;

use crate::{stats::Recorder, workload::ReceiverKind};

/// How many receivers an interval names.
const MOST_NAMED: usize = 16;
/// A receiver stands out if its median is this many times that of all, and at least so much longer.
const FACTOR: f64 = 2.0;
const LEAST_NS: u64 = 500_000;
/// The fewest messages by which a receiver is judged.
const FEWEST: u64 = 10;
/// Every receiver has a histogram if there are at most so many; else those whose mean stands out.
const ALL_WATCHED: usize = 64;

/// What the receivers got in an interval, from sends of one segment.
#[derive(Debug)]
pub struct Arrived {
    /// How they receive.
    pub kind: ReceiverKind,
    /// How many receivers were connected at the end.
    pub receivers: u32,
    /// How many there were to be.
    pub ordered: u32,
    /// Times from sending to receipt.
    pub times: Recorder,
    /// Messages, or for a kind that gets only keys, invalidations.
    pub received: u64,
    /// Messages that are known to be lost.
    pub lost: u64,
    /// Messages that the server still keeps at the end.
    pub left: u64,
    /// Messages of another session or workload; they are in no other count.
    pub foreign: u64,
    /// Messages that came after they had been counted as lost.
    pub late: u64,
    /// Messages that came again; they are in no time.
    pub doubled: u64,
    /// Invalidations whose write is not known, since the key was written several times meanwhile; they are in no time.
    pub unclear: u64,
    /// Messages that a receiver took over from another one.
    pub claimed: u64,
    /// Lost connections of receivers.
    pub reconnects: u64,
    /// Receivers that stand out.
    pub named: Vec<OfReceiver>,
}

/// What one receiver got in an interval.
#[derive(Debug)]
pub struct OfReceiver {
    /// The number of the receiver, from 1.
    pub receiver: u32,
    /// Its messages.
    pub received: u64,
    /// Messages that it lost.
    pub lost: u64,
    /// Its lost connections.
    pub reconnects: u64,
    /// Times from sending to receipt, if it is slower than the others.
    pub times: Option<Box<Recorder>>,
}

/// The counts of one receiver since the last tick.
#[derive(Debug, Default)]
pub(super) struct Own {
    pub(super) received: u64,
    sum_ns: u64,
    pub(super) lost: u64,
    pub(super) reconnects: u64,
    times: Option<Box<Recorder>>,
}

impl Arrived {
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
    pub(super) fn count(&mut self, ns: u64, own: &mut Own) {
        self.received += 1;
        self.times.record(ns);
        own.received += 1;
        own.sum_ns += ns;
        own.times.iter_mut().for_each(|times| times.record(ns));
    }

    /// Adds the receivers that stand out, and empties the counts of each.
    pub(super) fn name<'a>(&mut self, all: impl ExactSizeIterator<Item = &'a mut Own>) {
        let all_ns = self.times.latency();
        let stands_out =
            |ns: u64, usual_ns: u64| ns as f64 > usual_ns as f64 * FACTOR && ns > usual_ns + LEAST_NS;
        let (median_ns, are_few) = (all_ns.value_at_quantile(0.5), all.len() <= ALL_WATCHED);
        for (receiver, own) in (1..).zip(all) {
            let Own { received, sum_ns, lost, reconnects, times } = std::mem::take(own);
            let is_slow = |times: &Recorder| {
                received >= FEWEST && stands_out(times.latency().value_at_quantile(0.5), median_ns)
            };
            let is_slow = times.as_deref().is_some_and(is_slow);
            let (slow, mut kept) = if is_slow { (times, None) } else { (None, times) };
            if is_slow || lost + reconnects > 0 {
                self.named.push(OfReceiver { receiver, received, lost, reconnects, times: slow });
            }
            let is_watched = are_few || received > 0 && stands_out(sum_ns / received, median_ns);
            kept.iter_mut().for_each(|times| times.reset());
            own.times = is_watched.then(|| kept.unwrap_or_default());
        }
        self.named.sort_by_key(|one| {
            let slow_ns = one.times.as_ref().map(|times| times.latency().value_at_quantile(0.5));
            Reverse((one.lost, slow_ns, one.reconnects))
        });
        self.named.truncate(MOST_NAMED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_receivers_that_lose_messages_those_with_most_losses_are_named() {
        let mut all: Vec<Own> = (0..40).map(|lost| Own { lost, ..Own::default() }).collect();
        let mut arrived = Arrived::new(ReceiverKind::Pubsub);
        arrived.name(all.iter_mut());
        let named: Vec<_> = arrived.named.iter().map(|one| (one.receiver, one.lost)).collect();
        assert_eq!((named[0], named[15], named.len()), ((40, 39), (25, 24), 16));
    }
}
