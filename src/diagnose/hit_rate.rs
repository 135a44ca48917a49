//! When most of what a load reads is not there: its misses cost the server less than hits, so it looks faster than it is.

use std::{collections::VecDeque, fmt};

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

/// What helps where nobody knows how the keys are made.
const UNKNOWN: &str = "write what it reads before: give the workload a [prefill] table";

/// That many reads find nothing, and what to do about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LowHits {
    /// The share of the reads that found their key.
    pub share: f64,
    remedy: Remedy,
}

/// What helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remedy {
    /// Nobody made the keys.
    Prefill,
    /// They were made, and are gone or too few.
    LookForThem,
    /// A prefill cannot make them.
    MakeThem,
}

impl LowHits {
    /// The verdict on a segment as a whole, whose intervals are `total`.
    pub fn of(segment: &Segment, total: &Interval) -> Option<Self> {
        let is_judged = segment.knobs.load && segment.aside().is_none();
        let share = share(total.hits, total.misses).filter(|share| is_judged && *share < LOW)?;
        Some(Self::at(share, &segment.knobs.workload))
    }

    fn at(share: f64, workload: &Workload) -> Self {
        let remedy = match (workload.prefill.is_empty(), workload.with_prefill()) {
            (false, _) => Remedy::LookForThem,
            (true, Ok(_)) => Remedy::Prefill,
            (true, Err(_)) => Remedy::MakeThem,
        };
        Self { share, remedy }
    }

    /// What to do about it.
    pub fn advice(&self) -> &'static str {
        match self.remedy {
            Remedy::Prefill => "--prefill makes the keys first",
            Remedy::LookForThem => {
                "keys that were made have expired, were evicted, or the knob of keys was turned up since"
            }
            Remedy::MakeThem => UNKNOWN,
        }
    }

    /// The same for who sits at the screen of the run.
    pub fn advice_at_screen(&self) -> &'static str {
        match self.remedy {
            Remedy::Prefill => "type :prefill to make the keys now",
            Remedy::LookForThem => {
                "type :prefill to make all keys now; those made before are gone or too few"
            }
            Remedy::MakeThem => UNKNOWN,
        }
    }
}

impl fmt::Display for LowHits {
    /// `hit rate 12 %: the other reads find no key, which costs the server less`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "hit rate {}: the other reads find no key, which costs the server less",
            units::percent(self.share)
        )
    }
}

/// The share of hits, where there are enough reads.
fn share(hits: u64, misses: u64) -> Option<f64> {
    let reads = hits + misses;
    (reads >= ENOUGH).then(|| hits as f64 / reads as f64)
}

/// Watches whether most reads find something now.
#[derive(Debug, Clone, Default)]
pub struct HitWatch {
    /// The segment that is judged; not one that makes keys or warms up.
    segment: Option<Segment>,
    /// The last seconds of it: length, hits, misses.
    window: VecDeque<(f64, u64, u64)>,
    low: Option<LowHits>,
}

impl HitWatch {
    /// The verdict that stands.
    pub fn low(&self) -> Option<LowHits> {
        self.low
    }

    /// Takes the next record. Whether the rate has become low, or has ceased to be.
    pub fn push(&mut self, record: &Record) -> bool {
        let was_low = self.low.is_some();
        match record {
            Record::Segment(segment) => {
                let is_judged = segment.knobs.load && segment.aside().is_none();
                *self = Self { segment: is_judged.then(|| segment.clone()), ..Self::default() };
            }
            Record::Interval(interval) => self.push_interval(interval),
            Record::End(_) => *self = Self::default(),
            _ => {}
        }
        was_low != self.low.is_some()
    }

    fn push_interval(&mut self, interval: &Interval) {
        let Some(segment) = self.segment.as_ref().filter(|segment| segment.segment == interval.segment)
        else {
            return;
        };
        self.window.push_back((interval.length_s, interval.hits, interval.misses));
        let mut length_s: f64 = self.window.iter().map(|part| part.0).sum();
        while let Some(oldest) = self.window.front()
            && length_s - oldest.0 >= WINDOW_S
        {
            length_s -= oldest.0;
            self.window.pop_front();
        }
        if length_s < WINDOW_S {
            return;
        }
        let half = self.window.len() / 2;
        let sum = |parts: &mut dyn Iterator<Item = &(f64, u64, u64)>| {
            parts.fold((0, 0), |(hits, misses), part| (hits + part.1, misses + part.2))
        };
        let (before, after) =
            (sum(&mut self.window.iter().take(half)), sum(&mut self.window.iter().skip(half)));
        let Some(all) = share(before.0 + after.0, before.1 + after.1) else { return };
        let of = |(hits, misses): (u64, u64)| hits as f64 / (hits + misses).max(1) as f64;
        let is_low = match self.low {
            Some(_) => all < GOOD,
            None => all < LOW && of(after) - of(before) < RISING,
        };
        self.low = is_low.then(|| LowHits::at(all, &segment.knobs.workload));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
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
        let mut watch = HitWatch::default();
        watch.push(&Record::Segment(segment));
        let each = |hits: &u64| {
            watch.push(&second(*hits, 1000 - hits));
            watch.low().is_some()
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
        let mut watch = HitWatch::default();
        watch.push(&Record::Segment(segment("get")));
        assert!(few.iter().all(|record| !watch.push(record)), "too few reads to tell");
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
            assert_eq!(LowHits::of(&aside, &total), None);
            assert!(!said(aside, &[0; 9]).contains(&true));
        }
    }

    #[test]
    fn what_to_do_about_it_depends_on_who_makes_the_keys() {
        let total = Interval { hits: 120, misses: 880, ..Interval::default() };
        let told = |segment: &Segment| LowHits::of(segment, &total).unwrap();
        let get = segment("get");
        assert_eq!(
            told(&get).to_string(),
            "hit rate 12 %: the other reads find no key, which costs the server less"
        );
        assert_eq!(told(&get).advice(), "--prefill makes the keys first");
        assert_eq!(told(&get).advice_at_screen(), "type :prefill to make the keys now");
        let mut filled = get;
        filled.knobs.workload = filled.knobs.workload.with_prefill().unwrap().into();
        assert!(told(&filled).advice().starts_with("keys that were made"));
        let mut ping = segment("ping");
        ping.knobs.workload = crate::workload::Workload::clone(&ping.knobs.workload).into();
        assert!(told(&ping).advice().contains("[prefill] table"));
    }
}
