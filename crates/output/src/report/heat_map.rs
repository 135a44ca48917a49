//! A report's heat map: the number of requests in each bin over time. A bin is a range of latencies. The width of a bin
//! is about a tenth of its latency.

use serde::Serialize;

use super::point_series::SeriesPoint;
use crate::{session::Interval, session::timeline::Heat};

/// The maximum number of columns. No screen can show more columns.
const MOST_COLUMNS: usize = 600;
/// The number of tones (brightness levels) of the cells.
pub(super) const TONES: usize = 6;

/// A column of the heat map: the counts of a period.
#[derive(Debug, Clone, Serialize)]
pub(super) struct HeatColumn {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    /// The bin of the first count.
    pub(super) first: usize,
    /// The number of requests in each bin, from the bin `first` on.
    pub(super) counts: Vec<u64>,
}

/// The columns, in the order of time.
#[derive(Debug, Clone, Serialize)]
pub(super) struct HeatMap {
    pub(super) columns: Vec<HeatColumn>,
    /// The borders of the bins, in microseconds.
    pub(super) borders: Vec<f64>,
    /// The highest count of a cell.
    pub(super) most: u64,
}

impl HeatMap {
    /// Returns the heat map of these points; `None` if all counts are zero. A heat map shows response times in an open
    /// loop, and service times in a closed loop.
    pub(super) fn of(points: &[SeriesPoint<Interval>]) -> Option<Self> {
        let each = points.len().div_ceil(MOST_COLUMNS).max(1);
        // No column contains points of two segments.
        let segments = points.chunk_by(SeriesPoint::is_of_segment_of);
        let columns: Vec<_> = segments.flat_map(|points| points.chunks(each)).filter_map(column).collect();
        let most = columns.iter().flat_map(|column| &column.counts).copied().max()?;
        let last = columns.iter().map(|column| column.first + column.counts.len()).max()?;
        let borders = (0..=last).map(|bin| Heat::start_ns(bin) / 1e3).collect();
        Some(Self { columns, borders, most })
    }

    /// Returns the tone of a cell with this many requests, from 1 for the fewest requests. The scale is logarithmic.
    pub(super) fn tone(&self, count: u64) -> usize {
        let share = (count as f64).ln_1p() / (self.most as f64).ln_1p();
        ((share * TONES as f64).ceil() as usize).clamp(1, TONES)
    }

    /// Returns the lowest and the highest latency in the map, in µs.
    pub(super) fn range(&self) -> (f64, f64) {
        let first = self.columns.iter().map(|column| column.first).min().unwrap_or_default();
        let last = self.borders.len().saturating_sub(1);
        (self.borders[first.min(last)], self.borders[last])
    }
}

fn column(points: &[SeriesPoint<Interval>]) -> Option<HeatColumn> {
    let mut counts = Vec::new();
    let mut add = |ns: u64, n: u64| {
        let bin = Heat::bin(ns as f64);
        counts.resize(counts.len().max(bin + 1), 0);
        counts[bin] += n;
    };
    for point in points {
        let latency = point.part.response.as_ref().unwrap_or(&point.part.service);
        latency.cells().for_each(|(ns, n)| add(ns.min(latency.max_ns()), n));
        // Of requests longer than any bin, only the maximum is known.
        if latency.over_range() > 0 {
            add(latency.max_ns(), latency.over_range());
        }
    }
    let first = counts.iter().position(|n| *n > 0)?;
    let (from_s, to_s) = (points.first()?.from_s, points.last()?.to_s);
    let seconds = |s: f64| (s * 1000.0).round() / 1000.0;
    Some(HeatColumn { from_s: seconds(from_s), to_s: seconds(to_s), first, counts: counts.split_off(first) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::latency_of;

    fn point(n: u32, ns: impl Iterator<Item = u64>) -> SeriesPoint<Interval> {
        let mut course = super::super::point_series::PointSeries::merged_by(Interval::merge);
        let part = Interval { service: latency_of(ns), ..Interval::default() };
        course.push(1, f64::from(n) + 1.0, 1.0, part);
        course.points[0].clone()
    }

    #[test]
    fn no_column_spans_two_segments() {
        let mut course = super::super::point_series::PointSeries::merged_by(Interval::merge);
        for n in 0..1500 {
            let part = Interval { service: latency_of([40]), ..Interval::default() };
            let (segment, pause_s) = if n < 600 { (1, 0.0) } else { (2, 3600.0) };
            course.push(segment, f64::from(n) + 1.0 + pause_s, 1.0, part);
        }
        let heat = HeatMap::of(&course.points).unwrap();
        assert!(heat.columns.iter().all(|column| column.to_s - column.from_s < 10.0));
    }

    #[test]
    fn every_request_is_in_one_cell() {
        let times = [40, 150_000, 151_000, 99_000_000_000];
        let points: Vec<_> = (0..1500).map(|n| point(n, times.into_iter())).collect();
        let heat = HeatMap::of(&points).unwrap();
        assert!(heat.columns.len() <= MOST_COLUMNS && heat.columns.len() > MOST_COLUMNS / 2);
        let counted: u64 = heat.columns.iter().flat_map(|column| &column.counts).sum();
        assert_eq!(counted, 4 * 1500);
        let (low, high) = heat.range();
        assert!(low <= 0.1 && high >= 99e6, "{low} {high}");
        assert!((1..=3).contains(&heat.tone(1)) && heat.tone(heat.most) == TONES);
    }

    #[test]
    fn without_requests_there_is_no_map() {
        assert!(HeatMap::of(&[]).is_none());
        assert!(HeatMap::of(&[point(0, std::iter::empty())]).is_none());
    }
}
