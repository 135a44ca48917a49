//! Findings about the settings of the load. More clients or a longer pipeline would increase the throughput, or the
//! rate is the limit.
//!
//! ```text
//!  clients    1     2     4   →   8 ?
//!  ops/s     20 k  38 k  68 k     each doubling gained less: ×1.90, ×1.79; the next gains ×1.68 to ×1.79
//! ```

use super::{
    Finding, Severity,
    now::RecentState,
    rule::{Rule, RuleVerdict, is_judged},
    window::length_s,
};
use crate::{
    knobs::Knobs,
    session::{Interval, Record, Segment},
    units,
};

/// The shortest measurement of a setting that counts, in seconds.
const ENOUGH_S: f64 = 3.0;
/// A gain is estimated only if at least this many values of a knob were measured.
const SETTINGS: usize = 3;
/// A gain is reported only if its estimate is at least this share.
const GAIN: f64 = 0.05;
/// A rate counts as reached if the throughput is at least this share of the rate.
const REACHED: f64 = 0.98;

/// A setting of the knobs, and its throughput.
#[derive(Debug, Clone, PartialEq)]
struct MeasuredSetting {
    knobs: Knobs,
    ops: f64,
    length_s: f64,
}

/// Stores the throughput of each setting, and estimates the gain of more clients or a longer pipeline.
#[derive(Debug, Clone, Default)]
pub(super) struct Headroom {
    measured: Vec<MeasuredSetting>,
}

impl Rule for Headroom {
    fn name(&self) -> &'static str {
        "more in flight"
    }

    fn push(&mut self, record: &Record, now: &RecentState, _: bool) -> RuleVerdict {
        match record {
            Record::Interval(interval) if now.is_of(interval) && !interval.drain => {
                let segment = now.segment.as_ref().filter(|segment| is_judged(segment));
                let Some(segment) = segment.filter(|segment| segment.knobs.rate.is_none()) else {
                    return RuleVerdict::Clear;
                };
                self.measure(segment, interval);
                let gain = [("clients", CLIENTS), ("pipeline", PIPELINE)];
                gain.into_iter().find_map(|(name, knob)| self.gain(name, knob, &segment.knobs)).into()
            }
            _ => RuleVerdict::Unchanged,
        }
    }
}

/// A function that returns the value of one knob.
type KnobAccess = fn(&mut Knobs) -> &mut u32;
const CLIENTS: KnobAccess = |knobs| &mut knobs.clients;
const PIPELINE: KnobAccess = |knobs| &mut knobs.pipeline;

impl Headroom {
    fn measure(&mut self, segment: &Segment, interval: &Interval) {
        let known = self.measured.iter().position(|known| known.knobs == segment.knobs);
        let n = known.unwrap_or_else(|| {
            self.measured.push(MeasuredSetting { knobs: segment.knobs.clone(), ops: 0.0, length_s: 0.0 });
            self.measured.len() - 1
        });
        self.measured[n].ops += interval.ops as f64;
        self.measured[n].length_s += interval.length_s;
    }

    /// Returns the finding that doubling the present value of this knob would increase the throughput.
    fn gain(&self, name: &str, knob: KnobAccess, present: &Knobs) -> Option<Finding> {
        let value = |knobs: &Knobs| *knob(&mut knobs.clone());
        let differs_only_there = |known: &&MeasuredSetting| {
            let mut other = known.knobs.clone();
            *knob(&mut other) = value(present);
            other == *present && known.length_s >= ENOUGH_S && known.ops > 0.0
        };
        let alike = self.measured.iter().filter(differs_only_there);
        let mut points: Vec<(f64, f64)> =
            alike.map(|known| (f64::from(value(&known.knobs)), known.ops / known.length_s)).collect();
        points.sort_by(|left, right| left.0.total_cmp(&right.0));
        let [.., (n1, x1), (n2, x2), (n3, x3)] = points.as_slice() else { return None };
        if points.len() < SETTINGS || *n3 > f64::from(value(present)) {
            return None;
        }
        // The exponent of a power law between two settings; it falls as the server or the client becomes saturated.
        let exponent = |(n, x): (f64, f64), (m, y): (f64, f64)| (y / x).ln() / (m / n).ln();
        let (before, last) = (exponent((*n1, *x1), (*n2, *x2)), exponent((*n2, *x2), (*n3, *x3)));
        let least = 2.0_f64.powf(last - (before - last).max(0.0)) - 1.0;
        let most = 2.0_f64.powf(last.min(1.0)) - 1.0;
        (least >= GAIN).then(|| {
            let twice = units::setting(u64::from(value(present)) * 2);
            let gain = format!("{} to {}", units::percent(least.min(most)), units::percent(most));
            let long = format!("twice the {name} would give {gain} more ops/s");
            let points = points.iter().map(|(n, x)| format!("{} with {n:.0}", units::rate(*x)));
            let known_by = format!("throughput by {name}: {}", points.collect::<Vec<_>>().join(", "));
            let finding = Finding::of(Severity::Note, format!("{name} {twice}"), long);
            Finding { rule: "more in flight", ..finding }.with([Some(known_by)], &format!("--{name} {twice}"))
        })
    }
}

/// Returns the finding that the rate is the limit. The load reaches the rate, and the server has time to spare.
pub(super) fn rate_limit(now: &RecentState, _: bool) -> Option<Finding> {
    let segment = now.segment.as_ref().filter(|segment| is_judged(segment))?;
    let rate = f64::from(segment.knobs.rate?);
    let parts = now.last(ENOUGH_S, 0);
    let length_s = length_s(parts);
    let ops: f64 = parts.iter().map(|part| part.ops as f64).sum();
    let per_s = ops / length_s;
    if length_s < ENOUGH_S || per_s < rate * REACHED || !now.has_time() {
        return None;
    }
    let short = format!("{} are requested", units::rate(rate));
    let long = format!("the rate limits the load: {short} and reached");
    Some(Finding::of(Severity::Note, short, long).with([], "a higher --rate shows what the server can do"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::{Findings, fixture::Second};

    /// Returns the findings after four seconds of each setting in `each`. A setting is the number of clients and the
    /// operations per second.
    fn found(each: &[(u32, u64)]) -> Vec<Finding> {
        let mut findings = Findings::default();
        for (number, &(clients, ops)) in (1..).zip(each) {
            let knobs = Knobs { load: true, clients, ..Knobs::default() };
            findings.push(&Record::Segment(Segment::new(f64::from(number) * 4.0, number, knobs)));
            for n in 0..4 {
                let (t_s, length_s) = (f64::from(number * 4 + n + 1), 1.0);
                let body = Interval { t_s, length_s, segment: number, ops, ..Interval::default() };
                findings.push(&Record::Interval(Box::new(body)));
            }
        }
        findings.now()
    }

    #[test]
    fn a_gain_is_expected_after_three_settings_and_not_where_it_has_ended() {
        let more = found(&[(1, 20_000), (2, 38_000), (4, 68_000)]);
        assert_eq!(more[0].long, "twice the clients would give 69 % to 79 % more ops/s");
        assert_eq!((more[0].rule, more[0].next.as_str()), ("more in flight", "--clients 8"));
        assert_eq!(
            more[0].evidence,
            ["throughput by clients: 20.0 k/s with 1, 38.0 k/s with 2, 68.0 k/s with 4"]
        );
        assert_eq!(found(&[(1, 20_000), (2, 38_000)]), []);
        assert_eq!(found(&[(1, 20_000), (2, 38_000), (4, 39_000)]), []);
        assert_eq!(
            found(&[(4, 68_000), (2, 38_000), (1, 20_000)]),
            [],
            "the load uses a smaller setting now"
        );
    }

    #[test]
    fn a_rate_that_is_reached_is_the_limit() {
        let mut findings = Findings::default();
        let knobs = Knobs { load: true, rate: Some(1000), ..Knobs::default() };
        findings.push(&Record::Segment(Segment::new(0.0, 1, knobs)));
        for n in 0..5 {
            let t_s = f64::from(n) + 1.0;
            let body = Interval { t_s, length_s: 1.0, segment: 1, ops: 1000, ..Interval::default() };
            findings.push(&Record::Interval(Box::new(body)));
            Second::healthy(n).records().iter().for_each(|record| drop(findings.push(record)));
        }
        let now = findings.now();
        assert_eq!((now[0].rule, now[0].severity), ("rate limit", Severity::Note));
        assert_eq!(now[0].long, "the rate limits the load: 1.00 k/s are requested and reached");
    }
}
