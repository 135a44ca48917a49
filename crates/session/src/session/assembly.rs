//! Merges the results of all load workers into one interval record for each tick (250 ms) and segment.
//!
//! ```text
//! load-0  ──[17: seg 1]─[17: seg 2, closes it]──►┐
//! load-1  ──[17: seg 1]─[17: seg 2, closes it]──►┴─► tick 17: interval of seg 1, interval of seg 2
//! ```
//! All workers count ticks from the start of the session. A tick is complete when every worker has reported this tick
//! or a later tick. A tick is completed without a worker that is [`PATIENCE`] ticks behind. The late results of this
//! worker later become an interval with length 0, so no reply is lost. Replies after the end of a segment form one
//! interval, the drain. The drain ends with the last of these replies.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Client, Interval,
    counted::{add_buffer, add_client},
};
use crate::{clock::seconds, load::IntervalBuffer};

/// A tick is completed without a worker that is late by this number of ticks. Two ticks are half a second.
const PATIENCE: u64 = 2;
/// The largest number of entries in `reached_ns`. Older segments receive only late replies.
const KNOWN_SEGMENTS: usize = 1000;

/// The reports of the workers for the ticks (quarter seconds) that are not complete yet.
pub(super) struct Assembly {
    workers: Vec<WorkerState>,
    /// The last tick (quarter second) that any worker has reported.
    newest: u64,
    /// The worker number of the receivers' thread.
    receives: usize,
    ticks: BTreeMap<u64, BTreeMap<u32, Pending>>,
    /// The drains (late replies of ended segments) that are not complete yet, by number of the segment.
    drains: BTreeMap<u32, Drain>,
    /// The end of the last interval of each segment. The segment's next interval begins at this time. The lengths
    /// therefore add up to the elapsed time.
    reached_ns: BTreeMap<u32, u64>,
}

/// The state of a worker.
#[derive(Debug, Clone, Copy, Default)]
struct WorkerState {
    /// The last tick (quarter second) that the worker has reported. `u64::MAX` if the worker has ended.
    closed: u64,
    /// The number of connections of the worker at the end of its last reported tick.
    connected: u32,
}

/// The reports of the workers about one segment in one tick (quarter second).
#[derive(Default)]
struct Pending {
    interval: Interval,
    /// The earliest start of these reports; `None` if they contain only late replies.
    start_ns: Option<u64>,
    end_ns: u64,
    /// The number of connections of each worker that has reported.
    connected: BTreeMap<usize, u32>,
}

/// The replies of a segment that arrive after its end.
#[derive(Default)]
struct Drain {
    pending: Pending,
    /// The tick (quarter second) of the first reply after the segment's end.
    tick: u64,
    /// The workers that still wait for replies of the segment.
    awaited_by: BTreeSet<usize>,
}

impl Assembly {
    /// Returns an assembly without reports, for `workers` workers.
    pub(super) fn new(workers: usize) -> Self {
        let workers = vec![WorkerState::default(); workers];
        Self {
            receives: usize::MAX,
            workers,
            newest: 0,
            ticks: BTreeMap::new(),
            drains: BTreeMap::new(),
            reached_ns: BTreeMap::new(),
        }
    }

    /// Adds the receivers' thread, which starts later than the workers.
    pub(super) fn join(&mut self) {
        self.receives = self.workers.len();
        self.workers.push(WorkerState { closed: self.newest, connected: 0 });
    }

    /// Adds the results that `worker` reports.
    pub(super) fn add(&mut self, worker: usize, buffer: &IntervalBuffer) {
        let parts = self.ticks.entry(buffer.tick).or_default();
        if buffer.drain {
            let drain = self.drains.entry(buffer.generation).or_default();
            drain.pending.add(worker, buffer);
            drain.tick = if drain.tick == 0 { buffer.tick } else { drain.tick };
            if buffer.in_flight > 0 {
                drain.awaited_by.insert(worker);
            } else {
                drain.awaited_by.remove(&worker);
            }
        } else {
            let part = parts.entry(buffer.generation).or_default();
            part.add(worker, buffer);
            add_client(&mut part.interval.client, (worker, worker == self.receives), buffer);
        }
        if buffer.closes_tick {
            self.workers[worker] = WorkerState { closed: buffer.tick, connected: buffer.connected };
            self.newest = self.newest.max(buffer.tick);
        }
    }

    /// Records that a worker has ended. The worker reports no more results and waits for no more replies.
    pub(super) fn end(&mut self, worker: usize) {
        self.workers[worker] = WorkerState { closed: u64::MAX, connected: 0 };
        for drain in self.drains.values_mut() {
            drain.awaited_by.remove(&worker);
        }
    }

    /// Returns the intervals of the earliest tick (quarter second), if this tick is complete. Also returns the
    /// intervals of complete drains.
    pub(super) fn take(&mut self) -> Option<Vec<Interval>> {
        let first =
            self.ticks.first_key_value().map(|(tick, _)| *tick).filter(|tick| self.is_complete(*tick));
        let parts = first.and_then(|tick| self.ticks.remove(&tick)).unwrap_or_default();
        let tick = first.unwrap_or(self.newest);
        let mut intervals: Vec<_> =
            parts.into_iter().map(|(segment, part)| self.finish(tick, segment, part)).collect();
        let is_over = |drain: &Drain| drain.awaited_by.is_empty() && drain.tick <= tick;
        let drained: Vec<_> =
            self.drains.iter().filter(|(_, drain)| is_over(drain)).map(|(segment, _)| *segment).collect();
        for segment in drained {
            let drain = self.drains.remove(&segment).unwrap_or_default();
            intervals.extend(drain.finish(tick, segment));
        }
        (first.is_some() || !intervals.is_empty()).then_some(intervals)
    }

    fn is_complete(&self, tick: u64) -> bool {
        tick <= self.complete_tick()
    }

    /// Returns the last complete tick (quarter second). Later results for this tick have the length 0.
    pub(super) fn complete_tick(&self) -> u64 {
        let closed = self.workers.iter().map(|worker| worker.closed).min().unwrap_or(u64::MAX);
        closed.max(self.newest.saturating_sub(PATIENCE))
    }

    fn finish(&mut self, tick: u64, segment: u32, mut part: Pending) -> Interval {
        let length_ns = part.start_ns.map_or(0, |start_ns| {
            let reached_ns = self.reached_ns.entry(segment).or_insert(start_ns);
            part.end_ns.saturating_sub(std::mem::replace(reached_ns, part.end_ns.max(*reached_ns)))
        });
        while self.reached_ns.len() > KNOWN_SEGMENTS {
            self.reached_ns.pop_first();
        }
        if length_ns > 0 {
            // A late worker has not reported, but its connections exist.
            for (n, worker) in self.workers.iter().enumerate() {
                part.connected.entry(n).or_insert(worker.connected);
            }
        }
        let length_s = seconds(length_ns);
        let interval = part.interval;
        let client = interval.client.filter(|client| !client.workers.is_empty());
        Interval {
            tick,
            segment,
            t_s: seconds(part.end_ns),
            length_s,
            ops_per_s: if length_ns > 0 { interval.ops as f64 / length_s } else { 0.0 },
            clients: part.connected.values().sum(),
            client: client.map(Client::with_the_busiest),
            ..interval
        }
    }
}

impl Pending {
    fn add(&mut self, worker: usize, buffer: &IntervalBuffer) {
        if buffer.end_ns > buffer.start_ns {
            self.start_ns = Some(self.start_ns.map_or(buffer.start_ns, |ns| ns.min(buffer.start_ns)));
        }
        self.end_ns = self.end_ns.max(buffer.end_ns);
        self.connected.insert(worker, buffer.connected);
        add_buffer(&mut self.interval, buffer);
    }
}

impl Drain {
    /// Returns the interval of the drain; `None` if the drain has no results.
    fn finish(self, tick: u64, segment: u32) -> Option<Interval> {
        let Pending { mut interval, start_ns, end_ns, connected } = self.pending;
        if interval.is_blank() {
            return None;
        }
        let parts = interval.commands.values_mut().chain(interval.nodes.values_mut());
        parts.for_each(|part| part.drained = part.ops);
        let length_s = start_ns.map_or(0.0, |start_ns| seconds(end_ns - start_ns));
        Some(Interval {
            tick,
            segment,
            t_s: seconds(end_ns),
            length_s,
            drain: true,
            drained: interval.ops,
            ops_per_s: if length_s > 0.0 { interval.ops as f64 / length_s } else { 0.0 },
            clients: connected.values().sum(),
            ..interval
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{host::Lap, load::testing, session::Opening};

    const MS: u64 = 1_000_000;

    /// Returns results of segment 1 from `from_ms` to `to_ms` that close `tick`.
    fn closing(tick: u64, from_ms: u64, to_ms: u64, ops: u64) -> Box<IntervalBuffer> {
        let mut buffer = testing::interval(1, from_ms * MS..to_ms * MS, &[("GET", ops)], true);
        buffer.tick = tick;
        buffer.connected = 5;
        buffer
    }

    fn figures(interval: &Interval) -> (f64, f64, u64) {
        (interval.t_s, interval.length_s, interval.ops)
    }

    #[test]
    fn a_tick_is_complete_when_every_worker_has_closed_it() {
        let mut assembly = Assembly::new(2);
        assembly.add(0, &testing::interval(1, 0..250, &[("GET", 3)], true));
        assert_eq!(assembly.take(), None);
        assembly.add(1, &testing::interval(1, 0..100, &[("GET", 2)], false));
        assert_eq!(assembly.take(), None);
        assembly.add(1, &testing::interval(2, 100..250, &[("SET", 4)], true));
        let intervals = assembly.take().unwrap();
        let seen: Vec<_> = intervals.iter().map(|i| (i.segment, i.ops, i.service.count())).collect();
        assert_eq!(seen, [(1, 5, 5), (2, 4, 4)]);
        assert_eq!(assembly.take(), None);
    }

    #[test]
    fn lengths_add_up_to_the_time_that_passed() {
        let mut assembly = Assembly::new(2);
        for (worker, first, second) in [(0, 240, 505), (1, 260, 500)] {
            assembly.add(worker, &closing(1, 0, first, 60));
            assembly.add(worker, &closing(2, first, second, 61));
        }
        let ticks: Vec<_> = std::iter::from_fn(|| assembly.take()).flatten().collect();
        assert_eq!(ticks.iter().map(figures).collect::<Vec<_>>(), [(0.26, 0.26, 120), (0.505, 0.245, 122)]);
        assert_eq!(ticks[0].clients, 10);
    }

    /// Tests the rate if half of the workers end early. An earlier version reported half the length and twice the rate.
    #[test]
    fn a_worker_that_ends_early_neither_shrinks_nor_stretches_the_time() {
        let mut assembly = Assembly::new(2);
        assembly.add(0, &closing(1, 0, 100, 10));
        assembly.add(1, &closing(1, 0, 250, 50));
        assembly.end(0);
        assembly.add(1, &closing(2, 250, 500, 50));
        let ticks: Vec<_> = std::iter::from_fn(|| assembly.take()).flatten().collect();
        assert_eq!(ticks.iter().map(figures).collect::<Vec<_>>(), [(0.25, 0.25, 60), (0.5, 0.25, 50)]);
        assert_eq!(ticks[1].ops_per_s, 200.0);
    }

    /// Tests that all workers count the same ticks after a stop of one second. In an earlier version, a worker stayed
    /// four ticks behind.
    #[test]
    fn results_of_a_stopped_worker_are_merged_by_tick_number() {
        let mut assembly = Assembly::new(2);
        let mut taken = Vec::new();
        for tick in 1..=8 {
            assembly.add(0, &closing(tick, tick * 250 - 250, tick * 250, 100));
            match tick {
                1 | 7 | 8 => assembly.add(1, &closing(tick, tick * 250 - 250, tick * 250, 1)),
                6 => assembly.add(1, &closing(6, 250, 1500, 7)),
                _ => {}
            }
            taken.push(std::iter::from_fn(|| assembly.take()).flatten().collect::<Vec<_>>());
        }
        let numbers: Vec<Vec<u64>> = taken.iter().map(|t| t.iter().map(|i| i.ops).collect()).collect();
        let none: Vec<u64> = vec![];
        let expected = [vec![101], none.clone(), none, vec![100], vec![100], vec![100, 100, 107], vec![101]];
        assert_eq!(numbers[..7], expected);
        assert_eq!(numbers[7], [101]);
        assert!(taken.iter().flatten().all(|i| (i.length_s, i.clients) == (0.25, 10)), "{taken:?}");
    }

    #[test]
    fn results_after_their_tick_have_no_length_and_are_not_lost() {
        let mut assembly = Assembly::new(2);
        assembly.add(1, &closing(1, 0, 250, 1));
        (1..=4).for_each(|tick| assembly.add(0, &closing(tick, tick * 250 - 250, tick * 250, 100)));
        let taken = std::iter::from_fn(|| assembly.take()).count();
        assert_eq!(taken, 2, "the last two wait");
        assembly.add(1, &closing(2, 250, 500, 9));
        let late = assembly.take().unwrap().remove(0);
        assert_eq!(figures(&late), (0.5, 0.0, 9));
        assert_eq!((late.ops_per_s, assembly.take()), (0.0, None));
    }

    #[test]
    fn opening_times_of_connections_are_separate_from_operations() {
        let mut assembly = Assembly::new(2);
        for (worker, took_ns) in [(0, 3 * MS), (1, 5 * MS)] {
            let mut buffer = closing(7, 1500, 1750, 0);
            buffer.openings.connects.push(took_ns);
            buffer.openings.greetings.extend([took_ns, took_ns]);
            assembly.add(worker, &buffer);
        }
        let interval = assembly.take().unwrap().remove(0);
        let Opening { connect, handshake, greeting } = &interval.opening;
        assert_eq!((connect.count(), connect.sum_ns(), greeting.count()), (2, u128::from(8 * MS), 4));
        assert_eq!((interval.tick, interval.ops, handshake.is_empty()), (7, 0, true));
        assert!(!interval.is_blank());
    }

    #[test]
    fn late_replies_have_no_length_and_no_rate() {
        let mut assembly = Assembly::new(1);
        assembly.add(0, &testing::interval(1, 5..5, &[("GET", 1)], false));
        assembly.add(0, &testing::interval(2, 5..250, &[], true));
        let late = &assembly.take().unwrap()[0];
        assert_eq!((late.segment, late.ops, late.length_s, late.ops_per_s), (1, 1, 0.0, 0.0));
        assert_eq!(late.client, None);
    }

    /// Tests a worker that waited for its last replies longer than the load lasted, and also waited for a core.
    #[test]
    fn a_share_never_exceeds_one_if_the_worker_outlasts_the_load() {
        let mut assembly = Assembly::new(1);
        let mut buffer = testing::interval(1, 0..50, &[], true);
        buffer.client.add_lap(Lap { length_ns: 50, cpu_ns: 20, run_delay_ns: Some(5), core: Some(3) });
        buffer.client.add_lap(Lap { length_ns: 200, cpu_ns: 30, run_delay_ns: Some(140), core: Some(2) });
        assembly.add(0, &buffer);
        let client = assembly.take().unwrap().remove(0).client.unwrap();
        assert_eq!((client.cpu, client.run_delay), (0.2, Some(0.58)));
    }

    #[test]
    fn replies_after_the_end_are_one_drain_when_no_worker_waits() {
        let mut assembly = Assembly::new(2);
        let drain = |tick: u64, from_ms: u64, to_ms: u64, ops: u64, in_flight: u64| {
            let mut buffer = closing(tick, from_ms, to_ms, ops);
            (buffer.drain, buffer.in_flight) = (true, in_flight);
            buffer
        };
        for worker in 0..2 {
            let mut last = closing(1, 0, 100, 50);
            last.closes_tick = false;
            assembly.add(worker, &last);
        }
        assembly.add(0, &drain(1, 100, 250, 3, 4));
        assert_eq!(assembly.take(), None, "the other worker has not closed the tick");
        assembly.add(1, &drain(1, 100, 120, 2, 0));
        assert_eq!(assembly.take().unwrap().iter().map(figures).collect::<Vec<_>>(), [(0.1, 0.1, 100)]);
        assert_eq!(assembly.take(), None);
        assembly.add(0, &drain(2, 250, 350, 5, 0));
        assembly.end(0);
        assembly.end(1);
        let interval = assembly.take().unwrap().remove(0);
        assert_eq!((figures(&interval), interval.drain, interval.drained), ((0.35, 0.25, 10), true, 10));
        assert_eq!((interval.ops_per_s, interval.commands["GET"].drained), (40.0, 10));
        assert_eq!(assembly.take(), None);
    }

    #[test]
    fn a_worker_that_ends_with_requests_in_flight_does_not_delay_the_drain() {
        let mut assembly = Assembly::new(1);
        let mut buffer = closing(1, 100, 250, 3);
        (buffer.drain, buffer.in_flight) = (true, 7);
        assembly.add(0, &buffer);
        assert_eq!(assembly.take(), Some(vec![]));
        assembly.end(0);
        assert_eq!(assembly.take().unwrap()[0].drained, 3);
    }

    #[test]
    fn each_worker_has_its_own_share_of_a_core() {
        let mut assembly = Assembly::new(2);
        for (worker, cpu_ns) in [(1, 200), (0, 50)] {
            let mut buffer = testing::interval(1, 0..250, &[], true);
            (buffer.client.watched_ns, buffer.client.cpu_ns) = (250, cpu_ns);
            buffer.client.run_delay_ns = Some(25);
            (0..3).for_each(|_| buffer.client.read_after(5_000));
            assembly.add(worker, &buffer);
        }
        let client = assembly.take().unwrap().remove(0).client.unwrap();
        let cpu: Vec<_> = client.workers.iter().map(|worker| worker.cpu).collect();
        assert_eq!((cpu, client.cpu, client.run_delay), (vec![0.2, 0.8], 0.8, Some(0.1)));
        assert_eq!((client.readable_to_read.count(), client.late), (6, None));
    }
}
