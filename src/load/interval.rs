//! What a worker counts between two ticks, for one segment.

use std::sync::Arc;

use super::{ClientCounts, ErrorCounts, ErrorKind, Setting};
use crate::{stats::Recorder, workload::Command};

/// One worker's counts of one segment over one stretch of time. It travels to the collector and comes back empty.
#[derive(Debug)]
pub struct IntervalBuffer {
    /// The segment: the generation of the knobs that its requests were written under.
    pub generation: u32,
    /// When the stretch began.
    pub start_ns: u64,
    /// When it ended. Equal to `start_ns` when only late replies to an earlier segment's requests are in it.
    pub end_ns: u64,
    /// The tick in which it was handed up: its end in multiples of [`TICK_NS`](crate::clock::TICK_NS).
    pub tick: u64,
    /// Whether this is the worker's last buffer of its tick.
    pub closes_tick: bool,
    /// Connections open at the end of the stretch.
    pub connected: u32,
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// GETs that found their key.
    pub hits: u64,
    /// GETs that did not.
    pub misses: u64,
    /// Requests that were due, by the schedule's count; in closed loop those that were sent.
    pub due: u64,
    /// Requests that were due and given up on purpose: they would have been too late, or the pace changed.
    pub shed: u64,
    /// Requests that were due and not sent when the load ended.
    pub owed: u64,
    /// How late the oldest request that was due and not sent was at most.
    pub behind_ns: u64,
    /// From when a request was due to the last byte of its reply, over all commands; empty in closed loop.
    pub response: Recorder,
    /// What the worker itself cost.
    pub client: ClientCounts,
    /// Requests that were due and could not be sent for want of a connection.
    pub errors: ErrorCounts,
    /// Connections that were lost.
    pub connections_lost: ErrorCounts,
    /// Attempts to connect that failed.
    pub connects_failed: ErrorCounts,
    /// Counts by command, in the order of [`Command::ALL`].
    pub commands: [CommandCounts; Command::ALL.len()],
    /// What the knobs of a segment that ended leave over, up to 300 MiB: freed by the collector, since a worker would
    /// have to stop for it.
    pub(super) spent: Option<(Arc<Setting>, Vec<u8>)>,
}

/// How many good replies there were to one command.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Good {
    /// Those that are not null.
    pub(super) values: u32,
    /// Nulls.
    pub(super) nils: u32,
}

/// Counts of one command.
#[derive(Debug, Default)]
pub struct CommandCounts {
    /// Good replies.
    pub ops: u64,
    /// Errors.
    pub errors: ErrorCounts,
    /// From the write of a request to the last byte of its reply.
    pub service: Recorder,
}

impl IntervalBuffer {
    /// An empty buffer.
    pub(super) fn new() -> Box<Self> {
        Box::new(Self {
            generation: 0,
            start_ns: 0,
            end_ns: 0,
            tick: 0,
            closes_tick: false,
            connected: 0,
            bytes_in: 0,
            bytes_out: 0,
            hits: 0,
            misses: 0,
            due: 0,
            shed: 0,
            owed: 0,
            behind_ns: 0,
            response: Recorder::new(),
            client: ClientCounts::default(),
            errors: ErrorCounts::default(),
            connections_lost: ErrorCounts::default(),
            connects_failed: ErrorCounts::default(),
            commands: Default::default(),
            spent: None,
        })
    }

    /// Begins a stretch of `generation` at `start_ns`. The buffer is empty.
    pub(super) fn begin(&mut self, generation: u32, start_ns: u64) {
        self.generation = generation;
        self.start_ns = start_ns;
        self.end_ns = start_ns;
    }

    /// Forgets everything, and keeps the memory. It goes over up to a megabyte and a half of cells, so it is not for
    /// the thread that measures.
    pub(super) fn clear(&mut self) {
        self.closes_tick = false;
        self.connected = 0;
        self.bytes_in = 0;
        self.bytes_out = 0;
        self.hits = 0;
        self.misses = 0;
        self.due = 0;
        self.shed = 0;
        self.owed = 0;
        self.behind_ns = 0;
        self.response.reset();
        self.client.clear();
        self.errors.clear();
        self.connections_lost.clear();
        self.connects_failed.clear();
        for counts in &mut self.commands {
            counts.ops = 0;
            counts.errors.clear();
            counts.service.reset();
        }
        self.spent = None;
    }

    /// Counts good replies that one wake-up brought, each of them `service_ns` after its request was written.
    #[inline]
    pub(super) fn count_good(&mut self, command: Command, good: Good, service_ns: u64) {
        if command == Command::Get {
            self.hits += u64::from(good.values);
            self.misses += u64::from(good.nils);
        }
        let n = u64::from(good.values + good.nils);
        let counts = &mut self.commands[command.index()];
        counts.ops += n;
        counts.service.record_n(service_ns, n);
    }

    /// Counts the error that a request was answered with. Whether it was the first of its kind here.
    pub(super) fn count_error(&mut self, command: Command, line: &[u8]) -> bool {
        self.commands[command.index()].errors.count_line(line)
    }

    /// Counts a request that got no reply.
    pub(super) fn count_lost(&mut self, command: Command, kind: &ErrorKind) {
        self.commands[command.index()].errors.count(kind, 1);
    }
}
