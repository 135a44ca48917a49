//! What a worker counts between two ticks, for one segment.

use std::sync::Arc;

use super::{ClientCounts, ErrorCounts, Setting};
use crate::{
    protocol::Step,
    stats::Recorder,
    workload::{Operations, Outgoing},
};

/// One worker's counts of one segment over one stretch of time. It travels to the collector and comes back empty.
#[derive(Debug)]
pub struct IntervalBuffer {
    /// The segment: the generation of the knobs that its requests were written under.
    pub generation: u32,
    /// When the stretch began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Whether it holds what came after the end of the segment, or of the load.
    pub drain: bool,
    /// Operations of the segment that waited for a reply when it was handed up.
    pub in_flight: u64,
    /// The tick in which it was handed up: its end in multiples of [`TICK_NS`](crate::clock::TICK_NS).
    pub tick: u64,
    /// Whether this is the worker's last buffer of its tick.
    pub closes_tick: bool,
    /// Clients with a connection at the end of the stretch, or between two on purpose.
    pub connected: u32,
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// What servers said unasked: pushes of RESP3, such as the invalidations of CLIENT TRACKING.
    pub pushes: u64,
    /// Requests that were due, by the schedule's count; in closed loop those that were sent.
    pub due: u64,
    /// Requests that were due and given up on purpose: they would have been too late, or the pace changed.
    pub shed: u64,
    /// Requests that were due and not sent when the load ended.
    pub unsent: u64,
    /// How late the oldest request that was due and not sent was at most.
    pub behind_ns: u64,
    /// How long the oldest request without a reply had been waiting at the end of the stretch, since it was written; known
    /// where fewer replies came than there were connections.
    pub waiting_ns: u64,
    /// From when a request was due to the last byte of its reply, over all commands; empty in closed loop.
    pub response: Recorder,
    /// What the worker itself cost.
    pub client: ClientCounts,
    /// Requests that were due and could not be sent for want of a connection.
    pub errors: ErrorCounts,
    /// Connections that opened.
    pub openings: Openings,
    /// Connections that were lost.
    pub connections_lost: ErrorCounts,
    /// Attempts to connect that failed.
    pub connects_failed: ErrorCounts,
    /// What the operations of the segment are called and answered with.
    pub operations: Arc<Operations>,
    /// Counts by operation, in their order.
    pub counts: Vec<OperationCounts>,
    /// What the knobs of a segment that ended leave over, up to 300 MiB: freed by the collector, since a worker would
    /// have to stop for it.
    pub(super) spent: Option<(Arc<Setting>, Outgoing)>,
}

/// Counts of one operation.
#[derive(Debug, Default)]
pub struct OperationCounts {
    /// Those that were answered, and without an error.
    pub ops: u64,
    /// Replies that found what was asked for.
    pub hits: u64,
    /// Replies that did not.
    pub misses: u64,
    /// Replies that found it changed by another.
    pub conflicts: u64,
    /// Those that were answered to the last reply, with or without an error.
    pub answered: u64,
    /// Errors; an operation has one at the most.
    pub errors: ErrorCounts,
    /// Bytes read as replies to them.
    pub bytes_in: u64,
    /// Bytes written of them, with those of steps that are written later.
    pub bytes_out: u64,
    /// From the write of an operation to the last byte of its last reply.
    pub service: Recorder,
}

impl IntervalBuffer {
    /// An empty buffer.
    pub(super) fn new() -> Box<Self> {
        Box::new(Self {
            generation: 0,
            start_ns: 0,
            end_ns: 0,
            drain: false,
            in_flight: 0,
            tick: 0,
            closes_tick: false,
            connected: 0,
            bytes_in: 0,
            bytes_out: 0,
            pushes: 0,
            due: 0,
            shed: 0,
            unsent: 0,
            behind_ns: 0,
            waiting_ns: 0,
            response: Recorder::new(),
            client: ClientCounts::default(),
            errors: ErrorCounts::default(),
            openings: Openings::default(),
            connections_lost: ErrorCounts::default(),
            connects_failed: ErrorCounts::default(),
            operations: Arc::default(),
            counts: Vec::new(),
            spent: None,
        })
    }

    /// Begins a stretch of `generation` at `start_ns`, in which these operations are asked for. The buffer is empty.
    pub(super) fn begin(&mut self, generation: u32, operations: &Arc<Operations>, start_ns: u64) {
        self.generation = generation;
        self.operations = Arc::clone(operations);
        self.resize(operations.count());
        self.start_ns = start_ns;
        self.end_ns = start_ns;
    }

    /// The oldest request that was due and not sent was so late.
    #[inline]
    pub(super) fn late_by(&mut self, behind_ns: u64) {
        self.behind_ns = self.behind_ns.max(behind_ns);
    }

    /// Has counts for so many operations.
    pub(super) fn resize(&mut self, operations: usize) {
        self.counts.resize_with(operations, OperationCounts::default);
    }

    /// Forgets everything, and keeps the memory. It goes over many cells, so it is not for the thread that measures.
    pub(super) fn clear(&mut self) {
        self.drain = false;
        self.in_flight = 0;
        self.closes_tick = false;
        self.connected = 0;
        self.bytes_in = 0;
        self.bytes_out = 0;
        self.pushes = 0;
        self.due = 0;
        self.shed = 0;
        self.unsent = 0;
        self.behind_ns = 0;
        self.waiting_ns = 0;
        self.response.reset();
        self.client.clear();
        self.errors.clear();
        self.openings.clear();
        self.connections_lost.clear();
        self.connects_failed.clear();
        self.counts.iter_mut().for_each(OperationCounts::clear);
        self.spent = None;
    }
}

impl OperationCounts {
    /// Counts `n` operations that were answered without an error, each `service_ns` after it was written.
    #[inline]
    pub(super) fn count_good(&mut self, n: u64, service_ns: u64) {
        self.ops += n;
        self.answered += n;
        self.service.record_n(service_ns, n);
    }

    fn clear(&mut self) {
        self.ops = 0;
        self.hits = 0;
        self.misses = 0;
        self.conflicts = 0;
        self.answered = 0;
        self.errors.clear();
        self.bytes_in = 0;
        self.bytes_out = 0;
        self.service.reset();
    }
}

/// What the connections that opened took, in nanoseconds a stage each: no operations, and timed beside them.
///
/// ```text
/// connect ──► TLS handshake ──► greeting ──► the first request may go
/// ```
#[derive(Debug, Default)]
pub struct Openings {
    /// From the first attempt to the socket's connection.
    pub connects: Vec<u64>,
    /// From there to the end of the TLS handshake; empty without TLS.
    pub handshakes: Vec<u64>,
    /// From there to the last reply to the greeting.
    pub greetings: Vec<u64>,
    /// The commands of greetings that were answered.
    pub answered: Vec<Step>,
}

impl Openings {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.connects.clear();
        self.handshakes.clear();
        self.greetings.clear();
        self.answered.clear();
    }
}
