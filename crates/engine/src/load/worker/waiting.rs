//! The tasks of a load worker for which poll returns no event. Some sockets still contain data, because a round reads
//! each socket only a few times. Some connections have waited too long. Some clients wait for records of a dataset.

use super::Worker;
use crate::{
    endpoint::{HANDSHAKE_LIMIT, TlsFailure},
    load::broken::ConnectionFailure,
};

/// Whether a socket is ready for reading, and whether it is ready for writing.
#[derive(Clone, Copy)]
pub(super) struct SocketReadiness {
    pub(super) to_read: bool,
    pub(super) to_write: bool,
}

impl SocketReadiness {
    pub(super) const TO_READ: Self = Self { to_read: true, to_write: false };
}

impl Worker {
    /// Continues to read from a client with unread data in its socket.
    pub(super) fn read_on(&mut self, now_ns: u64) {
        if let Some(i) = self.clients.next_unread() {
            self.attend_ready(i, SocketReadiness::TO_READ, now_ns);
        }
    }

    /// Counts the CPU time of this thread since the last call, and the time in which the thread waited for a core. Also
    /// counts the requests for the busiest slots of a cluster.
    pub(super) fn count_lap(&mut self) {
        if let Some(spread) = &mut self.spread {
            spread.slots.report(&mut self.segments.counts().by_node.slots);
        }
        if let Some(own) = &mut self.own {
            self.segments.counts().client.add_lap(own.lap());
        }
    }

    /// Counts how long clients are free to write but no dataset record is available.
    pub(super) fn note_record_wait(&mut self, now_ns: u64) {
        if let Some(since_ns) = self.record_wait_since_ns.take() {
            self.segments.counts().client.waited_for_record(now_ns.saturating_sub(since_ns));
        }
        self.record_wait_since_ns = self.awaits_record.then_some(now_ns);
    }

    /// Closes the connections that have waited too long for their next reply.
    pub(super) fn close_late(&mut self, now_ns: u64) {
        while let Some(i) = self.watches.next(now_ns) {
            // Data that has arrived but is not read yet is not late. After a pause of this process, all replies would
            // otherwise seem late.
            if self.is_late(i, now_ns) {
                // If there is data, it arrived after the poll, because no event reported it.
                self.attend_ready(i, SocketReadiness::TO_READ, self.setup.clock.now_ns());
                if self.is_late(i, now_ns) {
                    let broken = match self.timeout_ns {
                        u64::MAX => ConnectionFailure::Socket(TlsFailure::Silent.into()),
                        timeout_ns => ConnectionFailure::Timeout(timeout_ns),
                    };
                    self.lose(i, &broken, now_ns);
                }
            }
        }
    }

    /// Returns the time when the worker must check a connection with this deadline, in ns. If the timeout is
    /// off, TLS handshakes still have a limit.
    pub(super) fn check_ns(&self, deadline_ns: u64, now_ns: u64) -> u64 {
        match (deadline_ns, &self.setup.plan.target.tls) {
            (u64::MAX, Some(_)) => now_ns.saturating_add(HANDSHAKE_LIMIT.as_nanos() as u64),
            _ => deadline_ns,
        }
    }

    /// Returns whether client `i` has waited too long for its next reply. If the client has not waited too long,
    /// plans the next check.
    fn is_late(&mut self, i: usize, now_ns: u64) -> bool {
        let deadline_ns = self.clients.connection(i).and_then(|c| c.deadline_ns(self.timeout_ns));
        if let Some(later_ns) = deadline_ns.filter(|at_ns| *at_ns > now_ns) {
            self.watches.watch(i, self.check_ns(later_ns, now_ns));
        }
        deadline_ns.is_some_and(|at_ns| at_ns <= now_ns)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::TcpListener,
        sync::{Arc, mpsc::channel},
        time::{Duration, Instant},
    };

    use crate::{
        clock::Clock,
        endpoint::{Address, Target},
        knobs::Knobs,
        load::{FirstCommands, IntervalBuffer, Load, LoadEvent, LoadOutput, LoadPlan, WorkerOptions},
        workload::{Dataset, Workload},
    };

    /// Creates a server that accepts connections and never replies. Also creates a plan for this server, and a workload
    /// that sends the records of a file.
    fn bench() -> (TcpListener, LoadPlan, Workload, tempfile::NamedTempFile) {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp { host: "127.0.0.1".into(), port: server.local_addr().unwrap().port() };
        let file = tempfile::NamedTempFile::with_suffix(".csv").unwrap();
        std::fs::write(&file, "id\n1\n2\n").unwrap();
        let workload = Workload::of_commands(&["SET", "__field:id__", "x"].map(str::to_owned)).unwrap();
        let workload = workload.with_dataset(file.path(), None).unwrap();
        let target = Target { address, ..Target::default() };
        let plan =
            LoadPlan { target, first_words: FirstCommands::Bare { tracks: false }, ..LoadPlan::fixture() };
        (server, plan, workload, file)
    }

    /// Starts a load of four clients that send the records of `dataset`.
    fn load(plan: &LoadPlan, workload: &Workload, dataset: Dataset, rate: Option<u32>) -> (Load, LoadOutput) {
        let workload = Arc::new(Workload { dataset: Some(dataset), ..workload.clone() });
        let knobs = Knobs { load: true, clients: 4, rate, workload, ..Knobs::default() };
        Load::start(plan, knobs, None, Clock::start()).unwrap()
    }

    fn buffers(output: &mut LoadOutput) -> Vec<IntervalBuffer> {
        std::iter::from_fn(|| output.rings[0].intervals.pop().ok()).map(|buffer| *buffer).collect()
    }

    #[test]
    fn a_hanging_reader_of_a_dataset_delays_neither_the_end_nor_a_stop() {
        let (_server, plan, workload, _file) = bench();
        let waits_ns = |buffers: &[IntervalBuffer]| -> u64 {
            buffers.iter().filter_map(|buffer| buffer.client.record_wait_ns).sum()
        };
        for (rate, length) in [(None, Some(300)), (Some(1000), Some(300)), (None, None), (Some(1000), None)] {
            let (dataset, _reader) = workload.dataset.as_ref().unwrap().with_hanging_reader();
            let plan = LoadPlan { length: length.map(Duration::from_millis), ..plan.clone() };
            let (mut load, mut output) = load(&plan, &workload, dataset, rate);
            let (mut seen, limit) = (Vec::new(), Instant::now() + Duration::from_secs(60));
            while length.is_none() && waits_ns(&seen) == 0 {
                assert!(Instant::now() < limit, "no client waits for a record");
                std::thread::sleep(Duration::from_millis(5));
                seen.extend(buffers(&mut output));
            }
            let (done, ended) = channel();
            let run = std::thread::spawn(move || {
                while length.is_some() && !load.is_over() {
                    std::thread::sleep(Duration::from_millis(5));
                }
                load.end();
                done.send(()).unwrap();
            });
            ended.recv_timeout(Duration::from_secs(60)).expect("an end");
            run.join().unwrap();
            seen.extend(buffers(&mut output));
            assert_eq!(seen.iter().map(|buffer| buffer.bytes_out).sum::<u64>(), 0);
            let due: u64 = seen.iter().map(|buffer| buffer.due).sum();
            assert_eq!(due, seen.iter().map(|buffer| buffer.unsent).sum::<u64>(), "{rate:?}");
        }
    }

    #[test]
    fn a_worker_that_never_sleeps_counts_its_idle_time() {
        let (_server, plan, workload, _file) = bench();
        for busy in [false, true] {
            let workers = WorkerOptions { busy, ..plan.workers.clone() };
            let plan = LoadPlan { workers, length: Some(Duration::from_millis(300)), ..plan.clone() };
            let dataset = workload.dataset.clone().unwrap();
            let (mut load, mut output) = load(&plan, &workload, dataset, None);
            while !load.is_over() {
                std::thread::sleep(Duration::from_millis(5));
            }
            load.end();
            let buffers = buffers(&mut output);
            let spun_ns: u64 = buffers.iter().map(|buffer| buffer.client.spun_ns).sum();
            let watched_ns: u64 = buffers.iter().map(|buffer| buffer.client.watched_ns).sum();
            assert_eq!(spun_ns > 0, busy);
            assert!(spun_ns <= watched_ns, "{spun_ns} of {watched_ns}");
        }
    }

    #[test]
    fn a_panic_of_a_worker_is_reported_and_its_connections_count_as_lost() {
        let (_server, plan, workload, _file) = bench();
        let (dataset, _reader) = workload.dataset.as_ref().unwrap().with_broken_records();
        let (mut load, mut output) = load(&plan, &workload, dataset, None);
        let mut events = Vec::new();
        while let Ok(event) = output.events.recv_timeout(Duration::from_secs(20)) {
            let is_last = matches!(event, LoadEvent::Died { .. });
            events.push(event);
            if is_last {
                break;
            }
        }
        let Some(LoadEvent::Died { cause, .. }) = events.last() else { panic!("{events:?}") };
        assert!(cause.starts_with("a thread of the load panicked: "), "{cause}");
        let lost = events.iter().find_map(|event| match event {
            LoadEvent::Losses { report, .. } => Some((report.lost, report.cause.clone())),
            _ => None,
        });
        let (lost, why) = lost.expect("its clients");
        assert!(lost > 0 && why.contains("panicked"), "{why}");
        load.end();
        let counted: Vec<_> = buffers(&mut output);
        let mut lost_connections = std::collections::BTreeMap::new();
        counted.iter().for_each(|buffer| buffer.connections_lost.add_to(&mut lost_connections));
        assert!(lost_connections["unanswered"] > 0, "{lost_connections:?}");
        assert_eq!(counted.iter().map(|buffer| buffer.due).sum::<u64>(), 0);
    }
}
