//! A curve: the results of the load over the values of one knob.
//!
//! ```text
//!  ops/s                     ┌ knee, by the universal scalability law
//!    ┤            ·  ·  ·  · ▼  ·
//!    ┤       ·    └ best: the most throughput, or the most within a limit
//!    ┤  ·
//!    └──┴────┴────┴──┴──┴──┴────┴─ clients
//! ```
//! All measurements with the same setting become one point of the curve. The histograms of these measurements are
//! merged, because percentiles cannot be merged. Measurements at the same value with other settings are separate
//! points.

use std::collections::BTreeMap;

use super::{Dimension, Limit};
use crate::{
    diagnose::our_limit,
    gauge::Gauge,
    knobs::{Knob, Knobs},
    session::{
        Interval, ReceivedMessages, Segment,
        timeline::{GaugeMeans, SegmentTotal},
    },
    stats::{Latency, Usl},
};

/// The rest of a setting, without the value of the curve's knob: the other knobs, and the changed server parameters.
#[derive(Debug, Clone, PartialEq)]
struct OtherSettings {
    knobs: Knobs,
    config: BTreeMap<String, String>,
}

impl OtherSettings {
    /// Returns the values in which this setting differs from another setting of `all`:
    /// `pipeline 16, io-threads 4`. The text is empty if the settings do not differ.
    fn differing(&self, all: &[&Self]) -> String {
        let knobs = Knob::of(&self.knobs).into_iter();
        let knobs =
            knobs.filter(|knob| all.iter().any(|other| knob.value(&other.knobs) != knob.value(&self.knobs)));
        let knobs = knobs.map(|knob| format!("{} {}", knob.called(&self.knobs), knob.value(&self.knobs)));
        let config = self
            .config
            .iter()
            .filter(|(name, value)| all.iter().any(|other| other.config.get(*name) != Some(value)));
        let config = config.map(|(name, value)| format!("{name} {value}"));
        knobs.chain(config).collect::<Vec<_>>().join(", ")
    }
}

/// The points of a curve that have equal settings, except for the knob or parameter that varies.
#[derive(Debug, Clone)]
pub struct CurveLine<'a> {
    /// The points of the line, sorted by value. A line has at least one point.
    pub points: Vec<&'a CurvePoint>,
    /// The settings that distinguish this line from the other lines, such as `pipeline 16`. Empty if the curve has only
    /// one line.
    pub label: String,
}

/// The measurements at one value under one setting.
#[derive(Debug, Clone)]
pub struct CurvePoint {
    /// The value of the knob.
    pub value: u64,
    /// The numbers of the measured segments, in order.
    pub segments: Vec<u32>,
    /// Whether the figures of the point had become steady. `None` if redyno did not check this.
    pub is_steady: Option<bool>,
    others: OtherSettings,
    /// The sum of all measurements.
    pub measured: Interval,
    /// The means of gauges (sampled figures) during the measurements.
    pub gauges: GaugeMeans,
}

impl CurvePoint {
    /// Returns the successful replies per second.
    pub fn ops_per_s(&self) -> f64 {
        self.measured.ops_per_s
    }

    /// Returns the mean recall of searches for nearest vectors, from 0 to 1; `None` if the recall was not measured.
    pub fn recall(&self) -> Option<f64> {
        self.gauges.of(Gauge::Recall)
    }

    /// Returns whether the loop was open. The latency of an open loop is the response time.
    pub fn is_open(&self) -> bool {
        self.measured.response.is_some()
    }

    /// Returns the latencies that count: response times in an open loop, service times in a closed loop.
    pub fn latency(&self) -> &Latency {
        self.measured.response.as_ref().unwrap_or(&self.measured.service)
    }

    /// Returns the times of the workload's receivers, with their name; `None` without receivers.
    pub fn received(&self) -> Option<(&'static str, &ReceivedMessages)> {
        self.measured.arrivals.iter().next()
    }

    /// Returns the p99 of the receivers' times, in nanoseconds; `None` with too few messages.
    pub fn received_p99(&self) -> Option<u64> {
        self.received()?.1.times.percentile(0.99)
    }

    /// Returns a percentile of the latencies that count, in microseconds; `None` with too few samples.
    pub fn percentile_us(&self, quantile: f64) -> Option<f64> {
        self.latency().percentile(quantile).map(|ns| ns as f64 / 1e3)
    }

    /// Returns the reason why redyno itself was the limit; `None` if redyno was not the limit.
    pub fn our_limit(&self) -> Option<String> {
        our_limit(&self.measured)
    }

    /// Returns whether the point keeps the limit and has no errors.
    pub fn holds(&self, limit: &Limit) -> bool {
        self.measured.errors.is_empty() && limit.is_kept(&self.measured)
    }
}

/// The measured points over one knob or server parameter, sorted by value, then by segment.
#[derive(Debug, Clone)]
pub struct Curve {
    /// The dimension of the curve: the knob or server parameter whose values are compared.
    pub dimension: Dimension,
    /// The points of the curve.
    pub points: Vec<CurvePoint>,
}

impl Curve {
    /// Returns a curve without points.
    pub fn new(dimension: Dimension) -> Self {
        Self { dimension, points: Vec::new() }
    }

    /// Returns the curve of a session. The points come from the segments under load in which the dimension has a value.
    /// Warm-ups are left out, and so are disturbed trials and pauses of a search.
    pub fn of_segments<'a>(dimension: Dimension, segments: impl Iterator<Item = &'a SegmentTotal>) -> Self {
        let mut curve = Self::new(dimension);
        for (value, others, segment) in valued(dimension, segments.collect()) {
            let point = curve.add_point(value, segment.start.segment, others, &segment.total);
            point.gauges.merge(&segment.gauges);
        }
        curve
    }

    /// Returns the value of the dimension in each segment that [`of_segments`](Self::of_segments) would use.
    pub fn values_of<'a>(
        dimension: Dimension,
        segments: impl Iterator<Item = &'a SegmentTotal>,
    ) -> impl Iterator<Item = u64> {
        valued(dimension, segments.collect()).into_iter().map(|(value, ..)| value)
    }

    /// Adds the measurements of a segment with these knobs, at this value.
    pub fn add(&mut self, value: u64, segment: u32, knobs: &Knobs, measured: &Interval) -> &mut CurvePoint {
        let others = OtherSettings { knobs: self.dimension.others(knobs), config: BTreeMap::new() };
        self.add_point(value, segment, others, measured)
    }

    fn add_point(
        &mut self,
        value: u64,
        segment: u32,
        others: OtherSettings,
        measured: &Interval,
    ) -> &mut CurvePoint {
        let at = self.points.iter().position(|point| point.value == value && point.others == others);
        let at = at.unwrap_or_else(|| {
            let at = self.points.partition_point(|point| point.value <= value);
            let (segments, measured, gauges) = (Vec::new(), Interval::default(), GaugeMeans::default());
            self.points.insert(at, CurvePoint { value, segments, is_steady: None, others, measured, gauges });
            at
        });
        let point = &mut self.points[at];
        if point.segments.last() != Some(&segment) {
            point.segments.push(segment);
        }
        point.measured.merge(measured);
        point
    }

    /// Returns the lines of the curve, in the order of their lowest value.
    pub fn lines(&self) -> Vec<CurveLine<'_>> {
        let mut lines: Vec<CurveLine> = Vec::new();
        for point in &self.points {
            match lines.iter_mut().find(|line| line.points[0].others == point.others) {
                Some(line) => line.points.push(point),
                None => lines.push(CurveLine { points: vec![point], label: String::new() }),
            }
        }
        let all: Vec<_> = lines.iter().map(|line| &line.points[0].others).collect();
        let labels: Vec<_> = all.iter().map(|others| others.differing(&all)).collect();
        lines.iter_mut().zip(labels).for_each(|(line, label)| line.label = label);
        lines
    }

    /// Returns the point with the highest throughput. With a limit, only points that keep the limit are considered. Of
    /// several points with the same throughput, returns the point with the lowest value. Returns `None` if no request
    /// was answered.
    pub fn best(&self, limit: Option<&Limit>) -> Option<&CurvePoint> {
        let answered = self.points.iter().filter(|point| point.measured.ops > 0);
        let holding = answered.filter(|point| limit.is_none_or(|limit| point.holds(limit)));
        holding.rev().max_by(|one, other| one.ops_per_s().total_cmp(&other.ops_per_s()))
    }

    /// Returns the name of the receivers' times, if a point has receivers.
    pub fn received_name(&self) -> Option<&'static str> {
        self.points.iter().find_map(|point| point.received().map(|(name, _)| name))
    }

    /// Fits the universal scalability law to all points. Returns `None` if the dimension is not a concurrency, if the
    /// loop is open, if other settings differ, or if the law does not fit.
    pub fn law(&self) -> Option<Usl> {
        let is_one = self.lines().len() <= 1;
        // In an open loop, the requested rate determines the throughput.
        let is_free = self.points.iter().all(|point| !point.is_open());
        let points: Vec<_> =
            self.points.iter().map(|point| (point.value as f64, point.ops_per_s())).collect();
        (self.dimension.is_concurrency() && is_one && is_free).then(|| Usl::of(&points)).flatten()
    }
}

/// Returns each segment under load that has a value of the dimension, with this value and the other settings. Warm-ups
/// and segments that a search does not count are left out.
fn valued(dimension: Dimension, segments: Vec<&SegmentTotal>) -> Vec<(u64, OtherSettings, &SegmentTotal)> {
    let mut valued = Vec::new();
    // The value of each parameter before its first change.
    let mut config = BTreeMap::new();
    for change in segments.iter().filter_map(|segment| segment.start.config.as_ref()) {
        config.entry(change.name.as_str()).or_insert(change.from.as_str());
    }
    for segment in segments {
        let Segment { knobs, config: change, .. } = &segment.start;
        let is_aside = segment.start.aside().is_some() || segment.is_uncounted;
        if let Some(change) = change {
            config.insert(&change.name, &change.to);
        }
        let value = match dimension {
            Dimension::Parameter(parameter) => config.get(parameter.name).and_then(|now| now.parse().ok()),
            _ => dimension.value(knobs),
        };
        if let Some(value) = value.filter(|_| knobs.load && !is_aside && segment.total.length_s > 0.0) {
            let name = dimension.name();
            let config = config.iter().filter(|(set, _)| **set != name);
            let config = config.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let others = OtherSettings { knobs: dimension.others(knobs), config };
            valued.push((value, others, segment));
        }
    }
    valued
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        events::EventKind,
        knobs::Knob,
        session::{Event, Record, Timeline},
        stats::fixture::repeated,
    };

    const CLIENTS: Dimension = Dimension::Knob(Knob::Clients);

    fn on(clients: u32) -> Knobs {
        Knobs { load: true, clients, ..Knobs::default() }
    }

    /// Returns an interval of one second with `ops` replies. Each reply takes `us` microseconds.
    fn second(segment: u32, ops: u64, us: u64) -> Interval {
        let service = repeated(us * 1000, ops);
        let t_s = f64::from(segment) + 1.0;
        Interval { t_s, segment, length_s: 1.0, ops, ops_per_s: ops as f64, service, ..Interval::default() }
    }

    #[test]
    fn drained_replies_of_a_closed_loop_are_in_no_rate_of_a_point() {
        let mut total = second(1, 5000, 200);
        total.add(&Interval { drain: true, drained: 1000, ..second(1, 1000, 200) });
        assert_eq!((total.ops, total.ops_per_s), (6000, 5000.0));
        let mut curve = Curve::new(CLIENTS);
        curve.add(1, 1, &on(1), &total);
        assert_eq!(curve.add(1, 2, &on(1), &total).ops_per_s(), 5000.0);
    }

    fn timeline(
        segments: impl IntoIterator<Item = (Knobs, Option<(&'static str, &'static str)>, u64)>,
    ) -> Timeline {
        let mut timeline = Timeline::default();
        for (number, (knobs, config, ops)) in (1..).zip(segments) {
            let config = config.map(|(from, to)| crate::server::ConfigChange {
                name: "io-threads".to_owned(),
                from: from.to_owned(),
                to: to.to_owned(),
            });
            let t_s = f64::from(number);
            timeline.push(&Record::Segment(Segment { config, ..Segment::new(t_s, number, knobs) }));
            timeline.push(&Record::Interval(Box::new(second(number, ops, 100))));
        }
        timeline
    }

    fn rows(curve: &Curve) -> Vec<(u64, Vec<u32>, f64)> {
        curve.points.iter().map(|point| (point.value, point.segments.clone(), point.ops_per_s())).collect()
    }

    #[test]
    fn segments_with_equal_settings_are_one_point() {
        let off = Knobs { load: false, ..on(7) };
        let deep = Knobs { pipeline: 9, ..on(50) };
        let segments = [(on(100), 3000), (on(50), 1000), (off, 0), (deep, 9000), (on(50), 2000)];
        let timeline = timeline(segments.map(|(knobs, ops)| (knobs, None, ops)));
        let curve = Curve::of_segments(CLIENTS, timeline.segments.iter());
        assert_eq!(rows(&curve), [(50, vec![2, 5], 1500.0), (50, vec![4], 9000.0), (100, vec![1], 3000.0)]);
        assert_eq!(curve.points[0].latency().count(), 3000, "all of both");
        assert_eq!(curve.best(None).map(|point| point.segments.clone()), Some(vec![4]));
        let labels: Vec<_> = curve.lines().into_iter().map(|line| (line.points.len(), line.label)).collect();
        assert_eq!(labels, [(2, "pipeline 1".to_owned()), (1, "pipeline 9".to_owned())]);
    }

    /// Tests that the curve does not contain the disturbed trials of a search, or its pauses at half of their rate.
    #[test]
    fn disturbed_trials_and_the_pauses_of_a_search_are_left_out() {
        let mut timeline = Timeline::default();
        // The rate of each segment, and the results of its trials: whether the limit was held, and disturbances.
        let trials: [(u32, &[(bool, bool)]); 5] = [
            (800, &[(true, false), (false, true)]),
            (400, &[]),
            (800, &[(true, false)]),
            (900, &[(false, false)]),
            (450, &[(true, false)]),
        ];
        for (number, (rate, tried)) in (1..).zip(trials) {
            let knobs = Knobs { rate: Some(rate), ..on(50) };
            timeline.push(&Record::Segment(Segment::new(f64::from(number), number, knobs)));
            timeline.push(&Record::Interval(Box::new(second(number, u64::from(rate), 100))));
            for (is_held, is_disturbed) in tried.iter().copied() {
                let (limit, disturbed) = (String::new(), is_disturbed.then(String::new));
                let (length_s, ops_per_s, level_us) = (1.0, 1.0, None);
                let what =
                    EventKind::Tried { rate, length_s, is_held, limit, level_us, ops_per_s, disturbed };
                timeline.push(&Record::Event(Event::new(f64::from(number) + 1.0, what)));
            }
        }
        let curve = Curve::of_segments(Dimension::Knob(Knob::Rate), timeline.segments.iter());
        assert_eq!(rows(&curve), [(450, vec![5], 450.0), (800, vec![3], 800.0), (900, vec![4], 900.0)]);
    }

    #[test]
    fn before_its_first_change_a_parameter_has_the_old_value() {
        let set = [None, Some(("1", "4")), None, Some(("4", "1"))];
        let timeline = timeline(set.into_iter().map(|change| (on(50), change, 500)));
        let (threads, _) = Dimension::in_words("config io-threads 1").unwrap();
        let curve = Curve::of_segments(threads, timeline.segments.iter());
        assert_eq!(rows(&curve), [(1, vec![1, 4], 500.0), (4, vec![2, 3], 500.0)]);
        let by_clients = Curve::of_segments(CLIENTS, timeline.segments.iter());
        assert_eq!(rows(&by_clients), [(50, vec![1, 4], 500.0), (50, vec![2, 3], 500.0)], "counted apart");
    }

    #[test]
    fn the_best_point_keeps_the_limit_without_errors() {
        let mut curve = Curve::new(CLIENTS);
        for (clients, ops, us) in [(1, 1000, 100), (2, 2000, 400), (5, 5000, 900), (10, 9000, 5000)] {
            curve.add(clients, 1, &on(clients as u32), &second(1, ops, us));
        }
        let failing = Interval { errors: [("OOM".to_owned(), 1)].into(), ..second(1, 9500, 100) };
        curve.add(20, 1, &on(20), &failing);
        let best = |limit: &str| curve.best(Some(&limit.parse().unwrap())).map(|point| point.value);
        assert_eq!((curve.best(None).unwrap().value, best("p99<1ms"), best("p99<50us")), (20, Some(5), None));
        assert_eq!(curve.points[1].percentile_us(0.5).map(f64::round), Some(400.0));
        assert_eq!(curve.points[0].percentile_us(0.999), None, "a thousand are too few for it");
    }

    #[test]
    fn the_law_needs_a_concurrency_and_equal_other_settings() {
        let over = |dimension: Dimension, others: fn(&mut Knobs)| {
            let mut curve = Curve::new(dimension);
            for n in [1, 2, 5, 10, 20, 50, 100] {
                let mut knobs = on(n);
                others(&mut knobs);
                let (n, all) = (f64::from(n), 1e5);
                let ops = (all * n / (1.0 + 0.03 * (n - 1.0) + 0.97 / 900.0 * n * (n - 1.0))) as u64;
                curve.add(n as u64, 1, &knobs, &second(1, ops, 100));
            }
            curve.law().and_then(|law| law.knee).map(|knee| knee.at.round())
        };
        assert_eq!(over(CLIENTS, |_| {}), Some(30.0));
        assert_eq!(over(CLIENTS, |knobs| knobs.pipeline = knobs.clients), None);
        assert_eq!(over(Dimension::Knob(Knob::ValueSize), |knobs| knobs.clients = 1), None);
    }
}
