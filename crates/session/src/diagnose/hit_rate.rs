//! Finding: more than a tenth of the reads find no key. A miss costs the server less than a hit, so the
//! server looks faster than it is.

use super::{
    Finding,
    now::RecentState,
    rule::{Measurements, Rule, RuleVerdict, is_judged},
    window::length_s,
};
use crate::{
    session::{Interval, Segment},
    units,
};

/// The finding begins when the share of hits is below this value.
const LOW: f64 = 0.90;
/// The finding ends when the share of hits is above this value. `GOOD` is higher than `LOW`, so the finding does not
/// flicker.
const GOOD: f64 = 0.92;
/// The smallest number of reads for a verdict. With this number, a share of 90 % is known to within 2 percentage
/// points.
const ENOUGH: u64 = 1000;
/// The length of the judged period, in seconds.
const WINDOW_S: f64 = 4.0;
/// There is no finding if the share of hits rises by at least this value within the period. The load is then still
/// writing the keys that it reads.
const RISING: f64 = 0.02;

/// Checks whether at least nine tenths of the reads find their key.
#[derive(Debug, Clone)]
pub(super) struct HitRate;

impl Rule for HitRate {
    fn name(&self) -> &'static str {
        "hit rate"
    }

    fn over(&self) -> Option<&'static str> {
        Some("above 90 % again")
    }

    fn judge(&self, now: &RecentState, stands: bool) -> RuleVerdict {
        let parts = now.last(WINDOW_S, 0);
        let all = Reads::of(parts);
        let segment = now.segment.as_ref().filter(|segment| is_judged(segment));
        let Some(segment) = segment.filter(|_| all.is_enough() && length_s(parts) >= WINDOW_S) else {
            return RuleVerdict::Unchanged;
        };
        let (before, after) = parts.split_at(parts.len() / 2);
        let is_low = match stands {
            true => all.share() < GOOD,
            false => all.share() < LOW && Reads::of(after).share() - Reads::of(before).share() < RISING,
        };
        is_low.then(|| all.low(segment, now.is_restarted())).into()
    }

    fn whole(&self, Measurements { segment, total, is_restarted, .. }: &Measurements<'_>) -> Option<Finding> {
        let all = Reads { hits: total.hits, misses: total.misses };
        (*segment)
            .filter(|_| all.is_enough() && all.share() < LOW)
            .map(|segment| all.low(segment, *is_restarted))
    }
}

/// The number of reads that found their key, and of reads that found no key.
#[derive(Debug, Clone, Copy)]
struct Reads {
    hits: u64,
    misses: u64,
}

impl Reads {
    fn of(parts: &[Interval]) -> Self {
        let sum = |count: fn(&Interval) -> u64| parts.iter().map(count).sum();
        Self { hits: sum(|part| part.hits), misses: sum(|part| part.misses) }
    }

    fn is_enough(self) -> bool {
        self.hits + self.misses >= ENOUGH
    }

    /// Returns the share of hits.
    fn share(self) -> f64 {
        self.hits as f64 / (self.hits + self.misses).max(1) as f64
    }

    /// Returns the finding of a low hit rate, with advice for the load of `segment`. `is_restarted` is true if the
    /// server was restarted a short time ago.
    fn low(self, segment: &Segment, is_restarted: bool) -> Finding {
        let workload = &segment.knobs.workload;
        let short = format!("hit rate {}", units::percent(self.share()));
        let long = format!("{short}: all other reads miss; a miss costs the server less than a hit");
        let (next, next_at_screen) = match (workload.prefill.is_empty(), workload.with_prefill()) {
            _ if segment.trace.is_some() => {
                ("reads of a trace find only keys that the trace wrote before; use a longer trace", None)
            }
            (false, _) if is_restarted => (
                "the server was restarted, and the prefilled keys are gone",
                Some(
                    "type :prefill to write all keys now; the server was restarted without the prefilled keys",
                ),
            ),
            // A prefill made the keys, but they are gone or too few.
            (false, _) => (
                "the prefilled keys expired or were evicted, or the load now uses more keys than the prefill wrote",
                Some("type :prefill to write all keys now; some or all of the keys are missing"),
            ),
            (true, Ok(_)) => {
                ("--prefill writes the keys before the load", Some("type :prefill to write the keys now"))
            }
            // redyno cannot make a prefill for this workload.
            (true, Err(_)) => {
                ("the load only reads: add a [prefill] table to the workload to write the keys first", None)
            }
        };
        Finding {
            next: next.to_owned(),
            next_at_screen,
            is_brief: true,
            ..Finding::new("hit rate", short, long)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::{Findings, of_segment},
        knobs::Knobs,
        load::Prefilling,
        session::Record,
        workload::preset,
    };

    fn segment(workload: &str) -> Segment {
        let knobs = Knobs { load: true, workload: preset(workload).unwrap(), ..Knobs::default() };
        Segment::new(0.0, 1, knobs)
    }

    fn second(hits: u64, misses: u64) -> Record {
        Record::Interval(Box::new(Interval {
            length_s: 1.0,
            segment: 1,
            hits,
            misses,
            ..Interval::default()
        }))
    }

    /// Returns for each second whether a low hit rate is reported. `hits` has the number of hits in each second, out of
    /// 1000 reads.
    fn said(segment: Segment, hits: &[u64]) -> Vec<bool> {
        let mut findings = Findings::default();
        findings.push(&Record::Segment(segment));
        let each = |hits: &u64| {
            findings.push(&second(*hits, 1000 - hits));
            !findings.now().is_empty()
        };
        hits.iter().map(each).collect()
    }

    #[test]
    fn reads_that_find_nothing_are_reported_after_some_seconds_and_until_they_find_something() {
        assert_eq!(said(segment("get"), &[0; 5]), [false, false, false, true, true]);
        assert_eq!(said(segment("get"), &[950; 5]), [false; 5]);
        let good_again = said(segment("get"), &[800, 800, 800, 800, 1000, 1000, 1000]);
        assert_eq!(good_again, [false, false, false, true, true, true, false]);
        let few = vec![second(0, 100); 9];
        let mut findings = Findings::default();
        findings.push(&Record::Segment(segment("get")));
        assert!(few.iter().all(|record| findings.push(record).is_empty()), "too few reads to judge");
    }

    #[test]
    fn a_load_that_still_writes_its_keys_has_no_finding() {
        let filling: Vec<u64> =
            (1..20).map(|n| 1000 - (1000.0 * (-f64::from(n) / 5.0).exp()) as u64).collect();
        assert!(said(segment("cache"), &filling).into_iter().all(|said| !said));
        let slowly: Vec<u64> = (0..9).map(|n| 300 + n).collect();
        assert!(said(segment("cache"), &slowly).ends_with(&[true]));
    }

    #[test]
    fn neither_a_warm_up_nor_a_prefill_is_judged() {
        let warmup = Segment { warmup: true, ..segment("get") };
        let prefill = Segment { prefill: Some(Prefilling { requests: 9, pipeline: 1 }), ..segment("get") };
        for aside in [warmup, prefill] {
            let total = Interval { misses: 5000, ..Interval::default() };
            assert_eq!(of_segment(&aside, &total, None), []);
            assert!(!said(aside, &[0; 9]).contains(&true));
        }
    }

    #[test]
    fn the_advice_depends_on_what_writes_the_keys() {
        let total = Interval { hits: 120, misses: 880, ..Interval::default() };
        let finding = |segment: &Segment| of_segment(segment, &total, None).remove(0);
        let get = segment("get");
        let line = "hit rate 12 %: all other reads miss; a miss costs the server less than a hit";
        assert_eq!(finding(&get).line(), format!("{line}; --prefill writes the keys before the load"));
        assert_eq!(finding(&get).sentence(200, true), format!("{line}; type :prefill to write the keys now"));
        let mut filled = get;
        filled.knobs.workload = filled.knobs.workload.with_prefill().unwrap().into();
        assert!(finding(&filled).next.starts_with("the prefilled keys"));
        let mut ping = segment("ping");
        ping.knobs.workload = crate::workload::Workload::clone(&ping.knobs.workload).into();
        assert!(finding(&ping).next.contains("[prefill] table"));
        // The settings of a recording lack the trace.
        let traced = Segment { trace: Some("a.log".to_owned()), ..ping };
        assert!(finding(&traced).next.starts_with("reads of a trace"));
    }
}
