//! When most of what a load reads is not there: its misses cost the server less than hits, so it looks faster than it is.

use super::{
    Finding,
    recent::Recent,
    rule::{Rule, Verdict, Whole},
};
use crate::{
    session::{Interval, Record, Segment},
    units,
    workload::Workload,
};

/// Below this share of hits a workload that reads measures something else than it says.
const LOW: f64 = 0.90;
/// Once said, it stands until the share is above this: it does not waver.
const GOOD: f64 = 0.92;
/// Reads that are enough to tell: at 90 % the share is known to 2 points.
const ENOUGH: u64 = 1000;
/// The stretch that is judged, in seconds.
const WINDOW_S: f64 = 4.0;
/// A share that rises by so much within the stretch will soon be good: the load writes what it reads.
const RISING: f64 = 0.02;

/// Watches whether most reads find something now.
#[derive(Debug, Clone)]
pub(super) struct HitRate {
    /// The segment that is judged; not one that makes keys or warms up.
    segment: Option<Segment>,
    /// Hits and misses.
    recent: Recent<(u64, u64)>,
}

impl Default for HitRate {
    fn default() -> Self {
        Self { segment: None, recent: Recent::of(WINDOW_S) }
    }
}

impl Rule for HitRate {
    fn name(&self) -> &'static str {
        "hit rate"
    }

    fn over(&self) -> &'static str {
        "above 90 % again"
    }

    fn push(&mut self, record: &Record, stands: bool) -> Verdict {
        match record {
            Record::Segment(segment) => {
                let is_judged = segment.knobs.load && segment.aside().is_none();
                *self = Self { segment: is_judged.then(|| segment.clone()), ..Self::default() };
                Verdict::Clear
            }
            Record::Interval(interval) => self.push_interval(interval, stands),
            Record::End(_) => {
                *self = Self::default();
                Verdict::Clear
            }
            _ => Verdict::AsBefore,
        }
    }

    fn whole(&self, Whole { segment, total, .. }: &Whole<'_>) -> Option<Finding> {
        let share = share(total.hits, total.misses).filter(|share| *share < LOW)?;
        segment.map(|segment| low(share, &segment.knobs.workload))
    }

    fn copied(&self) -> Box<dyn Rule> {
        Box::new(self.clone())
    }
}

impl HitRate {
    fn push_interval(&mut self, interval: &Interval, stands: bool) -> Verdict {
        let Some(segment) = self.segment.as_ref().filter(|segment| segment.segment == interval.segment)
        else {
            return Verdict::AsBefore;
        };
        self.recent.push(interval.length_s, (interval.hits, interval.misses));
        if !self.recent.is_whole() {
            return Verdict::AsBefore;
        }
        let half = self.recent.iter().len() / 2;
        let (before, after) = (sum(self.recent.iter().take(half)), sum(self.recent.iter().skip(half)));
        let Some(all) = share(before.0 + after.0, before.1 + after.1) else { return Verdict::AsBefore };
        let of = |(hits, misses): (u64, u64)| hits as f64 / (hits + misses).max(1) as f64;
        let is_low = match stands {
            true => all < GOOD,
            false => all < LOW && of(after) - of(before) < RISING,
        };
        is_low.then(|| low(all, &segment.knobs.workload)).into()
    }
}

/// That only this share of the reads of `workload` found their key, and what to do about it.
fn low(share: f64, workload: &Workload) -> Finding {
    let short = format!("hit rate {}", units::percent(share));
    let long = format!("{short}: the other reads find no key, which costs the server less");
    let (next, next_at_screen) = match (workload.prefill.is_empty(), workload.with_prefill()) {
        // They were made, and are gone or too few.
        (false, _) => (
            "keys that were made have expired, were evicted, or the knob of keys was turned up since",
            Some("type :prefill to make all keys now; those made before are gone or too few"),
        ),
        (true, Ok(_)) => ("--prefill makes the keys first", Some("type :prefill to make the keys now")),
        // A prefill cannot make them.
        (true, Err(_)) => ("write what it reads before: give the workload a [prefill] table", None),
    };
    Finding { next: next.to_owned(), next_at_screen, ..Finding::new("hit rate", short, long) }
}

/// Hits and misses of some parts.
fn sum<'a>(parts: impl Iterator<Item = &'a (u64, u64)>) -> (u64, u64) {
    parts.fold((0, 0), |(hits, misses), part| (hits + part.0, misses + part.1))
}

/// The share of hits, where there are enough reads.
fn share(hits: u64, misses: u64) -> Option<f64> {
    let reads = hits + misses;
    (reads >= ENOUGH).then(|| hits as f64 / reads as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        diagnose::{Findings, of_segment},
        load::{Knobs, Prefilling},
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

    /// After which of these seconds, given by their hits of a thousand, the rate is said to be low.
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
    fn reads_that_find_nothing_are_told_after_some_seconds_and_until_they_find_something() {
        assert_eq!(said(segment("get"), &[0; 5]), [false, false, false, true, true]);
        assert_eq!(said(segment("get"), &[950; 5]), [false; 5]);
        let good_again = said(segment("get"), &[800, 800, 800, 800, 1000, 1000, 1000]);
        assert_eq!(good_again, [false, false, false, true, true, true, false]);
        let few = vec![second(0, 100); 9];
        let mut findings = Findings::default();
        findings.push(&Record::Segment(segment("get")));
        assert!(few.iter().all(|record| findings.push(record).is_empty()), "too few reads to tell");
    }

    #[test]
    fn a_load_that_fills_its_keys_by_itself_is_left_alone_while_it_does() {
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
            assert_eq!(of_segment(&aside, &total, 1), []);
            assert!(!said(aside, &[0; 9]).contains(&true));
        }
    }

    #[test]
    fn what_to_do_about_it_depends_on_who_makes_the_keys() {
        let total = Interval { hits: 120, misses: 880, ..Interval::default() };
        let told = |segment: &Segment| of_segment(segment, &total, 1).remove(0);
        let get = segment("get");
        let line = "hit rate 12 %: the other reads find no key, which costs the server less";
        assert_eq!(told(&get).line(), format!("{line}; --prefill makes the keys first"));
        assert_eq!(told(&get).sentence(200, true), format!("{line}; type :prefill to make the keys now"));
        let mut filled = get;
        filled.knobs.workload = filled.knobs.workload.with_prefill().unwrap().into();
        assert!(told(&filled).next.starts_with("keys that were made"));
        let mut ping = segment("ping");
        ping.knobs.workload = crate::workload::Workload::clone(&ping.knobs.workload).into();
        assert!(told(&ping).next.contains("[prefill] table"));
    }
}
