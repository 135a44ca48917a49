//! Makes the records of one target from the reports of its load, its ping probe and its control plane.
//!
//! ```text
//! rings of its workers ─┐
//! its load's events ────┤
//! its ping ─────────────┼─► records of this target, with the clock and ticks of all targets
//! its control plane ────┘
//! ```

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        mpsc::{Receiver, TryRecvError, channel},
    },
};

use super::{
    Event, Interval, Moment, Numbering, Record, Segment, Summary, Tally, assembly::Assembly,
    lost_connections::LostConnections, lost_pings::LostPings, pauses::Pauses,
    replica_figures::ReplicaFigures, watches::FigureWatches,
};
use crate::{
    clock::{Clock, nanoseconds, seconds, tick_of},
    endpoint::Cluster,
    events::EventKind,
    gauge::Gauge,
    knobs::Knobs,
    load::{LoadEvent, LoadOutput, RingEnd},
    probe::{self, ServerPid},
    protocol::ErrorKinds,
    server,
    workload::Workload,
};

/// The inputs for the records of one target: the reports of its load, its ping probe and its control plane.
pub(super) struct TargetInputs {
    pub(super) load: LoadOutput,
    pub(super) ping: Receiver<probe::ProbeMessage>,
    pub(super) server: Receiver<server::ControlMessage>,
    /// The joined records of a fleet's agents. The agents' records replace the records of the load. The channel is
    /// closed after the last record.
    pub(super) fleet: Option<Receiver<Record>>,
    /// The server's process number, which is passed to the host probe.
    pub(super) pid: ServerPid,
    /// The target's cluster, and the session's numbering of its nodes; `None` without results by node.
    pub(super) numbers: Option<(Numbering, Arc<Cluster>)>,
}

/// Makes the records of one target from the reports about this target.
pub(crate) struct TargetRecords {
    clock: Clock,
    rings: Vec<RingEnd>,
    assembly: Assembly,
    /// The reports of each worker separately. Empty unless separate reports are requested.
    of_workers: Vec<Assembly>,
    /// The ring buffers for reports from threads that start later than the workers.
    joined: Receiver<RingEnd>,
    load_events: Receiver<LoadEvent>,
    ping: Receiver<probe::ProbeMessage>,
    server: Receiver<server::ControlMessage>,
    fleet: Option<Receiver<Record>>,
    pid: ServerPid,
    numbers: Option<(Numbering, Arc<Cluster>)>,
    /// The load settings of each segment, by number.
    knobs: BTreeMap<u32, Knobs>,
    /// Intervals of segments that have not begun here. A load begins a segment before the record of the segment.
    early: Vec<Interval>,
    connections: LostConnections,
    kinds: ErrorKinds,
    pings: LostPings,
    tally: Tally,
    /// The sum and the number of the recalls of vector searches since the last report of the control plane.
    recalls: (f64, u32),
    /// The figures of a replica that its own reports do not contain; empty if the target is not a replica.
    pub(super) replica: ReplicaFigures,
    pauses: Pauses,
    watches: FigureWatches,
    /// Whether the target never gets load. Its first segment is then its only segment.
    is_watched: bool,
    /// Records that `take` has not returned yet.
    made: Vec<Record>,
}

impl TargetRecords {
    /// Returns a maker of records from the reports in `inputs`.
    pub(super) fn new(clock: Clock, inputs: TargetInputs) -> Self {
        let rings = inputs.load.rings;
        let cluster = inputs.numbers.as_ref().map(|(_, cluster)| Arc::clone(cluster));
        let is_watched = rings.is_empty() && inputs.fleet.is_none();
        Self {
            clock,
            assembly: Assembly::new(rings.len()),
            of_workers: Vec::new(),
            connections: LostConnections::new(rings.len(), cluster),
            kinds: ErrorKinds::default(),
            pings: LostPings::default(),
            rings,
            joined: inputs.load.joined,
            load_events: inputs.load.events,
            ping: inputs.ping,
            server: inputs.server,
            fleet: inputs.fleet,
            pid: inputs.pid,
            numbers: inputs.numbers,
            knobs: BTreeMap::new(),
            early: Vec::new(),
            tally: Tally::default(),
            recalls: (0.0, 0),
            replica: ReplicaFigures::default(),
            pauses: Pauses::default(),
            watches: FigureWatches::default(),
            is_watched,
            made: Vec::new(),
        }
    }

    /// Returns a maker of records for a load without probes and control plane. `numbers` is the cluster with the
    /// numbering of its nodes in the session.
    pub(crate) fn of_load(
        clock: Clock,
        load: LoadOutput,
        numbers: Option<(Numbering, Arc<Cluster>)>,
    ) -> Self {
        let (ping, server, pid) = (channel().1, channel().1, ServerPid::default());
        Self::new(clock, TargetInputs { load, ping, server, fleet: None, pid, numbers })
    }

    /// Reads all waiting reports, and returns the records made from them.
    pub(crate) fn take(&mut self) -> Vec<Record> {
        self.take_load_events();
        while let Ok(message) = self.ping.try_recv() {
            self.on_ping(message);
        }
        while let Ok(message) = self.server.try_recv() {
            self.on_server(message);
        }
        self.take_intervals();
        self.take_of_fleet();
        std::mem::take(&mut self.made)
    }

    /// Also collects the results of each worker separately.
    pub(super) fn divide_by_worker(&mut self) {
        self.of_workers.resize_with(self.rings.len(), || Assembly::new(1));
    }

    /// Returns the new results of each worker with the worker's number, after a call of `divide_by_worker`.
    pub(super) fn take_of_workers(&mut self) -> impl Iterator<Item = (usize, Interval)> {
        let intervals =
            |assembly: &mut Assembly| std::iter::from_fn(|| assembly.take()).flatten().collect::<Vec<_>>();
        let of_worker = move |(worker, assembly)| intervals(assembly).into_iter().map(move |it| (worker, it));
        self.of_workers.iter_mut().enumerate().flat_map(of_worker)
    }

    /// Returns the last tick (quarter second) for which all intervals were taken.
    pub(crate) fn complete_tick(&self) -> u64 {
        self.assembly.complete_tick()
    }

    /// Returns whether all workers have ended, so that their last reports can be read.
    pub(super) fn has_ended(&self) -> bool {
        self.fleet.is_none() && self.rings.iter().all(|ring| ring.intervals.is_abandoned())
    }

    fn take_of_fleet(&mut self) {
        while let Some(fleet) = &self.fleet {
            match fleet.try_recv() {
                Ok(record) => self.make(record),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => self.fleet = None,
            }
        }
    }

    /// Adds a record that the session itself has made about this target.
    pub(super) fn add_session_record(&mut self, record: &Record) {
        self.tally.push(record);
    }

    /// Adds a record of this machine's wake probe.
    pub(super) fn hear_wake(&mut self, record: &Record) {
        self.watches.push(record);
    }

    /// Ends the level shifts (lasting changes of figures) of a target that is only watched. The reason is that the load
    /// of another target has changed at `t_s`. A target with load has its own segments, and these segments end its
    /// level shifts.
    pub(super) fn hear_segment(&mut self, t_s: f64) {
        if self.is_watched {
            self.made.extend(self.watches.forget(t_s).into_iter().map(Record::Event));
        }
    }

    /// Adds the recall of a search. `of` is the search's workload and keyspace. The recall is ignored if the present
    /// segment has another workload or keyspace.
    pub(super) fn hear_recall(&mut self, recall: f64, of: &(Arc<Workload>, u64)) {
        let is_of = |knobs: &Knobs| (&knobs.workload, knobs.keyspace) == (&of.0, of.1);
        if self.knobs.values().next_back().is_some_and(is_of) {
            self.recalls = (self.recalls.0 + recall, self.recalls.1 + 1);
        }
    }

    /// Adds a pause of the process: its start and end, in nanoseconds of the session.
    pub(crate) fn pause(&mut self, pause: (u64, u64)) {
        self.pauses.push(pause);
        self.watches.pause(seconds(pause.1));
    }

    /// Records a pause as an event.
    pub(crate) fn report_pause(&mut self, (from_ns, to_ns): (u64, u64)) {
        self.event(to_ns, EventKind::Paused { length_s: seconds(to_ns.saturating_sub(from_ns)) });
    }

    /// Begins a segment, because the load settings have changed.
    pub(crate) fn begin_segment(&mut self, segment: Segment) {
        self.knobs.insert(segment.segment, segment.knobs.clone());
        self.recalls = (0.0, 0);
        self.connections.set_clients(segment.knobs.clients, nanoseconds(segment.t_s));
        self.make(Record::Segment(segment));
        let early = std::mem::take(&mut self.early);
        self.make_intervals(early);
    }

    /// Returns the summary so far.
    pub(super) fn summary(&self) -> &Summary {
        self.tally.summary()
    }

    /// Returns the remaining records. The last record is the end record.
    pub(super) fn end(mut self) -> Vec<Record> {
        let now_ns = self.clock.now_ns();
        let rest = self.connections.rest(now_ns).into_iter().chain(self.pings.rest(now_ns));
        rest.for_each(|(at_ns, what)| self.event(at_ns, what));
        self.made.push(Record::End(Box::new(self.tally.end(seconds(now_ns)))));
        self.made
    }

    fn take_load_events(&mut self) {
        while let Ok(event) = self.load_events.try_recv() {
            self.on_load_event(event);
        }
    }

    fn take_intervals(&mut self) {
        while let Ok(ring) = self.joined.try_recv() {
            self.rings.push(ring);
            self.assembly.join();
        }
        for (worker, ring) in self.rings.iter_mut().enumerate() {
            // The end of the worker is checked before its reports are read, so that no report is missed.
            let has_ended = ring.intervals.is_abandoned();
            while let Ok(buffer) = ring.intervals.pop() {
                self.assembly.add(worker, &buffer);
                self.of_workers.get_mut(worker).into_iter().for_each(|own| own.add(0, &buffer));
                ring.recycle(buffer);
            }
            if has_ended {
                self.assembly.end(worker);
                self.of_workers.get_mut(worker).into_iter().for_each(|own| own.end(0));
            }
        }
        while let Some(intervals) = self.assembly.take() {
            self.make_intervals(intervals);
        }
    }

    fn make_intervals(&mut self, mut intervals: Vec<Interval>) {
        let newest = self.newest_segment();
        self.early.extend(intervals.extract_if(.., |interval| interval.segment > newest));
        // Workers report some events before the end of their tick, such as a lost connection. Such events come before
        // the interval.
        self.take_load_events();
        for (at_ns, what) in self.connections.report(self.clock.now_ns()) {
            self.event(at_ns, what);
        }
        if let Some(earliest_s) = intervals.iter().map(|i| i.t_s - i.load_s()).reduce(f64::min) {
            self.connections.forget(nanoseconds(earliest_s));
        }
        for mut interval in intervals {
            interval.renumber(|node| Some(self.numbers.as_ref()?.0.of(node.into())));
            match &self.numbers {
                Some((Numbering { step: 1, .. }, cluster)) => {
                    interval.owners = cluster.topology().primaries().count() as u16; // at most 1 000
                }
                _ => interval.slots.clear(),
            }
            let left_s = self.pauses.left_s(interval.t_s, interval.length_s);
            if left_s < interval.length_s {
                interval.paused_s = interval.length_s - left_s;
                interval.length_s = left_s;
                interval.ops_per_s = if left_s > 0.0 { interval.ops as f64 / left_s } else { 0.0 };
            }
            let knobs = self.knobs.get(&interval.segment);
            let loaded = knobs.is_some_and(|knobs| knobs.load);
            if knobs.is_some_and(|knobs| knobs.rate.is_some()) {
                interval.response.get_or_insert_default();
            }
            let (from_s, to_s) = (interval.t_s - interval.load_s(), interval.t_s);
            if loaded && !interval.drain {
                interval.outage_s = self.connections.outage_s(nanoseconds(from_s), nanoseconds(to_s));
            }
            let Interval { errors, redirects, connections_lost, connects_failed, .. } = &mut interval;
            for counts in [errors, redirects, connections_lost, connects_failed] {
                self.kinds.limit(counts);
            }
            let parts = interval.commands.values_mut().chain(interval.nodes.values_mut());
            parts.for_each(|part| self.kinds.limit(&mut part.errors));
            // Without load, only the last replies of the previous segment are reported.
            if (loaded && !interval.is_late()) || !interval.is_blank() {
                self.make(Record::Interval(Box::new(interval)));
            }
        }
    }

    fn on_load_event(&mut self, event: LoadEvent) {
        match event {
            LoadEvent::Losses { worker, report } => self.connections.take(worker, &report),
            LoadEvent::Down { at_ns, worker } => self.connections.set_down(worker, true, at_ns),
            LoadEvent::Up { at_ns, worker } => self.connections.set_down(worker, false, at_ns),
            LoadEvent::Died { at_ns, cause } => self.event(at_ns, EventKind::WorkerDied { cause }),
            LoadEvent::FirstError { kind, message } => {
                let error = self.kinds.name(&kind).to_owned();
                if !self.tally.summary().first_errors.contains_key(&error) {
                    self.event(self.clock.now_ns(), EventKind::FirstError { error, message });
                }
            }
        }
    }

    fn on_ping(&mut self, message: probe::ProbeMessage) {
        match message {
            probe::ProbeMessage::Ping(mut report) => {
                self.kinds.limit(&mut report.body.errors);
                let lost = self.pings.report(report.end_ns);
                lost.into_iter().for_each(|(at_ns, what)| self.event(at_ns, what));
                self.make(Record::Ping(Box::new(self.pauses.span(*report))));
            }
            probe::ProbeMessage::ErrorReply { at_ns, kind: _, text: message } => {
                self.event(at_ns, EventKind::PingError { message });
            }
            probe::ProbeMessage::Lost { at_ns, kind, cause } => {
                let was_answered = kind.starts_with(|first: char| first.is_uppercase());
                let lost = self.pings.lost(at_ns, cause, was_answered);
                lost.into_iter().for_each(|(at_ns, what)| self.event(at_ns, what));
            }
            probe::ProbeMessage::Back { at_ns } => {
                let back = self.pings.back(at_ns);
                back.into_iter().for_each(|(at_ns, what)| self.event(at_ns, what));
            }
            // The collector handles the reports about this machine, failovers, replication lag and recall.
            _ => {}
        }
    }

    /// Makes records from a report of the control plane.
    pub(super) fn on_server(&mut self, message: server::ControlMessage) {
        match message {
            server::ControlMessage::Status { at_ns, mut status } => {
                self.replica.fill(at_ns, &mut status.gauges);
                let (sum, searches) = std::mem::take(&mut self.recalls);
                status.gauges.set(Gauge::Recall, (searches > 0).then(|| sum / f64::from(searches)));
                status.process_id.into_iter().for_each(|pid| self.pid.set(pid));
                self.make(Record::Server(Box::new(Moment::new(seconds(at_ns), *status))));
            }
            server::ControlMessage::Event { at_ns, what } => self.event(at_ns, what),
            server::ControlMessage::SetupRequests { at_ns, requests } => {
                let segment = self.newest_segment();
                let (t_s, tick) = (seconds(at_ns), tick_of(at_ns));
                self.make_intervals(vec![Interval { t_s, tick, segment, requests, ..Interval::default() }]);
            }
        }
    }

    /// Returns the number of the newest segment, or 0 before the first.
    fn newest_segment(&self) -> u32 {
        self.knobs.keys().next_back().copied().unwrap_or_default()
    }

    fn event(&mut self, at_ns: u64, what: EventKind) {
        self.make(Record::Event(Event::new(seconds(at_ns), what)));
    }

    /// Adds a record of this target, and the events that the record causes.
    pub(super) fn make(&mut self, record: Record) {
        let events = self.watches.push(&record);
        for record in std::iter::once(record).chain(events.into_iter().map(Record::Event)) {
            self.tally.push(&record);
            self.made.push(record);
        }
    }
}

#[cfg(test)]
mod tests;
