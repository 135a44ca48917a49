//! The counts of a load worker in 250 ms (a tick), for one segment. A segment is the time between two changes of the
//! settings.

use std::sync::Arc;

use super::{ByNode, ClientCounts, ErrorCounts, LoadSetting, ReceivedCounts};
use crate::{
    protocol::GreetingCommand,
    stats::Recorder,
    workload::{Operations, OutgoingRequests},
};

/// The counts of one worker for one segment during one interval. A worker is a thread of the load. A segment is the
/// time between two changes of the settings. The worker sends the buffer to the collector. The collector adds up the
/// counts of all workers, clears the buffer and returns it. The buffer is aligned to 128 bytes, so it shares no cache
/// lines with other data. An alignment to one line of 64 bytes is not enough, because processors fetch two lines at a
/// time.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct IntervalBuffer {
    /// The number of the segment in which the counted requests were written.
    pub generation: u32,
    /// The time when the interval began, in ns.
    pub start_ns: u64,
    /// The time when the interval ended, in ns.
    pub end_ns: u64,
    /// Whether the interval began after the end of its segment, or after the end of the load.
    pub drain: bool,
    /// How many operations of the segment waited for a reply when the worker sent the buffer to the collector.
    pub in_flight: u64,
    /// The number of the worker's tick: the end time of the tick divided by
    /// [`TICK_NS`](crate::clock::TICK_NS).
    pub tick: u64,
    /// Whether this is the worker's last buffer of its tick.
    pub closes_tick: bool,
    /// Clients that were connected at the end of the interval. A client that is replacing its connection on
    /// purpose is included.
    pub connected: u32,
    /// Bytes read.
    pub bytes_in: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// RESP3 pushes, which the server sends without a request, such as the invalidations of CLIENT TRACKING.
    pub pushes: u64,
    /// Requests that were due by the schedule. In a closed loop, these are the sent requests.
    pub due: u64,
    /// Due requests that were dropped on purpose, because they were too late or the pace changed.
    pub shed: u64,
    /// Due requests that were not sent when the load ended.
    pub unsent: u64,
    /// The longest time that a request waited to be sent after its due time, in ns.
    pub behind_ns: u64,
    /// How long the oldest unanswered request had waited at the end of the interval, in ns. This wait is measured
    /// only if the interval had fewer replies than connections.
    pub waiting_ns: u64,
    /// The worker's own cost.
    pub client: ClientCounts,
    /// Due requests that failed because there was no connection, by kind of error.
    pub errors: ErrorCounts,
    /// Requests that a node of a cluster temporarily refused, by kind. Refused requests are sent again, and do not
    /// count as errors. Reads that went to a primary because no replica answered are counted here too.
    pub redirects: ErrorCounts,
    /// Connections that opened.
    pub openings: Openings,
    /// Connections that were lost.
    pub connections_lost: ErrorCounts,
    /// Attempts to connect that failed.
    pub connects_failed: ErrorCounts,
    /// The names and expected replies of the segment's operations.
    pub operations: Arc<Operations>,
    /// Counts by operation, in the order of `operations`.
    pub counts: Vec<OperationCounts>,
    /// Counts by node of a cluster. Without a cluster, these counts are empty.
    pub by_node: ByNode,
    /// The messages that the receivers of the workload got. Only the buffers of the receivers' thread have
    /// this field.
    pub arrived: Option<Box<ReceivedCounts>>,
    /// The data of a replaced setting, up to 300 MiB. The collector frees this memory, so the worker loses no time.
    pub(super) spent: Option<(Arc<LoadSetting>, OutgoingRequests)>,
}

/// The counts of one operation, which share no cache lines with other data.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct OperationCounts {
    /// Operations that were answered without an error.
    pub ops: u64,
    /// Replies that found the requested data.
    pub hits: u64,
    /// Replies that did not find the requested data.
    pub misses: u64,
    /// Replies that report that another client had changed the data.
    pub conflicts: u64,
    /// Operations that were answered without an error, with at least one miss.
    pub not_found: u64,
    /// Operations whose last reply has arrived, with or without an error.
    pub answered: u64,
    /// Operations with an error, by the kind of their first error.
    pub errors: ErrorCounts,
    /// Bytes read as replies to these operations.
    pub bytes_in: u64,
    /// Bytes of the requests of these operations, including later steps that are not written yet.
    pub bytes_out: u64,
    /// Latencies from the write of an operation to the last byte of its last reply.
    pub service: Recorder,
    /// Latencies from an operation's due time to the last byte of its last reply. In a closed loop, there are no such
    /// latencies.
    pub response: Recorder,
    /// The times of the steps of an operation with several steps. `None` until a step is answered.
    pub steps: Option<Box<StepRecorders>>,
}

/// The times of the steps of an operation with several steps. If a step has an error, only the time of this step is
/// missing.
#[derive(Debug, Default)]
pub struct StepRecorders {
    /// Latencies of the first step, from its write to its reply.
    pub first: Recorder,
    /// Latencies from an operation's due time to the reply to its first step. The histogram is empty in a closed
    /// loop.
    pub first_response: Recorder,
    /// Replies to first steps that are misses.
    pub missed: u64,
    /// Latencies of all later steps together, from the write of the second step to the last reply.
    pub later: Recorder,
}

impl IntervalBuffer {
    /// Begins an interval of segment `generation` at `start_ns`. The buffer must be empty.
    pub(super) fn begin(&mut self, generation: u32, operations: &Arc<Operations>, start_ns: u64) {
        self.generation = generation;
        self.operations = Arc::clone(operations);
        self.resize(operations.count());
        self.start_ns = start_ns;
        self.end_ns = start_ns;
    }

    /// Notes that the oldest unsent request has waited `behind_ns` since its due time.
    #[inline]
    pub(super) fn late_by(&mut self, behind_ns: u64) {
        self.behind_ns = self.behind_ns.max(behind_ns);
    }

    /// Makes room for the counts of this many operations.
    pub(super) fn resize(&mut self, operations: usize) {
        self.counts.resize_with(operations, OperationCounts::default);
    }

    /// Clears all counts and keeps the memory. A worker must not call this function, because the function writes to
    /// much memory and takes long.
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
        self.client.clear();
        self.errors.clear();
        self.redirects.clear();
        self.openings.clear();
        self.connections_lost.clear();
        self.connects_failed.clear();
        self.counts.iter_mut().for_each(OperationCounts::clear);
        self.by_node.clear();
        self.arrived = None;
        self.spent = None;
    }
}

impl OperationCounts {
    /// Counts `n` operations without an error. Each of these operations was answered `service_ns` after its write.
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
        self.not_found = 0;
        self.answered = 0;
        self.errors.clear();
        self.bytes_in = 0;
        self.bytes_out = 0;
        self.service.reset();
        self.response.reset();
        if let Some(steps) = &mut self.steps {
            steps.first.reset();
            steps.first_response.reset();
            steps.missed = 0;
            steps.later.reset();
        }
    }
}

/// How long each stage of opening a connection took, in ns. Opening a connection is not an operation and is
/// measured separately.
///
/// ```text
/// connect ──► TLS handshake ──► greeting ──► the first request may go
/// ```
#[derive(Debug, Default)]
pub struct Openings {
    /// Times from the first attempt to connect until the socket is connected.
    pub connects: Vec<u64>,
    /// Times from the connected socket to the end of the TLS handshake. Without TLS, there are no such times.
    pub handshakes: Vec<u64>,
    /// Times from the end of the TLS handshake to the last reply to the greeting.
    pub greetings: Vec<u64>,
    /// The greeting commands that were answered.
    pub answered: Vec<GreetingCommand>,
}

impl Openings {
    /// Clears all times.
    pub(super) fn clear(&mut self) {
        self.connects.clear();
        self.handshakes.clear();
        self.greetings.clear();
        self.answered.clear();
    }
}
