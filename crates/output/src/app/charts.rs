//! The charts of the Overview screen: their content and their vertical axes.
//!
//! The range of the throughput chart fits one segment: the last segment in view or, in a frozen view, the segment at
//! the cursor. The range also includes other segments, if the details of this segment stay visible.

use std::collections::BTreeMap;

use super::{
    AxisScale, TimeAxis, ValueAxis,
    axis::{ValueRanges, at},
};
use crate::session::{
    Segment,
    timeline::{Level, LoadCell, Quantiles, Segments, Timed},
};

/// The content of the charts, and the axes of the last drawn picture.
#[derive(Debug, Clone, Copy, Default)]
pub struct Charts {
    /// Whether latencies are response or service times.
    pub timed: Timed,
    /// Whether the throughput's axis is linear or logarithmic.
    pub scale: AxisScale,
    pub(super) latency: Option<ValueAxis>,
    pub(super) throughput: Option<ValueAxis>,
}

/// The share of all p50 values that may be below the axis.
const BELOW: f64 = 0.01;
/// The share of a segment's p99.9 values that the axis contains.
const MOST: f64 = 0.85;
/// The smallest number of columns of a segment for which the axis fits p99.9. For shorter segments, the axis fits p99.
/// The change of load settings that began the segment may have raised its first p99.9 values.
const FEW: usize = 4;

impl Charts {
    /// Returns the axis for these columns of latencies. The axis begins a little below the lowest p50. In each segment,
    /// most p99.9 values are below the end of the axis. Stalls and short segments do not determine the axis. Returns
    /// `None` without measurements.
    pub fn latency_axis(
        &self,
        columns: &[Option<Quantiles>],
        axis: &TimeAxis,
        segments: &Segments,
    ) -> Option<ValueAxis> {
        let mut medians = Vec::new();
        let mut by_segment: BTreeMap<u32, Vec<&Quantiles>> = BTreeMap::new();
        for (n, column) in (0..).zip(columns) {
            let Some(column) = column else { continue };
            let middle_s = axis.start_s(n) + axis.step_s / 2.0;
            let segment = segments.start_at(middle_s).map_or(0, |start| start.segment);
            by_segment.entry(segment).or_default().push(column);
            medians.extend(known(column, Level::P50));
        }
        let low = at(BELOW, medians, u64::cmp)?;
        let high = by_segment.values().filter_map(|columns| tail(columns)).max()?;
        Some(ValueAxis::log(self.latency, low.max(1) as f64, high.max(low).max(1) as f64))
    }

    /// Returns the throughput axis for these columns, with the cursor at `cursor_s`. `None` without measurements.
    pub fn throughput_axis(
        &self,
        columns: &[Option<LoadCell>],
        axis: &TimeAxis,
        segments: &Segments,
        cursor_s: Option<f64>,
    ) -> Option<ValueAxis> {
        let segments = by_segment(columns, axis, segments, cursor_s);
        of(self.throughput, self.scale, &segments)
    }

    /// Forgets the axes. The next picture begins with new axes.
    pub(super) fn refit(&mut self) {
        self.latency = None;
        self.throughput = None;
    }
}

/// Returns a latency that is at least as long as the p99.9 of most columns of a segment.
fn tail(columns: &[&Quantiles]) -> Option<u64> {
    let level = if columns.len() < FEW { Level::P99 } else { Level::P999 };
    at(MOST, columns.iter().filter_map(|column| known(column, level)).collect(), u64::cmp)
}

/// Returns the column's percentile `level`. If this percentile has too few samples, returns the next lower percentile
/// with enough samples. Without such a percentile, returns the maximum.
fn known(column: &Quantiles, level: Level) -> Option<u64> {
    let below = Level::ALL.iter().rev().skip_while(|other| **other != level);
    below.copied().find_map(|level| column.get(level)).or_else(|| column.get(Level::Max))
}

/// The throughput in the columns of a segment, in good replies per second.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Rates {
    /// The mean of each column.
    means: Vec<f64>,
    /// The rates of the slowest and the fastest quarter of a second.
    extremes: Option<(f64, f64)>,
    /// The requested rate.
    requested: Option<f64>,
}

/// The largest share of a segment's columns that may be below the visible range. The same share may be above the range.
/// A stall or the start of a segment therefore does not determine the range.
const OUTLIERS: f64 = 0.05;

/// Returns the segments in view. If the segment at `cursor_s` is in view, this segment is moved to the end.
pub(super) fn by_segment(
    columns: &[Option<LoadCell>],
    axis: &TimeAxis,
    segments: &Segments,
    cursor_s: Option<f64>,
) -> Vec<Rates> {
    let mut by_segment: BTreeMap<u32, Rates> = BTreeMap::new();
    for (n, column) in (0..).zip(columns) {
        let Some((cell, mean)) = column.as_ref().and_then(|cell| Some((cell, cell.ops_per_s()?))) else {
            continue;
        };
        let segment = segments.start_at(axis.start_s(n) + axis.step_s / 2.0);
        let rates = by_segment.entry(segment.map_or(0, |start| start.segment)).or_default();
        rates.means.push(mean);
        rates.extremes = [rates.extremes, cell.extremes()].into_iter().flatten().reduce(around);
        rates.requested = segment.and_then(Segment::rate_due).map(f64::from);
    }
    let at_cursor = cursor_s.and_then(|cursor_s| segments.start_at(cursor_s));
    let last = at_cursor.and_then(|segment| by_segment.remove(&segment.segment));
    by_segment.into_values().chain(last).collect()
}

/// Returns the axis for `segments`. The result is the axis `kept` if this axis still fits, otherwise a new axis.
/// Returns `None` without measurements.
pub(super) fn of(kept: Option<ValueAxis>, spread: AxisScale, segments: &[Rates]) -> Option<ValueAxis> {
    let last = segments.last()?;
    let most = |rates: &Rates| {
        let of_all = |share| at(share, rates.means.clone(), f64::total_cmp);
        Some((of_all(OUTLIERS)?, of_all(1.0 - OUTLIERS)?))
    };
    let asked = |rates: &Rates| rates.requested.map(|rate| (rate, rate));
    let all = |of: &dyn Fn(&Rates) -> Option<(f64, f64)>| segments.iter().filter_map(of).reduce(around);
    let core = most(last)?;
    let means = all(&most).map_or(core, |means| around(means, core));
    let extremes = all(&|rates| rates.extremes).map_or(means, |extremes| around(means, extremes));
    if spread == AxisScale::Log {
        // A stall to almost zero would make the logarithmic axis very long.
        let high = all(&asked).map_or(extremes.1, |asked| extremes.1.max(asked.1));
        return Some(ValueAxis::log(kept, means.0.max(1.0), high.max(means.0).max(1.0)));
    }
    let of_last = last.extremes.map_or(core, |extremes| around(core, extremes));
    let with = |range, asked: Option<(f64, f64)>| asked.map_or(range, |asked| around(range, asked));
    let ranges = vec![
        with(extremes, all(&asked)),
        extremes,
        with(around(means, of_last), asked(last)),
        around(means, of_last),
        with(of_last, asked(last)),
        of_last,
        with(core, asked(last)),
        core,
    ];
    let usual = at(0.5, last.means.clone(), f64::total_cmp)?;
    ValueAxis::linear(kept, &ValueRanges { usual, ranges })
}

/// Returns the range that contains both ranges.
fn around(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0.min(b.0), a.1.max(b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        app::{Model, Msg, update},
        knobs::Knobs,
        session::{Interval, Record, TimelineOptions},
        stats::fixture::latency_of,
    };

    /// Returns a column of 20 000 requests that take between `median` and nine times as long.
    fn column(median: u64, max: u64) -> Option<Quantiles> {
        let body = (0..20_000).map(|n| if n % 100 == 0 { median * 9 } else { median });
        Some(Quantiles::of(&latency_of(body.chain([max]))))
    }

    fn axis_of(columns: &[Option<Quantiles>]) -> Option<ValueAxis> {
        let axis = TimeAxis::holding(columns.len() as f64, 0.0, columns.len() as u16, 1.0);
        Charts::default().latency_axis(columns, &axis, &Segments::default())
    }

    #[test]
    fn an_axis_holds_p50_to_most_p99_9_and_no_stall() {
        let calm = vec![column(300_000, 3_000_000); 20];
        let axis = axis_of(&calm).unwrap();
        assert!(axis.share(300_000.0) > 0.0 && axis.share(2_700_000.0) < 1.0, "{axis:?}");
        let mut stalled = calm;
        stalled[7] = column(300_000, 1_000_000_000);
        stalled[8] = column(50_000_000, 1_000_000_000);
        assert_eq!(axis_of(&stalled), Some(axis));
    }

    #[test]
    fn there_is_no_axis_without_replies_and_one_reply_is_enough() {
        assert_eq!(axis_of(&[None, None]), None);
        let one = Some(Quantiles::of(&latency_of([70_000])));
        assert!((0.0..1.0).contains(&axis_of(&[None, one]).unwrap().share(70_000.0)));
    }

    #[test]
    fn an_axis_changes_seldom_however_often_it_is_drawn() {
        let mut model = Model::new(Knobs::default(), TimelineOptions::default());
        let (mut axes, mut throughputs) = (Vec::new(), Vec::new());
        for tick in 1..=400_u32 {
            let median = 300_000 + u64::from(tick * 7919 % 41) * 1000;
            let slow = median * (4 + u64::from(tick * 104_729 % 7));
            let service = latency_of((0..2_000).map(|n| if n % 100 == 0 { slow } else { median }));
            let t_s = f64::from(tick) * 0.25;
            let ops = 20_000 + u64::from(tick * 7919 % 1999);
            let interval = Interval { t_s, length_s: 0.25, segment: 1, ops, service, ..Interval::default() };
            model.push(&Record::Interval(Box::new(interval)));
            update(&mut model, Msg::Columns(60));
            axes.push(model.charts.latency);
            throughputs.push(model.charts.throughput);
        }
        axes.dedup();
        throughputs.dedup();
        assert!(axes.len() <= 3 && throughputs.len() <= 3, "{axes:?} {throughputs:?}");
    }

    fn rates(means: &[f64], extremes: (f64, f64)) -> Rates {
        Rates { means: means.to_vec(), extremes: Some(extremes), requested: None }
    }

    fn shows(axis: ValueAxis, value: f64) -> bool {
        (0.0..=1.0).contains(&axis.share(value))
    }

    #[test]
    fn the_last_segment_is_shown_in_detail_and_others_if_their_values_are_near() {
        let near = rates(&[120e3; 10], (110e3, 130e3));
        let far = rates(&[900e3; 10], (880e3, 910e3));
        let last = rates(&[160e3; 10], (150e3, 170e3));
        let axis = of(None, AxisScale::Linear, &[near.clone(), last.clone()]).unwrap();
        assert!(shows(axis, 110e3) && shows(axis, 170e3), "{axis:?}");
        let axis = of(None, AxisScale::Linear, &[near, far.clone(), last.clone()]).unwrap();
        assert!(shows(axis, 150e3) && shows(axis, 176e3) && !shows(axis, 880e3), "{axis:?}");
        assert!(axis.share(176e3) - axis.share(160e3) > 0.1, "{axis:?}");
        let log = of(None, AxisScale::Log, &[far, last]).unwrap();
        assert!(shows(log, 160e3) && shows(log, 910e3), "{log:?}");
    }

    #[test]
    fn a_requested_rate_is_shown_if_it_is_near_and_so_is_a_stall_down_to_zero() {
        let last = Rates { requested: Some(100e3), ..rates(&[88e3; 30], (80e3, 90e3)) };
        assert!(shows(of(None, AxisScale::Linear, &[last]).unwrap(), 100e3));
        let overloaded = Rates { requested: Some(1e6), ..rates(&[88e3; 30], (80e3, 90e3)) };
        let axis = of(None, AxisScale::Linear, &[overloaded]).unwrap();
        assert!(!shows(axis, 1e6) && shows(axis, 88e3));
        let stalled = rates(&[88e3; 30], (0.0, 90e3));
        assert_eq!(of(None, AxisScale::Linear, &[stalled]).unwrap().low, 0.0);
        assert_eq!(of(None, AxisScale::Linear, &[]), None);
    }
}
