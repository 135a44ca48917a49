//! Counts the replies of a load worker for each segment. A segment is the time between two changes of the settings.
//! Several segments can be open: the current segment, and earlier segments that still wait for replies.
//!
//! ```text
//!  knobs change        ▼ cut
//!  ── segment 1 ───────┼── segment 2 ──────────
//!      request written ─ ─ ─ reply              counts for segment 1
//! ```
//! A request belongs to the segment in which it was written, so a percentile never mixes two settings. After a
//! change of the knobs, the old segment stays open until its last reply arrives.
//!
//! The length of an interval includes only time under load. Time under load begins with the first connection or the
//! first failure to connect. Time under load ends with the load. An interval before the first connection has length 0.
//! After the end of a segment or of the load, the last replies are counted in a separate interval, the *drain* of the
//! segment. The drain ends with the segment's last reply.

use std::sync::Arc;

use super::{IntervalBuffer, LoadSetting, WorkerRing, open_segment::OpenSegment, replies::Replies};
use crate::{
    clock::{next_tick_ns, tick_of},
    endpoint::NodeNumber,
    workload::{Operations, OutgoingRequests},
};

/// The current segment, and the earlier segments that still wait for replies.
pub(super) struct WorkerSegments {
    current: OpenSegment,
    /// Earlier segments that still wait for replies, with their drains.
    earlier: Vec<OpenSegment>,
    /// Intervals that ended since the last tick. A tick is 250 ms long. At the end of the current tick, the worker
    /// sends these intervals to the collector.
    #[allow(clippy::vec_box, reason = "a buffer stays in its `Box` on the way through the ring and back")]
    ended: Vec<Box<IntervalBuffer>>,
    ring: WorkerRing,
    /// Whether the time under load has begun. `is_over` says whether this time has ended.
    has_begun: bool,
    is_over: bool,
}

impl WorkerSegments {
    /// Creates the segments of a worker. The first segment has the number `generation` and these operations.
    pub(super) fn new(
        generation: u32,
        operations: &Arc<Operations>,
        now_ns: u64,
        mut ring: WorkerRing,
    ) -> Self {
        let mut buffer = ring.empty();
        buffer.begin(generation, operations, now_ns);
        let current = OpenSegment::new(generation, operations, buffer);
        Self { current, earlier: Vec::new(), ended: Vec::new(), ring, has_begun: false, is_over: false }
    }

    /// Begins the time under load, because a connection is open or could not be opened.
    pub(super) fn begin(&mut self, now_ns: u64) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.current.buffer.start_ns = now_ns;
        }
    }

    /// Ends the time under load at `at_ns`. Later replies belong to the drain.
    pub(super) fn end(&mut self, at_ns: u64, connected: u32) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.end_stretch(at_ns, connected);
            self.begin_drain();
        }
    }

    /// Continues an ended load, as if the load had not ended.
    pub(super) fn resume(&mut self) {
        self.is_over = false;
        self.current.buffer.drain = false;
    }

    /// Continues an ended load at `at_ns`, at the beginning of a new segment.
    pub(super) fn begin_again(&mut self, at_ns: u64) {
        self.resume();
        let buffer = &mut self.current.buffer;
        (buffer.start_ns, buffer.end_ns) = (at_ns, at_ns);
    }

    /// Ends the interval of the current segment, or extends its drain.
    fn end_stretch(&mut self, now_ns: u64, connected: u32) {
        let (buffer, has_begun) = (&mut self.current.buffer, self.has_begun);
        buffer.connected = connected;
        if buffer.drain {
            self.current.end_drain(now_ns);
            return;
        }
        buffer.end_ns = now_ns.max(buffer.start_ns);
        if !has_begun {
            buffer.start_ns = buffer.end_ns;
        }
    }

    /// Begins the drain of the current segment.
    fn begin_drain(&mut self) {
        if !self.current.buffer.drain {
            let mut drain = self.current.next_buffer(&mut self.ring);
            drain.drain = true;
            self.ended.push(std::mem::replace(&mut self.current.buffer, drain));
        }
    }

    /// Returns the number of the current segment. Requests that are written now belong to this segment.
    pub(super) fn generation(&self) -> u32 {
        self.current.generation
    }

    /// Returns how many operations in all segments wait for a reply.
    pub(super) fn in_flight(&self) -> u64 {
        self.current.in_flight + self.earlier.iter().map(|open| open.in_flight).sum::<u64>()
    }

    /// Passes a replaced setting and an old batch to the collector. The collector frees their memory.
    pub(super) fn leave(&mut self, setting: Arc<LoadSetting>, batch: OutgoingRequests) {
        self.current.buffer.spent = Some((setting, batch));
    }

    /// Ends the current segment at `at_ns`, with `connected` connections, and begins segment `generation` with
    /// these operations.
    pub(super) fn cut(&mut self, generation: u32, operations: &Arc<Operations>, at_ns: u64, connected: u32) {
        self.end_stretch(at_ns, connected);
        let mut buffer = self.ring.empty();
        buffer.begin(generation, operations, self.current.buffer.end_ns);
        buffer.drain = self.is_over;
        self.begin_drain();
        let next = OpenSegment::new(generation, operations, buffer);
        let old = std::mem::replace(&mut self.current, next);
        if old.in_flight > 0 {
            self.earlier.push(old);
        } else {
            self.ended.push(old.buffer);
        }
    }

    /// Notes that a batch was written in the current segment.
    pub(super) fn wrote(&mut self, operations: usize, bytes: usize) {
        self.current.in_flight += operations as u64;
        self.current.buffer.bytes_out += bytes as u64;
    }

    /// Notes that bytes were written to `node`, which is `None` without a cluster.
    pub(super) fn wrote_to(&mut self, node: Option<NodeNumber>, bytes: usize) {
        self.wrote(0, bytes);
        if let Some(node) = node {
            self.current.buffer.by_node.wrote(node, bytes as u64);
        }
    }

    /// Returns a counter for replies to a batch of segment `generation`. The replies arrived at `now_ns`,
    /// `service_ns` after the batch was written.
    pub(super) fn replies(&mut self, generation: u32, now_ns: u64, service_ns: u64) -> Replies<'_> {
        let open = if self.current.generation == generation {
            &mut self.current
        } else {
            let earlier = self.earlier.iter_mut().find(|open| open.generation == generation);
            earlier.expect("a segment stays open while requests of it are in flight")
        };
        if open.buffer.drain {
            open.buffer.end_ns = open.buffer.end_ns.max(now_ns);
        }
        Replies::new(&mut open.in_flight, &mut open.buffer, &mut open.taken, service_ns)
    }

    /// Returns the counts of the current segment.
    #[inline]
    pub(super) fn counts(&mut self) -> &mut IntervalBuffer {
        &mut self.current.buffer
    }

    /// Returns how many requests were answered since the last tick.
    pub(super) fn answered(&self) -> u64 {
        let open = self.earlier.iter().chain([&self.current]).map(|open| &open.buffer);
        open.chain(&self.ended).flat_map(|buffer| &buffer.counts).map(|counts| counts.answered).sum()
    }

    /// Sends the last counts to the collector. Waits until the ring has room or the collector is gone.
    pub(super) fn finish(&mut self, now_ns: u64, connected: u32) {
        while !self.has_room() && !self.ring.is_abandoned() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // The current tick.
        self.close_tick(tick_of(next_tick_ns(now_ns)), now_ns, connected);
    }

    /// Ends the interval that belongs to tick number `tick`. Sends the counts of every open segment to the collector,
    /// and continues with empty counts. If the ring has no room, the interval continues, so that no count is lost.
    pub(super) fn close_tick(&mut self, tick: u64, now_ns: u64, connected: u32) {
        if !self.has_room() {
            return;
        }
        for mut buffer in self.ended.drain(..) {
            buffer.tick = tick;
            self.ring.send(buffer);
        }
        for mut open in std::mem::take(&mut self.earlier) {
            open.end_drain(now_ns);
            if open.in_flight > 0 {
                open.send_counts(tick, &mut self.ring);
                self.earlier.push(open);
            } else {
                open.buffer.tick = tick;
                self.ring.send(open.buffer);
            }
        }
        self.end_stretch(now_ns, connected);
        self.current.buffer.closes_tick = true;
        self.current.send_counts(tick, &mut self.ring);
    }

    /// Returns whether the ring has room for all buffers of a tick.
    fn has_room(&self) -> bool {
        self.ring.room() > self.earlier.len() + self.ended.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        load::{ErrorKind, RingEnd, ring, testing},
        workload::OpId,
    };

    /// Creates a segment of GETs and SETs.
    fn of_one() -> (WorkerSegments, RingEnd) {
        let (ring, collector) = ring::pair(2);
        (WorkerSegments::new(1, testing::program().operations(), 0, ring), collector)
    }

    fn begun() -> (WorkerSegments, RingEnd) {
        let (mut segments, collector) = of_one();
        segments.begin(0);
        (segments, collector)
    }

    fn op(label: &str) -> OpId {
        testing::program().operations().find(label).unwrap()
    }

    fn cut(segments: &mut WorkerSegments, connected: u32) {
        segments.cut(2, testing::program().operations(), 100, connected);
    }

    fn answer(segments: &mut WorkerSegments, generation: u32, label: &str, is_null: bool) {
        let mut replies = segments.replies(generation, 130, 5);
        replies.take_good(op(label), 5, is_null, None);
        replies.settle();
    }

    #[test]
    fn a_reply_counts_for_the_segment_in_which_its_request_was_written() {
        let (mut segments, mut collector) = begun();
        segments.wrote(2, 20);
        answer(&mut segments, 1, "GET", false);
        cut(&mut segments, 7);
        segments.wrote(1, 10);
        answer(&mut segments, 1, "GET", true);
        answer(&mut segments, 2, "SET", false);
        segments.close_tick(1, 250, 9);

        let first = collector.intervals.pop().unwrap();
        assert_eq!((first.generation, first.start_ns, first.end_ns, first.closes_tick), (1, 0, 100, false));
        let gets = &first.counts[0];
        assert_eq!((gets.hits, gets.misses, first.bytes_out, first.connected), (1, 0, 20, 7));
        let late = collector.intervals.pop().unwrap();
        let figures = (late.generation, late.drain, late.counts[0].misses, late.start_ns, late.end_ns);
        assert_eq!(figures, (1, true, 1, 100, 130));
        let second = collector.intervals.pop().unwrap();
        assert_eq!(
            (second.generation, second.start_ns, second.end_ns, second.closes_tick),
            (2, 100, 250, true)
        );
        assert_eq!((first.tick, second.tick, second.connected), (1, 1, 9));
        assert_eq!(second.counts[1].ops, 1);
        assert!(segments.earlier.is_empty());
    }

    #[test]
    fn requests_that_waited_for_a_core_are_counted_with_their_response_time_in_an_open_loop() {
        let (mut segments, mut collector) = of_one();
        segments.wrote(4, 40);
        for (held, response_ns) in [(true, None), (false, None), (true, Some(900)), (false, Some(800))] {
            let mut replies = segments.replies(1, 250, 5);
            replies.held = held;
            replies.take_good(op("GET"), 5, false, response_ns);
            replies.settle();
        }
        segments.close_tick(1, 250, 1);
        let interval = collector.intervals.pop().unwrap();
        assert_eq!(interval.client.held.latency().cells().collect::<Vec<_>>(), [(5, 1), (900, 1)]);
    }

    #[test]
    fn a_segment_stays_open_for_its_late_replies_in_a_drain() {
        let (mut segments, mut collector) = begun();
        segments.wrote(2, 20);
        cut(&mut segments, 1);
        answer(&mut segments, 1, "GET", false);
        segments.close_tick(1, 250, 1);
        segments.replies(1, 400, 0).count_lost(&[op("GET")], false, &ErrorKind::Reset);
        segments.close_tick(2, 500, 1);

        let of_first: Vec<_> = std::iter::from_fn(|| collector.intervals.pop().ok())
            .filter(|b| b.generation == 1)
            .map(|b| {
                ((b.start_ns, b.end_ns, b.drain), b.in_flight, b.counts[0].ops, b.counts[0].errors.is_empty())
            })
            .collect();
        let first = ((0, 100, false), 0, 0, true);
        assert_eq!(of_first, [first, ((100, 250, true), 1, 1, true), ((250, 400, true), 0, 0, false)]);
        assert_eq!(segments.in_flight(), 0);
    }

    /// A load of 1.1 s was once reported as 91.5 requests/s instead of 45.5. The load had 50 clients, and the server
    /// took 1 s per reply.
    #[test]
    fn replies_after_the_end_are_in_no_interval_of_the_load() {
        let (mut segments, mut collector) = begun();
        segments.wrote(3, 30);
        answer(&mut segments, 1, "GET", false);
        segments.end(110, 1);
        answer(&mut segments, 1, "GET", false);
        segments.close_tick(1, 250, 1);
        answer(&mut segments, 1, "SET", false);
        segments.finish(300, 1);
        let intervals: Vec<_> = std::iter::from_fn(|| collector.intervals.pop().ok())
            .map(|b| (b.start_ns, b.end_ns, b.drain, b.counts.iter().map(|counts| counts.ops).sum::<u64>()))
            .collect();
        assert_eq!(intervals, [(0, 110, false, 1), (110, 250, true, 1), (250, 250, true, 1)]);
    }

    /// Freeing a value pool of 64 MiB takes milliseconds. During this time, a worker could read no reply.
    #[test]
    fn the_collector_frees_a_replaced_setting() {
        let (mut segments, mut collector) = of_one();
        let setting = Arc::new(LoadSetting::fixture(1));
        let old = Arc::downgrade(&setting);
        segments.leave(setting, OutgoingRequests::whole(vec![0; 1000]));
        cut(&mut segments, 1);
        segments.close_tick(1, 250, 1);
        assert!(old.upgrade().is_some());
        let full = collector.intervals.pop().unwrap();
        collector.recycle(full);
        assert!(old.upgrade().is_none());
    }

    #[test]
    fn no_counts_are_lost_while_the_collector_is_away() {
        let (mut segments, mut collector) = begun();
        for tick in 1..=1000 {
            segments.wrote(1, 1);
            answer(&mut segments, 1, "GET", false);
            segments.close_tick(tick, tick, 1);
        }
        let mut taken = 0;
        while let Ok(buffer) = collector.intervals.pop() {
            taken += buffer.counts[0].hits;
        }
        segments.close_tick(1001, 1001, 1);
        taken += collector.intervals.pop().unwrap().counts[0].hits;
        assert_eq!(taken, 1000);
    }

    /// Time under load excludes the waits for the first connection and for the last replies.
    #[test]
    fn time_counts_from_the_first_connection_to_the_end_of_the_load() {
        let (mut segments, mut collector) = of_one();
        segments.close_tick(1, 250, 0);
        segments.begin(300);
        segments.begin(400);
        segments.close_tick(2, 500, 1);
        segments.end(600, 1);
        segments.close_tick(3, 750, 1);
        segments.finish(900, 1);
        let stretches: Vec<_> = std::iter::from_fn(|| collector.intervals.pop().ok())
            .map(|b| (b.start_ns, b.end_ns, b.drain))
            .collect();
        let load = [(250, 250, false), (300, 500, false), (500, 600, false)];
        assert_eq!(stretches, [&load[..], &[(600, 600, true), (600, 600, true)]].concat());
    }
}
