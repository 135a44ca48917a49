//! Decides when a load worker may send. In a closed loop, a worker may send as soon as a client is free. In an open
//! loop, a worker may send when a request is due.
//!
//! ```text
//! closed   a client writes when its last batch is answered
//! open     due ──► sent             a connection is free
//!              ├─► waits, then sent  none is free              (Backlog::Queue)
//!              ├─► shed              none is free for 10 ms    (Backlog::Shed)
//!              ├─► shed              the rate changed before it could be sent
//!              ├─► unsent            the load ended, or was switched off, before it could be sent
//!              └─► failed            there is no connection at all
//! ```
//! Each due request ends in exactly one way: sent, shed, unsent or failed. This module does no I/O and reads no
//! clock.

use std::ops::RangeInclusive;

use super::{alarm::window, schedule::Schedule};
use crate::{
    knobs::{Arrivals, Backlog, Knobs, SHED_AFTER_NS},
    workload::{DueTimes, Share},
};

/// The pace of one worker.
#[derive(Debug, Default)]
pub(super) struct WorkerPace {
    /// The inputs of the schedule. `None` means a closed loop, or no load.
    source: Option<ScheduleKey>,
    schedule: Option<Schedule>,
    backlog: Backlog,
    /// Whether the schedule has begun. The first request is due when the worker has opened its first connection, or
    /// failed to open it.
    begun: bool,
    /// The number of due requests of earlier schedules that [`take_due`](Self::take_due) has not counted yet.
    uncounted: u64,
    /// [`take_due`](Self::take_due) has counted the requests of the current schedule up to this position.
    counted: u64,
    /// The slip of the clock; see [`slip_to`](Self::slip_to).
    slip_ns: i64,
}

/// The inputs of a schedule. A schedule stays the same until one of its inputs changes.
#[derive(Debug, Clone, PartialEq)]
struct ScheduleKey {
    rate: u32,
    arrivals: Arrivals,
    share: Share,
    /// The times of the requests, if a file has them.
    times: Option<DueTimes>,
}

impl WorkerPace {
    /// Creates the pace of a closed loop.
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// From `since_ns` on, follows the pace of `knobs`. `share` is `None` for a worker without clients. Returns how
    /// many due requests are dropped because the pace changes. Requests of the new pace become due only after a call
    /// of [`begin`](Self::begin).
    pub(super) fn follow(&mut self, knobs: &Knobs, share: Option<Share>, since_ns: u64, seed: u64) -> u64 {
        self.backlog = knobs.backlog;
        let source = knobs.rate.filter(|_| knobs.load).zip(share).map(|(rate, share)| ScheduleKey {
            rate,
            arrivals: knobs.arrivals,
            share,
            times: knobs.times.clone().filter(|_| knobs.arrivals == Arrivals::Times),
        });
        if source == self.source {
            return 0;
        }
        let unsent = self.give_up(since_ns);
        self.uncounted = self.take_due();
        let schedule = |s: ScheduleKey| match s.times {
            Some(times) => Schedule::of_times(times, s.rate, since_ns),
            None => Schedule::new(s.arrivals, f64::from(s.rate), s.share, since_ns, seed),
        };
        self.schedule = source.clone().map(schedule);
        self.schedule.iter_mut().for_each(|schedule| schedule.slipped_ns = self.slip_ns as f64);
        self.source = source;
        self.counted = 0;
        self.begun = false;
        unsent
    }

    /// Corrects the schedule gradually, because the clock of this process differs from the schedule's clock by
    /// `slip_ns`. The difference changes slowly. Call this function four times a second.
    pub(super) fn slip_to(&mut self, slip_ns: i64) {
        self.slip_ns = slip_ns;
        if let Some(schedule) = &mut self.schedule {
            schedule.slip_to(slip_ns as f64);
        }
    }

    /// Returns whether the loop is closed. In a closed loop, each client sends again as soon as its batch is answered.
    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.schedule.is_none()
    }

    /// Returns the due time of the next request, in ns, or `None` in a closed loop. The due time may be long
    /// ago.
    #[inline]
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.schedule.as_ref().map(|schedule| schedule.due_ns)
    }

    /// Returns the time window for the worker's wake-up before the next request, or `None` in a closed loop.
    pub(super) fn wake_window(&self, now_ns: u64, slack_ns: u64) -> Option<RangeInclusive<u64>> {
        let schedule = self.schedule.as_ref()?;
        Some(window(schedule.due_ns, schedule.mean_gap_ns, now_ns, slack_ns))
    }

    /// Notes that the worker has a connection, or has failed to open one. Requests are due from the first call on. The
    /// time to connect therefore does not count as a delay of the server.
    pub(super) fn begin(&mut self, now_ns: u64) {
        if !self.begun
            && let Some(schedule) = &mut self.schedule
        {
            schedule.begin(now_ns);
            self.counted = schedule.position;
            self.begun = true;
        }
    }

    /// Returns how many due requests were taken or skipped since the last call.
    pub(super) fn take_due(&mut self) -> u64 {
        let position =
            self.schedule.as_ref().filter(|_| self.begun).map_or(self.counted, |schedule| schedule.position);
        let due = self.uncounted + (position - self.counted);
        self.uncounted = 0;
        self.counted = position;
        due
    }

    /// Subtracts `n` from the count that [`take_due`](Self::take_due) returns next. The `n` requests exceed the limit
    /// on requests, so redyno treats them as not due.
    pub(super) fn were_not_due(&mut self, n: u64) {
        let of_earlier = n.min(self.uncounted);
        self.uncounted -= of_earlier;
        self.counted += n - of_earlier;
    }

    /// Returns whether a request may be written at `now_ns`.
    #[inline]
    pub(super) fn is_due(&self, now_ns: u64) -> bool {
        self.schedule.as_ref().is_none_or(|schedule| schedule.due_ns <= now_ns)
    }

    /// Takes the next request. Returns the due time of the request, in ns, or `None` in a closed loop.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u64> {
        let schedule = self.schedule.as_mut()?;
        let due_ns = schedule.due_ns;
        schedule.advance();
        Some(due_ns)
    }

    /// Returns how late the oldest unsent request is, in ns, or 0 if no unsent request is due.
    pub(super) fn behind_ns(&self, now_ns: u64) -> u64 {
        self.due_ns().filter(|_| self.begun).map_or(0, |due_ns| now_ns.saturating_sub(due_ns))
    }

    /// If the backlog setting is `shed`, skips the requests that are too late to be sent. Returns the number
    /// of skipped requests.
    pub(super) fn shed(&mut self, now_ns: u64) -> u64 {
        match (self.backlog, &mut self.schedule) {
            (Backlog::Shed, Some(schedule)) if self.begun => {
                schedule.pass(now_ns.saturating_sub(SHED_AFTER_NS))
            }
            _ => 0,
        }
    }

    /// Skips every request that was due before `now_ns`. Returns the number of skipped requests.
    pub(super) fn give_up(&mut self, now_ns: u64) -> u64 {
        match &mut self.schedule {
            Some(schedule) if self.begun => schedule.pass(now_ns),
            _ => 0,
        }
    }
}

/// The pacing of one worker in an open loop, request by request. Only the project's benchmarks use it.
pub struct PaceStage {
    pace: WorkerPace,
    now_ns: u64,
}

impl PaceStage {
    /// Creates a pace of `per_second` requests a second.
    pub fn new(per_second: u32, arrivals: Arrivals) -> Self {
        let knobs = Knobs { load: true, rate: Some(per_second), arrivals, ..Knobs::default() };
        let mut pace = WorkerPace::new();
        pace.follow(&knobs, Some(Share::ALL), 0, 1);
        pace.begin(0);
        Self { pace, now_ns: 0 }
    }

    /// Takes the next request, with the checks that a worker makes, and returns its due time. The function sets the
    /// current time to the due time, so no request is early or late.
    #[inline]
    pub fn next_due_ns(&mut self) -> Option<u64> {
        self.now_ns = self.pace.due_ns()?;
        if self.pace.is_due(self.now_ns) { self.pace.take() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock::SECOND_NS, load::alarm::new_expiry_ns};

    const ALONE: Option<Share> = Some(Share::ALL);

    fn at(rate: u32) -> Knobs {
        Knobs { load: true, rate: Some(rate), ..Knobs::default() }
    }

    fn pace(knobs: &Knobs) -> WorkerPace {
        let mut pace = WorkerPace::new();
        assert_eq!(pace.follow(knobs, ALONE, 0, 1), 0);
        pace.begin(0);
        pace
    }

    fn sent_by(pace: &mut WorkerPace, now_ns: u64) -> usize {
        std::iter::from_fn(|| pace.is_due(now_ns).then(|| pace.take())).count()
    }

    #[test]
    fn lateness_does_not_add_up() {
        let mut pace = pace(&at(1000));
        let mut now_ns = 0;
        for k in 0..1000 {
            let due_ns = pace.due_ns().unwrap();
            assert_eq!(due_ns, 500_000 + k * 1_000_000);
            now_ns = due_ns + 60_000;
            assert_eq!(sent_by(&mut pace, now_ns), 1);
        }
        assert_eq!(now_ns, 999_500_000 + 60_000);
    }

    const SLACK_NS: u64 = 50_000;

    /// Simulates one second of a worker. The worker's alarm goes off `late_ns` late, and replies wake the worker every
    /// `replies_ns`. Returns how often the alarm was set, how often the worker woke up, and the delay of each request.
    fn second(knobs: &Knobs, late_ns: u64, replies_ns: Option<u64>) -> (usize, usize, Vec<u64>) {
        let (mut pace, mut set_for_ns, mut now_ns) = (pace(knobs), None, 0);
        let (mut sets, mut wake_ups, mut late) = (0, 0, Vec::new());
        while now_ns < SECOND_NS {
            let window = pace.wake_window(now_ns, SLACK_NS).unwrap();
            assert!(*window.start() > now_ns, "all due requests are sent");
            if let Some(at_ns) = new_expiry_ns(set_for_ns, &window) {
                set_for_ns = Some(at_ns);
                sets += 1;
            }
            let alarm_ns = set_for_ns.unwrap() + late_ns;
            now_ns = replies_ns.map_or(alarm_ns, |every_ns| alarm_ns.min(now_ns + every_ns));
            wake_ups += 1;
            while pace.is_due(now_ns) {
                late.extend(pace.take().map(|due_ns| now_ns - due_ns));
            }
        }
        (sets, wake_ups, late)
    }

    #[test]
    fn a_worker_wakes_exactly_when_a_single_request_is_due() {
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let (sets, wake_ups, late) = second(&Knobs { arrivals, ..at(1000) }, 0, None);
            assert_eq!((sets, wake_ups), (late.len(), late.len()), "{arrivals}");
            assert!(late.iter().all(|late_ns| *late_ns == 0), "{arrivals}");
        }
    }

    #[test]
    fn requests_that_are_due_within_the_slack_share_a_wake_up() {
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let (sets, wake_ups, late) = second(&Knobs { arrivals, ..at(100_000) }, 30_000, None);
            assert!((99_000..=101_000).contains(&late.len()), "{arrivals}: {}", late.len());
            assert_eq!(sets, wake_ups, "{arrivals}");
            // The alarm is set for 50 µs ahead and goes off after 80 µs.
            assert!((12_000..=12_501).contains(&wake_ups), "{arrivals}: {wake_ups}");
            assert!(late.iter().all(|late_ns| *late_ns < SLACK_NS + 30_000), "{arrivals}");
        }
    }

    #[test]
    fn a_worker_that_replies_wake_sets_its_alarm_once_per_slack_and_sends_at_each_wake_up() {
        let (sets, wake_ups, late) = second(&at(100_000), 30_000, Some(15_000));
        assert!((66_000..=67_000).contains(&wake_ups), "{wake_ups}");
        assert!(sets <= (SECOND_NS / SLACK_NS) as usize + 1, "{sets}");
        assert!(late.iter().all(|late_ns| *late_ns < 15_000));
    }

    #[test]
    fn each_worker_wakes_for_its_own_share_of_the_requests() {
        let window = |of| {
            let mut pace = WorkerPace::new();
            pace.follow(&at(30_000), Some(Share { index: 0, of }), 0, 1);
            pace.begin(0);
            pace.wake_window(0, SLACK_NS)
        };
        assert_eq!(window(1), Some(16_666..=SLACK_NS));
        assert_eq!(window(2), Some(16_666..=16_666), "the second request is due 67 µs later");
    }

    /// After a stall, wrk2 sends its backlog as fast as it can. This sending rate was mistaken for the speed of the
    /// server. `behind_ns` shows the size of the backlog, and when the backlog is gone.
    #[test]
    fn after_a_stall_the_backlog_is_sent_at_once_and_behind_returns_to_0() {
        let mut pace = pace(&at(1000));
        assert_eq!(sent_by(&mut pace, SECOND_NS), 1000);
        assert_eq!(pace.behind_ns(2 * SECOND_NS), SECOND_NS - 500_000);
        assert_eq!(sent_by(&mut pace, 2 * SECOND_NS), 1000);
        assert_eq!(pace.behind_ns(2 * SECOND_NS), 0);
    }

    #[test]
    fn shed_requests_are_counted_and_recent_requests_are_sent() {
        let mut pace = pace(&Knobs { backlog: Backlog::Shed, ..at(1000) });
        assert_eq!(pace.shed(SECOND_NS), 990);
        assert_eq!(sent_by(&mut pace, SECOND_NS), 10);
    }

    #[test]
    fn a_change_of_the_rate_takes_effect_at_once_and_without_a_burst() {
        let mut pace = pace(&at(1000));
        let unsent = pace.follow(&at(2000), ALONE, SECOND_NS, 1);
        assert_eq!(unsent, 1000, "due requests that were not sent are counted");
        pace.begin(SECOND_NS);
        assert_eq!(sent_by(&mut pace, SECOND_NS), 0);
        assert_eq!(sent_by(&mut pace, SECOND_NS + 10_000_000), 20);
        pace.follow(&at(1), ALONE, 2 * SECOND_NS, 1);
        pace.begin(2 * SECOND_NS);
        assert_eq!(pace.due_ns(), Some(2 * SECOND_NS + SECOND_NS / 2));
    }

    #[test]
    fn a_change_of_other_knobs_leaves_the_schedule_alone() {
        let mut pace = pace(&at(1000));
        let more = Knobs { clients: 200, ..at(1000) };
        assert_eq!(pace.follow(&more, ALONE, SECOND_NS, 1), 0);
        assert_eq!(pace.behind_ns(SECOND_NS), SECOND_NS - 500_000);
    }

    #[test]
    fn no_request_is_due_before_the_first_connection() {
        let mut pace = WorkerPace::new();
        pace.follow(&at(1000), ALONE, 0, 1);
        assert_eq!((pace.behind_ns(SECOND_NS), pace.give_up(SECOND_NS), pace.take_due()), (0, 0, 0));
        pace.begin(SECOND_NS);
        assert_eq!(pace.due_ns(), Some(SECOND_NS + 500_000));
        pace.begin(2 * SECOND_NS);
        assert_eq!(pace.due_ns(), Some(SECOND_NS + 500_000), "it begins once");
        assert_eq!((sent_by(&mut pace, 2 * SECOND_NS), pace.take_due()), (1000, 1000));
    }

    /// A worker notices a change of the knobs a moment later. Earlier versions dropped the requests that
    /// became due before the worker noticed the change.
    #[test]
    fn requests_that_become_due_before_the_worker_notices_a_change_are_sent() {
        let mut pace = pace(&at(1000));
        sent_by(&mut pace, SECOND_NS);
        assert_eq!(pace.follow(&at(100_000), ALONE, SECOND_NS, 1), 0);
        pace.begin(SECOND_NS);
        pace.begin(SECOND_NS + 100_000);
        assert_eq!(sent_by(&mut pace, SECOND_NS + 100_000), 10);
        assert_eq!(pace.take_due(), 1010);
    }

    #[test]
    fn the_number_of_due_requests_depends_only_on_the_schedules_and_the_time() {
        let mut pace = pace(&Knobs { backlog: Backlog::Shed, ..at(1000) });
        let (sent, shed) = (sent_by(&mut pace, SECOND_NS) as u64, pace.shed(2 * SECOND_NS));
        assert_eq!(pace.take_due(), sent + shed);
        let turned = pace.follow(&at(5000), ALONE, 2 * SECOND_NS, 1);
        pace.begin(2 * SECOND_NS);
        assert_eq!((sent, shed, turned), (1000, 990, 10));
        let unsent = pace.give_up(3 * SECOND_NS);
        assert_eq!((unsent, pace.take_due(), pace.take_due()), (5000, 5010, 0));
    }

    #[test]
    fn without_a_rate_the_loop_is_closed() {
        let mut pace = pace(&at(1000));
        pace.follow(&Knobs { rate: None, ..at(1) }, ALONE, SECOND_NS, 1);
        assert!(pace.is_closed());
        assert_eq!((pace.is_due(0), pace.take(), pace.behind_ns(2 * SECOND_NS)), (true, None, 0));
    }
}
