//! Computes the due times of requests: the times when an open loop should send them.
//!
//! ```text
//!  start        k=0     k=1     k=2     k=3         constant, two workers: worker 0 has the even k,
//!    ├───────────●───────○───────●───────○──►       worker 1 the odd k; together equal gaps
//! ```
//! The due time of request k depends only on k and, for Poisson arrivals, on the seed. The server has no influence on
//! due times. The backlog consists of the requests that are due and not yet sent. redyno stores only the due time of
//! the next unsent request, so a backlog needs no memory. Skipping a long backlog takes as little time as skipping a
//! short one. This module does no I/O and reads no clock.

use super::poisson::Poisson;
use crate::{
    clock::SECOND_NS,
    knobs::{Arrivals, Bursts},
    workload::{DueTimes, Share},
};

/// The largest change of the gaps while a schedule is corrected: a thousandth. Clocks of machines differ far less.
const MOST_STRETCH: f64 = 0.001;
/// The time in which a schedule is corrected. If one gap between requests is longer, the correction takes one gap.
const SLIPS_OVER_NS: f64 = 0.5 * SECOND_NS as f64;

/// The due times of one worker's requests, in order.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    /// The due time, in ns, of the point that is `from_ns` after the schedule's beginning.
    start_ns: u64,
    from_ns: f64,
    /// The lengths of gaps on the clock of this process, divided by their lengths in the schedule.
    stretch: f64,
    /// The slip that the due time at `start_ns` contains; see [`slip_to`](Self::slip_to).
    pub(super) slipped_ns: f64,
    /// The mean gap between two due times, in ns.
    pub(super) mean_gap_ns: f64,
    gaps: Gaps,
    /// The due time of the next request, in ns.
    pub(super) due_ns: u64,
    /// How many requests of the schedule were sent or skipped so far.
    pub(super) position: u64,
}

#[derive(Debug, Clone)]
enum Gaps {
    /// The next request has the number `next` among the requests of all workers. Without bursts, request number 0 is
    /// due half an interval after the start.
    Constant { interval_ns: f64, next: u64, stride: u64, bursts: Option<Bursts> },
    /// The next request is due `after_ns` after the start. The Poisson processes of all workers together form one
    /// Poisson process. The rate of this process is the sum of the workers' rates.
    Poisson { after_ns: f64, later: Poisson },
    /// The next request is due at the next time of a file. `base_us` is the time within the file that corresponds to
    /// the start. One worker sends all requests.
    Times { times: DueTimes, base_us: u64, speed: f64 },
}

impl Schedule {
    /// Creates one worker's `share` of a schedule from `start_ns` on. The sum of all workers' shares is
    /// `per_second` requests a second.
    pub(super) fn new(arrivals: Arrivals, per_second: f64, share: Share, start_ns: u64, seed: u64) -> Self {
        let interval_ns = SECOND_NS as f64 / per_second;
        let mean_gap_ns = interval_ns * share.of as f64;
        let even = |bursts| {
            let (next, stride) = (share.index as u64, share.of as u64);
            Gaps::Constant { interval_ns, next, stride, bursts }
        };
        let gaps = match arrivals {
            // `of_times` creates the schedule of a file.
            Arrivals::Constant | Arrivals::Times => even(None),
            Arrivals::Bursty(bursts) => even(Some(bursts)),
            Arrivals::Poisson => {
                let mut later = Poisson::new(mean_gap_ns, seed);
                Gaps::Poisson { after_ns: later.next_ns(), later }
            }
        };
        Self::of_gaps(gaps, mean_gap_ns, start_ns)
    }

    fn of_gaps(gaps: Gaps, mean_gap_ns: f64, start_ns: u64) -> Self {
        let (from_ns, stretch, slipped_ns, due_ns, position) = (0.0, 1.0, 0.0, start_ns, 0);
        let mut schedule =
            Self { start_ns, from_ns, stretch, slipped_ns, mean_gap_ns, gaps, due_ns, position };
        schedule.set_due();
        schedule
    }

    /// Creates the schedule from the times of a file, beginning at `start_ns`, with this mean rate. All gaps between
    /// requests, including the gap before the first request, are scaled to `rate`.
    pub(super) fn of_times(times: DueTimes, rate: u32, start_ns: u64) -> Self {
        let base_us = times.position().checked_sub(1).map_or(0, |before| times.due_us(before));
        let gaps = Gaps::Times { base_us, speed: times.speed_at(rate), times };
        let mean_gap_ns = SECOND_NS as f64 / f64::from(rate);
        Self::of_gaps(gaps, mean_gap_ns, start_ns)
    }

    /// Moves the due times gradually, because the clock of this process is now `slip_ns` ahead of the schedule's
    /// clock. The gaps become slightly longer or shorter until the new slip is reached. No request is skipped, and no
    /// two requests become due together.
    pub(super) fn slip_to(&mut self, slip_ns: f64) {
        let after_ns = self.after_ns();
        self.slipped_ns += (after_ns - self.from_ns) * (self.stretch - 1.0);
        (self.start_ns, self.from_ns) = (self.due_ns, after_ns);
        let over_ns = self.mean_gap_ns.max(SLIPS_OVER_NS);
        self.stretch = 1.0 + ((slip_ns - self.slipped_ns) / over_ns).clamp(-MOST_STRETCH, MOST_STRETCH);
    }

    /// Begins the schedule at `now_ns`. Requests that were due earlier are skipped. A schedule from a file starts at
    /// `now_ns` without skipping requests.
    pub(super) fn begin(&mut self, now_ns: u64) {
        if matches!(self.gaps, Gaps::Times { .. }) {
            self.start_ns = self.start_ns.max(now_ns);
            self.set_due();
        } else {
            self.pass(now_ns);
        }
    }

    /// Moves on to the next request, after the current request was sent, failed or was shed.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.position += 1;
        match &mut self.gaps {
            Gaps::Constant { next, stride, .. } => *next += *stride,
            Gaps::Poisson { after_ns, later } => *after_ns = later.next_ns(),
            Gaps::Times { times, .. } => times.sent(),
        }
        self.set_due();
    }

    /// Skips every request that is due before `until_ns`, in a few steps. Returns the number of skipped requests.
    pub(super) fn pass(&mut self, until_ns: u64) -> u64 {
        if self.due_ns >= until_ns {
            return 0;
        }
        let until_ns = self.from_ns + (until_ns - self.start_ns) as f64 / self.stretch;
        let passed = match &mut self.gaps {
            Gaps::Constant { interval_ns, next, stride, bursts } => {
                let until_ns = bursts.map_or(until_ns, |bursts| bursts.even_ns(until_ns));
                let steps = ((until_ns / *interval_ns - 0.5 - *next as f64) / *stride as f64).ceil() as u64;
                // Rounding may have added a step, so this number is one step less. The loop adds the missing
                // steps.
                let mut passed = steps.saturating_sub(1);
                while moment_ns(*next + passed * *stride, *interval_ns) < until_ns {
                    passed += 1;
                }
                *next += passed * *stride;
                passed
            }
            Gaps::Poisson { after_ns, later } => {
                let passed = 1 + later.pass(until_ns);
                *after_ns = later.next_ns();
                passed
            }
            Gaps::Times { times, base_us, speed } => times.pass(until_ns * *speed / 1000.0 + *base_us as f64),
        };
        self.position += passed;
        self.set_due();
        passed
    }

    /// Returns the time from the schedule's beginning to the next request, in ns.
    #[inline]
    fn after_ns(&self) -> f64 {
        match &self.gaps {
            Gaps::Constant { interval_ns, next, bursts, .. } => {
                let even_ns = moment_ns(*next, *interval_ns);
                bursts.map_or(even_ns, |bursts| bursts.due_ns(even_ns))
            }
            Gaps::Poisson { after_ns, .. } => *after_ns,
            Gaps::Times { times, base_us, speed } => {
                times.due_us(times.position()).saturating_sub(*base_us) as f64 * 1000.0 / *speed
            }
        }
    }

    #[inline]
    fn set_due(&mut self) {
        let own_ns = (self.after_ns() - self.from_ns) * self.stretch;
        self.due_ns = self.start_ns.saturating_add(own_ns as u64);
    }
}

/// Returns the time from the start until request number `k` is due, in ns.
#[inline]
fn moment_ns(k: u64, interval_ns: f64) -> f64 {
    (k as f64 + 0.5) * interval_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        protocol::Dialect,
        workload::{Draws, KeyNames, OutgoingRequests, Program, TraceOrder, Values, Workload},
    };

    const ALONE: Share = Share::ALL;

    fn dues(arrivals: Arrivals, rate: f64, workers: usize, until_ns: u64) -> Vec<u64> {
        let mut dues = Vec::new();
        for index in 0..workers {
            let share = Share { index, of: workers };
            let mut schedule = Schedule::new(arrivals, rate, share, 0, 7 + index as u64);
            while schedule.due_ns < until_ns {
                dues.push(schedule.due_ns);
                schedule.advance();
            }
        }
        dues.sort_unstable();
        dues
    }

    /// Returns the standard deviation of the gaps divided by their mean.
    fn variation(dues: &[u64]) -> f64 {
        let gaps: Vec<_> = dues.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        variance.sqrt() / mean
    }

    #[test]
    fn all_workers_burst_together_and_bursts_can_be_skipped() {
        let arrivals: Arrivals = "bursty 5x 200ms/1s".parse().unwrap();
        for workers in [1, 3] {
            let dues = dues(arrivals, 1800.0, workers, 2 * SECOND_NS);
            assert_eq!(dues.len(), 3600);
            let within = |from_ms: u64, to_ms: u64| {
                dues.iter().filter(|due_ns| (from_ms..to_ms).contains(&(**due_ns / 1_000_000))).count()
            };
            // 1800 = 5 × 200 + 800: five a millisecond in a burst, one in the rest.
            assert_eq!([within(0, 200), within(200, 1000), within(1000, 1200)], [1000, 800, 1000]);
        }
        let mut schedule = Schedule::new(arrivals, 1800.0, ALONE, 7, 1);
        assert_eq!(schedule.pass(7 + SECOND_NS), 1800);
        assert_eq!(schedule.pass(7 + SECOND_NS + 100_000_000), 500);
    }

    #[test]
    fn workers_share_one_even_grid() {
        for workers in [1, 3, 16] {
            let dues = dues(Arrivals::Constant, 10_000.0, workers, SECOND_NS);
            assert_eq!((dues.len(), dues[0], dues[1]), (10_000, 50_000, 150_000));
            assert!(variation(&dues) < 1e-4, "{workers} workers");
        }
    }

    /// The clock of this process runs 100 ppm too fast or too slow. The difference is measured four times a second.
    #[test]
    fn a_schedule_follows_another_clock_without_a_burst_or_a_missing_request() {
        for (arrivals, ppm) in
            [(Arrivals::Constant, 100.0), (Arrivals::Constant, -100.0), (Arrivals::Poisson, 100.0)]
        {
            let start_ns = 3 * SECOND_NS;
            let schedule = || Schedule::new(arrivals, 2000.0, Share { index: 1, of: 4 }, start_ns, 7);
            let (mut exact, mut slipping) = (schedule(), schedule());
            let (mut tick_ns, mut before) = (start_ns, (0.0, 0.0));
            while tick_ns < start_ns + 600 * SECOND_NS {
                tick_ns += SECOND_NS / 4;
                while slipping.due_ns < tick_ns {
                    let (gap, own_gap) = (exact.due_ns as f64 - before.0, slipping.due_ns as f64 - before.1);
                    assert!((own_gap - gap).abs() <= gap * 0.0011 + 2.0, "{gap} and {own_gap}");
                    before = (exact.due_ns as f64, slipping.due_ns as f64);
                    let due_ns = start_ns as f64 + (before.1 - start_ns as f64) / (1.0 + ppm / 1e6);
                    assert!((due_ns - before.0).abs() < 100_000.0, "{due_ns} and {}", before.0);
                    exact.advance();
                    slipping.advance();
                }
                slipping.slip_to((tick_ns - start_ns) as f64 * ppm / 1e6);
            }
            assert_eq!(exact.position, slipping.position);
            let skipped = slipping.pass(slipping.due_ns + SECOND_NS * 1000);
            assert!(arrivals == Arrivals::Poisson || skipped.abs_diff(500_000) < 100, "{skipped}");
        }
    }

    #[test]
    fn the_rate_holds_for_hours_and_is_not_rounded_to_whole_nanoseconds() {
        let mut schedule = Schedule::new(Arrivals::Constant, 3_000_000.0, ALONE, 0, 1);
        assert_eq!(schedule.pass(10 * SECOND_NS), 30_000_000);
        let odd = dues(Arrivals::Constant, 7.0, 2, 3600 * SECOND_NS);
        assert_eq!(odd.len(), 7 * 3600);
    }

    /// To limit its rate, memtier_benchmark sends bursts every 20 ms. Other tools round due times to whole
    /// milliseconds.
    #[test]
    fn gaps_between_requests_are_not_rounded_to_milliseconds() {
        let constant = dues(Arrivals::Constant, 10_000.0, 1, SECOND_NS);
        assert!(variation(&constant) < 0.3);
        let poisson = dues(Arrivals::Poisson, 10_000.0, 2, 10 * SECOND_NS);
        assert!((variation(&poisson) - 1.0).abs() < 0.03, "{}", variation(&poisson));
        assert!((poisson.len() as f64 / 100_000.0 - 1.0).abs() < 0.02, "{}", poisson.len());
        let in_first_tenth = poisson.iter().filter(|due| **due % 1_000_000 < 100_000).count() as f64;
        assert!((in_first_tenth / poisson.len() as f64 - 0.1).abs() < 0.01, "{in_first_tenth}");
    }

    #[test]
    fn the_same_seed_gives_the_same_due_times() {
        let of = |seed| {
            let mut schedule = Schedule::new(Arrivals::Poisson, 1000.0, ALONE, 5, seed);
            (0..100)
                .map(|_| {
                    schedule.advance();
                    schedule.due_ns
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
        assert!(of(3).is_sorted());
    }

    /// At the highest rate, it would take half a day to skip the requests of an hour one by one.
    #[test]
    fn any_number_of_requests_is_skipped_at_once() {
        const HOUR_NS: u64 = 3600 * SECOND_NS;
        let due = f64::from(u32::MAX) * 3600.0;
        for (arrivals, sigma) in [(Arrivals::Constant, 0.0), (Arrivals::Poisson, due.sqrt())] {
            let mut schedule = Schedule::new(arrivals, f64::from(u32::MAX), ALONE, 5, 1);
            let passed = schedule.pass(5 + HOUR_NS);
            assert!((passed as f64 - due).abs() <= 1.0 + 4.0 * sigma, "{arrivals}: {passed}");
            assert!((HOUR_NS..HOUR_NS + 100).contains(&(schedule.due_ns - 5)));
        }
    }

    #[test]
    fn skipping_at_once_equals_skipping_one_by_one() {
        for (arrivals, rate) in [Arrivals::Constant, Arrivals::Poisson]
            .into_iter()
            .flat_map(|arrivals| [7.0, 3000.0, 999_983.0, 123_456_789.0].map(|rate| (arrivals, rate)))
        {
            let share = Share { index: 1, of: 3 };
            let schedule = Schedule::new(arrivals, rate, share, 1000, 9);
            for until_ns in [0, 1000, 1001, 333_333, 1_000_000, 5_000_001] {
                let (mut jumper, mut walker) = (schedule.clone(), schedule.clone());
                let mut walked = 0;
                while walker.due_ns < until_ns {
                    walker.advance();
                    walked += 1;
                }
                assert_eq!((jumper.pass(until_ns), jumper.due_ns), (walked, walker.due_ns), "{rate}");
                jumper.advance();
                walker.advance();
                assert_eq!(jumper.due_ns, walker.due_ns);
            }
        }
    }

    const TRACE: &str = "1.000000 [0 x] \"GET\" \"k\"\n1.100000 [0 x] \"GET\" \"k\"\n\
        1.500000 [0 x] \"GET\" \"k\"\n1.600000 [0 x] \"GET\" \"k\"\n";

    #[test]
    fn commands_of_a_trace_are_due_at_their_times_and_the_first_command_at_the_start() {
        const MS_NS: u64 = 1_000_000;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), TRACE).unwrap();
        let workload = Workload::of_trace(file.path(), 2.0, TraceOrder::OfFile).unwrap();
        let values = Values::new(&workload, 1, 1);
        let program = Program::new(&workload, Dialect::Resp2, 1, values, &KeyNames::given("k:"));
        let times = workload.trace.unwrap().times.clone();
        // The trace has four commands in 600 ms, followed by a mean gap of 200 ms, and is sent at twice the
        // speed.
        assert_eq!((times.length_us(), times.rate(), times.speed_at(20)), (800_000, 10, 4.0));
        let mut schedule = Schedule::of_times(times.clone(), 10, 0);
        schedule.begin(MS_NS);
        let send = |schedule: &mut Schedule| {
            let due_ns = schedule.due_ns;
            program.append(&mut Draws::new(1), &mut OutgoingRequests::default());
            schedule.advance();
            due_ns / MS_NS
        };
        let dues: Vec<_> = (0..6).map(|_| send(&mut schedule)).collect();
        assert_eq!(dues, [1, 51, 251, 301, 401, 451]);
        assert_eq!((schedule.pass(701 * MS_NS), schedule.due_ns / MS_NS), (1, 701));
        let mut faster = Schedule::of_times(times, 20, 1000 * MS_NS);
        faster.begin(1000 * MS_NS);
        assert_eq!(send(&mut faster), 1025, "the gap before the next command begins again");
    }

    #[test]
    fn requests_of_any_workload_are_due_at_the_times_of_a_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text: String = (0..1000).map(|k| format!("{:.6}\n", f64::from(k * k) / 1e6)).collect();
        std::fs::write(file.path(), text).unwrap();
        let times = DueTimes::read(file.path(), 2.0).unwrap();
        let mut schedule = Schedule::of_times(times.clone(), times.rate(), 5000);
        for k in 0..1000_u64 {
            assert_eq!(schedule.due_ns, 5000 + k * k * 500, "time {k}");
            schedule.advance();
        }
        assert_eq!(schedule.due_ns, 5000 + times.length_us() * 500, "the first time follows the last");
        assert_eq!((times.position(), schedule.position), (1000, 1000));
    }

    #[test]
    fn skipped_requests_are_counted() {
        let mut schedule = Schedule::new(Arrivals::Constant, 1000.0, ALONE, 0, 1);
        assert_eq!(schedule.pass(2 * SECOND_NS), 2000);
        assert_eq!(schedule.due_ns, 2 * SECOND_NS + 500_000);
    }
}
