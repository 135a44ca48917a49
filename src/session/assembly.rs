//! Puts the buffers that the workers close into one interval record for each tick and segment.
//!
//! ```text
//! load-0  ──[seg 1]─[seg 2, closes tick]──►┐
//! load-1  ──[seg 1]─[seg 2, closes tick]──►┴─► interval of seg 1, interval of seg 2
//! ```
//! A tick is complete when every worker has closed it. Pure.

use std::collections::BTreeMap;

use super::{Client, Interval, WorkerCost, add_counts};
use crate::{clock::seconds, load::IntervalBuffer, stats::Latency, workload::Command};

/// The tick that is being put together.
pub(super) struct Assembly {
    workers: usize,
    /// Workers that have closed this tick.
    closed: usize,
    segments: BTreeMap<u32, Part>,
}

/// What the workers have told of one segment in this tick.
#[derive(Default)]
struct Part {
    interval: Interval,
    /// The sum of all workers' stretches, and the end of the last.
    lengths_ns: u64,
    end_ns: u64,
    /// What each worker cost; those that had no part in it yet are missing at the end.
    costs: Vec<WorkerCost>,
    readable_to_read: Latency,
    late: Latency,
}

impl Assembly {
    /// For so many workers.
    pub(super) fn new(workers: usize) -> Self {
        Self { workers, closed: 0, segments: BTreeMap::new() }
    }

    /// Adds a buffer of `worker`, which has not closed this tick yet. Whether this closes it for that worker.
    pub(super) fn add(&mut self, worker: usize, buffer: &IntervalBuffer) -> bool {
        let part = self.segments.entry(buffer.generation).or_default();
        part.lengths_ns += buffer.end_ns - buffer.start_ns;
        part.end_ns = part.end_ns.max(buffer.end_ns);
        add_buffer(&mut part.interval, buffer);
        part.add_client(worker, buffer);
        self.closed += usize::from(buffer.closes_tick);
        buffer.closes_tick
    }

    /// A worker has ended: it closes this tick by that.
    pub(super) fn close(&mut self) {
        self.closed += 1;
    }

    /// Whether any worker's counts are in this tick.
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Whether every worker has closed this tick.
    pub(super) fn is_complete(&self) -> bool {
        self.closed == self.workers
    }

    /// The intervals of this tick by segment, earlier segments first; then the next tick begins.
    pub(super) fn take(&mut self) -> Vec<Interval> {
        self.closed = 0;
        let workers = self.workers as u64;
        let finish = |(segment, part): (u32, Part)| {
            let client = part.client();
            let mut interval = part.interval;
            interval.client = client;
            interval.segment = segment;
            interval.t_s = seconds(part.end_ns);
            // Workers close a tick within moments of each other; their mean length makes the lengths of
            // all intervals add up to the time that passed.
            interval.length_s = seconds(part.lengths_ns / workers);
            interval.ops_per_s =
                if part.lengths_ns > 0 { interval.ops as f64 / interval.length_s } else { 0.0 };
            interval
        };
        std::mem::take(&mut self.segments).into_iter().map(finish).collect()
    }
}

impl Part {
    /// Adds what a worker itself cost. A worker has one buffer with length for each tick and segment.
    fn add_client(&mut self, worker: usize, buffer: &IntervalBuffer) {
        let (client, length_ns) = (&buffer.client, buffer.end_ns - buffer.start_ns);
        if length_ns > 0 {
            let share = |ns: u64| ns as f64 / length_ns as f64;
            self.costs.resize(self.costs.len().max(worker + 1), WorkerCost::default());
            self.costs[worker] =
                WorkerCost { cpu: share(client.cpu_ns), run_delay: client.run_delay_ns.map(share) };
        }
        self.readable_to_read.merge(&client.read_wait.latency());
        self.late.merge(&client.late.latency());
    }

    fn client(&self) -> Option<Client> {
        (!self.costs.is_empty()).then(|| Client {
            readable_to_read: self.readable_to_read.clone(),
            late: (!self.late.is_empty()).then(|| self.late.clone()),
            ..Client::of(self.costs.clone())
        })
    }
}

fn add_buffer(interval: &mut Interval, buffer: &IntervalBuffer) {
    interval.bytes_in += buffer.bytes_in;
    interval.bytes_out += buffer.bytes_out;
    interval.hits += buffer.hits;
    interval.misses += buffer.misses;
    interval.clients += buffer.connected;
    interval.shed += buffer.shed;
    interval.behind_us = interval.behind_us.max(buffer.behind_ns / 1000);
    if !buffer.response.is_empty() {
        interval.response.get_or_insert_default().merge(&buffer.response.latency());
    }
    buffer.errors.add_to(&mut interval.errors);
    for (command, counts) in Command::ALL.into_iter().zip(&buffer.commands) {
        if counts.ops == 0 && counts.errors.is_empty() {
            continue;
        }
        let service = counts.service.latency();
        let of_command = interval.commands.entry(command).or_default();
        let mut errors = BTreeMap::new();
        counts.errors.add_to(&mut errors);
        add_counts(&mut interval.errors, &errors);
        add_counts(&mut of_command.errors, &errors);
        of_command.ops += counts.ops;
        of_command.service.merge(&service);
        interval.ops += counts.ops;
        interval.service.merge(&service);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::testing;

    #[test]
    fn a_tick_is_complete_when_every_worker_has_closed_it() {
        let mut assembly = Assembly::new(2);
        assert!(assembly.add(0, &testing::interval(1, 0..250, &[(Command::Get, 3)], true)));
        assert!(!assembly.is_complete());
        assembly.add(1, &testing::interval(1, 0..100, &[(Command::Get, 2)], false));
        assert!(!assembly.is_complete());
        assembly.add(1, &testing::interval(2, 100..250, &[(Command::Set, 4)], true));
        assert!(assembly.is_complete());

        let intervals = assembly.take();
        let seen: Vec<_> = intervals.iter().map(|i| (i.segment, i.ops, i.service.count())).collect();
        assert_eq!(seen, [(1, 5, 5), (2, 4, 4)]);
        assert!(!assembly.is_complete());
    }

    #[test]
    fn lengths_add_up_to_the_time_that_passed() {
        let mut assembly = Assembly::new(2);
        assembly.add(0, &testing::interval(1, 0..240_000_000, &[(Command::Get, 60)], true));
        assembly.add(1, &testing::interval(1, 0..260_000_000, &[(Command::Get, 65)], true));
        let interval = &assembly.take()[0];
        assert_eq!((interval.length_s, interval.ops_per_s), (0.25, 500.0));
    }

    #[test]
    fn late_replies_have_no_length_and_no_rate() {
        let mut assembly = Assembly::new(1);
        assembly.add(0, &testing::interval(1, 5..5, &[(Command::Get, 1)], false));
        assembly.add(0, &testing::interval(2, 5..250, &[], true));
        let late = &assembly.take()[0];
        assert_eq!((late.segment, late.ops, late.length_s, late.ops_per_s), (1, 1, 0.0, 0.0));
        assert_eq!(late.client, None);
    }

    #[test]
    fn each_worker_has_its_own_share_of_a_core() {
        let mut assembly = Assembly::new(2);
        for (worker, cpu_ns) in [(1, 200), (0, 50)] {
            let mut buffer = testing::interval(1, 0..250, &[], true);
            buffer.client.cpu_ns = cpu_ns;
            buffer.client.run_delay_ns = Some(25);
            buffer.client.read_after(5_000, 3);
            assembly.add(worker, &buffer);
        }
        let client = assembly.take().remove(0).client.unwrap();
        let cpu: Vec<_> = client.workers.iter().map(|worker| worker.cpu).collect();
        assert_eq!((cpu, client.cpu, client.run_delay), (vec![0.2, 0.8], 0.8, Some(0.1)));
        assert_eq!((client.readable_to_read.count(), client.late), (6, None));
    }
}
