//! When the requests of an open loop are due.
//!
//! ```text
//!  start        k=0     k=1     k=2     k=3         constant, two workers: worker 0 has the even ones,
//!    ├───────────●───────○───────●───────○──►       worker 1 the odd ones; together one even grid
//! ```
//! The time at which request k is due depends on k alone (and, for Poisson arrivals, on the seed). The server's
//! behaviour changes no due time. So a backlog needs no memory: it is the time from the due time of the next unsent
//! request until now. Skipping a backlog takes the same time, whatever the length of the backlog. Pure.

use super::poisson::Poisson;
use crate::{clock::SECOND_NS, knobs::Arrivals};

/// The part of the requests that a worker sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// The worker's number among those that have clients.
    pub(super) index: usize,
    /// How many workers have clients.
    pub(super) of: usize,
}

/// The due times of one worker's requests, in order.
#[derive(Debug, Clone)]
pub(super) struct Schedule {
    start_ns: u64,
    mean_gap_ns: f64,
    gaps: Gaps,
    due_ns: u64,
    /// How many requests were sent or skipped.
    position: u64,
}

#[derive(Debug, Clone)]
enum Gaps {
    /// The next request has the number `next` among the requests of all workers. Request number 0 is due half an
    /// interval after the start.
    Constant { interval_ns: f64, next: u64, stride: u64 },
    /// The next request is due `after_ns` after the start. The Poisson processes of all workers together are a
    /// Poisson process with the sum of their rates.
    Poisson { after_ns: f64, later: Poisson },
}

impl Schedule {
    /// Creates one worker's share of a schedule from `start_ns` on. All workers together have `per_second` requests
    /// a second.
    pub(super) fn new(arrivals: Arrivals, per_second: f64, share: Share, start_ns: u64, seed: u64) -> Self {
        let interval_ns = SECOND_NS as f64 / per_second;
        let mean_gap_ns = interval_ns * share.of as f64;
        let gaps = match arrivals {
            Arrivals::Constant => {
                Gaps::Constant { interval_ns, next: share.index as u64, stride: share.of as u64 }
            }
            Arrivals::Poisson => {
                let mut later = Poisson::new(mean_gap_ns, seed);
                Gaps::Poisson { after_ns: later.next_ns(), later }
            }
        };
        let mut schedule = Self { start_ns, mean_gap_ns, gaps, due_ns: start_ns, position: 0 };
        schedule.set_due();
        schedule
    }

    /// Returns when the next request is due, in ns.
    #[inline]
    pub(super) fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Returns the mean gap between two due times, in ns.
    pub(super) fn mean_gap_ns(&self) -> f64 {
        self.mean_gap_ns
    }

    /// Returns how many requests came before the next: those that were sent, failed, shed or unsent.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Moves on to the next request, after one was sent, failed or shed.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.position += 1;
        match &mut self.gaps {
            Gaps::Constant { next, stride, .. } => *next += *stride,
            Gaps::Poisson { after_ns, later } => *after_ns = later.next_ns(),
        }
        self.set_due();
    }

    /// Skips every request that is due before `until_ns`, any number of them in a few steps. Returns how many.
    pub(super) fn pass(&mut self, until_ns: u64) -> u64 {
        if self.due_ns >= until_ns {
            return 0;
        }
        let until_ns = (until_ns - self.start_ns) as f64;
        let passed = match &mut self.gaps {
            Gaps::Constant { interval_ns, next, stride } => {
                let steps = ((until_ns / *interval_ns - 0.5 - *next as f64) / *stride as f64).ceil() as u64;
                // One less, since rounding may have added one; the loop below adds the missing steps.
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
        };
        self.position += passed;
        self.set_due();
        passed
    }

    #[inline]
    fn set_due(&mut self) {
        let after_ns = match &self.gaps {
            Gaps::Constant { interval_ns, next, .. } => moment_ns(*next, *interval_ns),
            Gaps::Poisson { after_ns, .. } => *after_ns,
        };
        self.due_ns = self.start_ns + after_ns as u64;
    }
}

/// Returns how long after the start request number `k` is due, in ns.
#[inline]
fn moment_ns(k: u64, interval_ns: f64) -> f64 {
    (k as f64 + 0.5) * interval_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Share = Share { index: 0, of: 1 };

    fn dues(arrivals: Arrivals, rate: f64, workers: usize, until_ns: u64) -> Vec<u64> {
        let mut dues = Vec::new();
        for index in 0..workers {
            let share = Share { index, of: workers };
            let mut schedule = Schedule::new(arrivals, rate, share, 0, 7 + index as u64);
            while schedule.due_ns() < until_ns {
                dues.push(schedule.due_ns());
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
    fn workers_share_one_even_grid() {
        for workers in [1, 3, 16] {
            let dues = dues(Arrivals::Constant, 10_000.0, workers, SECOND_NS);
            assert_eq!((dues.len(), dues[0], dues[1]), (10_000, 50_000, 150_000));
            assert!(variation(&dues) < 1e-4, "{workers} workers");
        }
    }

    #[test]
    fn the_rate_holds_for_hours_and_is_not_rounded_to_whole_nanoseconds() {
        let mut schedule = Schedule::new(Arrivals::Constant, 3_000_000.0, ALONE, 0, 1);
        assert_eq!(schedule.pass(10 * SECOND_NS), 30_000_000);
        let odd = dues(Arrivals::Constant, 7.0, 2, 3600 * SECOND_NS);
        assert_eq!(odd.len(), 7 * 3600);
    }

    /// To limit its rate, memtier_benchmark sends bursts every 20 ms; other tools round due times to whole
    /// milliseconds.
    #[test]
    fn gaps_between_requests_are_even_and_know_no_milliseconds() {
        let constant = dues(Arrivals::Constant, 10_000.0, 1, SECOND_NS);
        assert!(variation(&constant) < 0.3);
        let poisson = dues(Arrivals::Poisson, 10_000.0, 2, 10 * SECOND_NS);
        assert!((variation(&poisson) - 1.0).abs() < 0.03, "{}", variation(&poisson));
        assert!((poisson.len() as f64 / 100_000.0 - 1.0).abs() < 0.02, "{}", poisson.len());
        let in_first_tenth = poisson.iter().filter(|due| **due % 1_000_000 < 100_000).count() as f64;
        assert!((in_first_tenth / poisson.len() as f64 - 0.1).abs() < 0.01, "{in_first_tenth}");
    }

    #[test]
    fn the_same_seed_is_due_at_the_same_moments() {
        let of = |seed| {
            let mut schedule = Schedule::new(Arrivals::Poisson, 1000.0, ALONE, 5, seed);
            (0..100)
                .map(|_| {
                    schedule.advance();
                    schedule.due_ns()
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
        assert!(of(3).is_sorted());
    }

    /// To skip the requests of an hour one by one would take half a day at the highest rate.
    #[test]
    fn any_number_is_passed_over_at_once() {
        const HOUR_NS: u64 = 3600 * SECOND_NS;
        let due = f64::from(u32::MAX) * 3600.0;
        for (arrivals, sigma) in [(Arrivals::Constant, 0.0), (Arrivals::Poisson, due.sqrt())] {
            let mut schedule = Schedule::new(arrivals, f64::from(u32::MAX), ALONE, 5, 1);
            let passed = schedule.pass(5 + HOUR_NS);
            assert!((passed as f64 - due).abs() <= 1.0 + 4.0 * sigma, "{arrivals}: {passed}");
            assert!((HOUR_NS..HOUR_NS + 100).contains(&(schedule.due_ns() - 5)));
        }
    }

    #[test]
    fn passing_over_is_counting_one_by_one() {
        for (arrivals, rate) in [Arrivals::Constant, Arrivals::Poisson]
            .into_iter()
            .flat_map(|arrivals| [7.0, 3000.0, 999_983.0, 123_456_789.0].map(|rate| (arrivals, rate)))
        {
            let share = Share { index: 1, of: 3 };
            let schedule = Schedule::new(arrivals, rate, share, 1000, 9);
            for until_ns in [0, 1000, 1001, 333_333, 1_000_000, 5_000_001] {
                let (mut jumper, mut walker) = (schedule.clone(), schedule.clone());
                let mut walked = 0;
                while walker.due_ns() < until_ns {
                    walker.advance();
                    walked += 1;
                }
                assert_eq!((jumper.pass(until_ns), jumper.due_ns()), (walked, walker.due_ns()), "{rate}");
                jumper.advance();
                walker.advance();
                assert_eq!(jumper.due_ns(), walker.due_ns());
            }
        }
    }

    #[test]
    fn what_is_passed_over_is_counted() {
        let mut schedule = Schedule::new(Arrivals::Constant, 1000.0, ALONE, 0, 1);
        assert_eq!(schedule.pass(2 * SECOND_NS), 2000);
        assert_eq!(schedule.due_ns(), 2 * SECOND_NS + 500_000);
    }
}
