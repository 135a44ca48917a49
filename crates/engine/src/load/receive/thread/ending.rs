//! Sends the counts of the receivers to the collector, and ends the receivers after the last messages have arrived.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

use super::{LAST_MESSAGES_NS, MOST_LAST_NS, MessageReceiver, ReceiverThread};
use crate::{
    clock::{next_tick_ns, tick_of},
    endpoint::{NodeNumber, Target, talk},
    load::{
        IntervalBuffer, ReceivedCounts,
        plan::RECEIVER_NAME,
        receive::missing::{self, MissingMessages},
    },
    protocol::key_slot,
    workload::{Messages, ReceiverKind},
};

/// The longest time that the server may take to report how many messages it stores: 500 ms. Without an answer, redyno
/// assumes that the last missing messages are still in the server.
const STORED_LIMIT: Duration = Duration::from_millis(500);
/// The longest accepted answer to this question, in bytes: 1 MiB.
const LONGEST: usize = 1 << 20;

impl ReceiverThread {
    /// Returns whether the receivers have waited long enough for the last messages of a load that ended at `over_ns`.
    pub(super) fn is_quiet(&self, now_ns: u64, over_ns: u64) -> bool {
        let waits_ns = now_ns.saturating_sub(self.last_ns.max(over_ns));
        // The server stores the rest of a queue or a stream, which may be more than the receivers can read.
        let is_kept = self.order.messages.as_ref().is_some_and(|messages| messages.kind.is_kept());
        let most_ns = if is_kept { LAST_MESSAGES_NS } else { MOST_LAST_NS };
        waits_ns > LAST_MESSAGES_NS || now_ns.saturating_sub(over_ns) > most_ns
    }

    /// Returns whether all messages have arrived, or the receivers have waited long enough for the missing messages.
    pub(super) fn is_finished(&self, now_ns: u64) -> bool {
        let Some(messages) = &self.order.messages else { return true };
        let over_ns = self.setup.state.over_ns.load(Relaxed);
        let waits_ns = now_ns.saturating_sub(self.last_ns.max(over_ns));
        if self.is_quiet(now_ns, over_ns) {
            return true;
        }
        let mut shared = self.shared.iter().enumerate();
        let is_missing = shared.any(|(channel, numbers)| numbers.are_missing(messages.issued(channel)));
        // With invalidations, the last message is unknown, so the receivers wait a little longer.
        let is_of_keys = messages.kind.is_of_keys() && waits_ns < LAST_MESSAGES_NS / 10;
        !is_missing && !is_of_keys && !self.receivers.values().any(|it| it.dialog.awaits_messages(messages))
    }

    /// Ends all receivers. Missing messages count as lost if this is the end of the load (`is_end`). Otherwise, missing
    /// messages count as unclear, because the load continues with other receivers.
    pub(super) fn end_dialogs(&mut self, now_ns: u64, is_end: bool) {
        let Some(messages) = self.order.messages.clone() else { return };
        let stored = if is_end { self.stored(&messages) } else { BTreeMap::new() };
        let current = self.current.get_or_insert_with(|| Box::new(ReceivedCounts::new(messages.kind)));
        let mut all = MissingMessages::default();
        let shared = self.shared.iter_mut().enumerate();
        shared.for_each(|(channel, numbers)| {
            all.add(numbers, &messages, (channel, self.first[channel]), stored.get(&channel).copied());
        });
        for MessageReceiver { dialog, .. } in self.receivers.values_mut() {
            let lost = all.lost;
            dialog.end(&messages, &self.first, &mut all);
            self.own_counts[dialog.number].lost += if is_end { all.lost - lost } else { 0 };
        }
        all.count(is_end, current);
        self.close_segment(now_ns, true);
    }

    /// For each channel with missing messages, returns how many messages the server stores. The function returns only
    /// channels of which several receivers share the messages. Closes the receivers' connections, and blocks for at
    /// most [`STORED_LIMIT`].
    fn stored(&mut self, messages: &Messages) -> BTreeMap<usize, u64> {
        if self.shared.is_empty() {
            return BTreeMap::new();
        }
        let mut under_way = vec![0; self.shared.len()];
        for receiver in self.receivers.values_mut() {
            let is_open = receiver.line.take().is_some() && messages.kind == ReceiverKind::Queue;
            // The server removes a message from a queue before the message reaches its receiver.
            let queues = receiver.dialog.own_channels().filter(|_| is_open);
            queues.for_each(|channel| under_way[channel] += 1);
        }
        let (deadline, mut talks) = (Instant::now() + STORED_LIMIT, BTreeMap::new());
        let mut stored = |channel: usize| {
            let (node, target) = self.owner(messages, channel)?;
            let limit = deadline.saturating_duration_since(Instant::now());
            let talk = match talks.entry(node) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => {
                    new.insert(talk(&target, Some(RECEIVER_NAME), limit).ok()?.bounded(LONGEST))
                }
            };
            let stored = missing::stored(talk, messages, channel, deadline)?;
            Some((channel, if stored > 0 { stored + under_way[channel] } else { 0 }))
        };
        let shared = self.shared.iter().enumerate();
        let missing = shared.filter(|(channel, numbers)| numbers.are_missing(messages.issued(*channel)));
        // A server that does not answer is not asked again.
        missing.map_while(|(channel, _)| stored(channel)).collect()
    }

    /// Returns the server that stores the messages of a channel, and its number in a cluster.
    fn owner(&self, messages: &Messages, channel: usize) -> Option<(Option<NodeNumber>, Target)> {
        let target = &self.setup.plan.target;
        let Some(spread) = &self.spread else { return Some((None, target.clone())) };
        let topology = spread.cluster.topology();
        let owner = topology.owner(key_slot(&messages.names[channel]))?;
        Some((Some(owner), target.at(topology.node(owner).address.clone()).ok()?))
    }

    pub(super) fn finish(&mut self, now_ns: u64) {
        self.end_dialogs(now_ns, true);
        self.receivers.clear();
        self.own_counts.clear();
        self.close_tick(now_ns);
    }

    pub(super) fn close_tick(&mut self, now_ns: u64) {
        if let Some(messages) = self.order.messages.as_ref().filter(|_| self.is_own && !self.is_over) {
            // The counts also show receivers that are not connected and receive nothing.
            self.current.get_or_insert_with(|| Box::new(ReceivedCounts::new(messages.kind)));
        }
        self.close_segment(now_ns, false);
        let mut buffer = self.empty(now_ns);
        buffer.client.add_lap(self.own.lap());
        buffer.client.read_wait.merge(&self.read_wait);
        self.read_wait.reset();
        buffer.start_ns = self.closed_ns.filter(|_| !self.is_over).unwrap_or(now_ns);
        buffer.drain = self.is_over;
        buffer.closes_tick = true;
        self.closed_ns = Some(now_ns);
        self.send(buffer);
        self.next_tick_ns = next_tick_ns(now_ns);
    }

    /// Sends the counts of the current and of earlier segments to the collector. `is_last` is true if no further
    /// counts of the current segment follow.
    pub(super) fn close_segment(&mut self, now_ns: u64, is_last: bool) {
        if let Some(messages) = self.order.messages.as_ref().filter(|_| self.is_own && is_last) {
            self.current.get_or_insert_with(|| Box::new(ReceivedCounts::new(messages.kind)));
        }
        // Before the receivers' own segment begins, only messages count.
        let is_own = self.is_own;
        if let Some(mut current) = self.current.take_if(|current| is_own || current.received > 0) {
            current.name(&mut self.own_counts, is_last);
            if is_own {
                current.ordered = self.own_counts.len() as u32;
                let away = self.receivers.values().filter(|receiver| !receiver.dialog.is_ready);
                let away: BTreeSet<_> = away.map(|receiver| receiver.dialog.number).collect();
                current.receivers = current.ordered - away.len() as u32;
            } else {
                current.named.retain(|one| one.received + one.lost + one.late + one.reconnects > 0);
            }
            let mut buffer = self.empty(now_ns);
            buffer.drain = self.is_over;
            buffer.arrived = Some(current);
            self.send(buffer);
        }
        for (segment, counts) in self.earlier.take() {
            let mut buffer = self.empty(now_ns);
            buffer.generation = segment;
            buffer.drain = true;
            buffer.arrived = Some(counts);
            self.send(buffer);
        }
    }

    fn empty(&mut self, now_ns: u64) -> Box<IntervalBuffer> {
        let mut buffer = self.ring.empty();
        (buffer.generation, buffer.start_ns, buffer.end_ns) = (self.segment, now_ns, now_ns);
        buffer.tick =
            tick_of(if self.setup.state.is_ending.load(Relaxed) { next_tick_ns(now_ns) } else { now_ns });
        buffer
    }

    fn send(&mut self, buffer: Box<IntervalBuffer>) {
        while self.ring.room() == 0 && !self.ring.is_abandoned() {
            std::thread::sleep(Duration::from_millis(1));
        }
        if !self.ring.is_abandoned() {
            self.ring.send(buffer);
        }
    }
}
