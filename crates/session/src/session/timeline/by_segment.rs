//! The latencies in one time slot of the timeline, separated by segment, so that a percentile never mixes two
//! load settings.

use super::{History, Level, Quantiles, history::Merge};
use crate::stats::{Blend, Compact, Latency};

/// A time slot keeps the latencies of at most this many segments separate. If there are more segments, the latencies of
/// the shortest segments are summed. This sum has no percentiles.
const MOST_PARTS: usize = 4;
/// The number of the entry for the sum of the shortest segments. Real segments have numbers from 1.
const SHARED: u32 = 0;

/// The latency distributions in one time slot, by segment.
#[derive(Debug, Clone, Default)]
pub struct BySegment {
    parts: Vec<OfSegment>,
    /// The longest latency of all segments.
    pub(super) worst: Option<Worst>,
}

#[derive(Debug, Clone)]
struct OfSegment {
    segment: u32,
    length_s: f64,
    latency: Compact,
}

/// The exact longest latency in a period, and the time when it was recorded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Worst {
    /// The end of the interval with this latency, in seconds of the session.
    pub t_s: f64,
    /// The latency, in nanoseconds.
    pub ns: u64,
}

impl BySegment {
    /// Adds latencies of `segment` that were measured in the `length_s` seconds before `t_s`. `length_s` is 0
    /// for late replies.
    pub(super) fn add(&mut self, segment: u32, t_s: f64, length_s: f64, latency: &Latency) {
        if !latency.is_empty() {
            self.lift(Worst { t_s, ns: latency.max_ns() });
        }
        self.add_part(OfSegment { segment, length_s, latency: Compact::of(latency) });
    }

    fn lift(&mut self, other: Worst) {
        if self.worst.is_none_or(|worst| other.ns > worst.ns) {
            self.worst = Some(other);
        }
    }

    fn add_part(&mut self, part: OfSegment) {
        match self.parts.iter_mut().find(|mine| mine.segment == part.segment) {
            Some(mine) => {
                mine.length_s += part.length_s;
                mine.latency.merge(&part.latency);
            }
            None => {
                // Nearly every time slot has one part. A plain push would reserve space for four parts.
                self.parts.reserve_exact(1);
                self.parts.push(part);
            }
        }
        if self.parts.len() > MOST_PARTS {
            let own = self.parts.iter().enumerate().filter(|(_, part)| part.segment != SHARED);
            let shortest = own.min_by(|(_, a), (_, b)| a.length_s.total_cmp(&b.length_s)).map(|(at, _)| at);
            if let Some(at) = shortest {
                let part = self.parts.remove(at);
                self.add_part(OfSegment { segment: SHARED, ..part });
            }
        }
    }

    /// Returns the number of latencies of `segment`.
    pub(super) fn count(&self, segment: u32) -> u64 {
        self.parts.iter().filter(|part| part.segment == segment).map(|part| part.latency.count()).sum()
    }

    /// Adds the latencies of `segment` to `blend`.
    pub(super) fn blend(&self, segment: u32, blend: &mut Blend) {
        self.parts.iter().filter(|part| part.segment == segment).for_each(|part| blend.add(&part.latency));
    }

    /// Adds latencies to the rows of a heat map, as [`Compact::add_to_rows`] does. `counts` selects the segments that
    /// are added.
    pub(super) fn add_to_rows(&self, counts: impl Fn(u32) -> bool, ends_ns: &[u64], rows: &mut [u64]) {
        let counted = self.parts.iter().filter(|part| counts(part.segment));
        counted.for_each(|part| part.latency.add_to_rows(ends_ns, rows));
    }

    /// Returns the numbers of the segments that are separate in this time slot.
    pub(super) fn segments(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().map(|part| part.segment).filter(|segment| *segment != SHARED)
    }
}

impl History<BySegment> {
    /// Returns the latencies of `segment` in the time slots that overlap the period from `from_s` to `to_s`.
    pub(super) fn of_segment(&self, segment: u32, from_s: f64, to_s: f64, blend: &mut Blend) -> Latency {
        self.between(from_s, to_s).for_each(|cell| cell.value.blend(segment, blend));
        blend.take()
    }
}

impl Merge for BySegment {
    fn merge(&mut self, later: Self) {
        later.parts.into_iter().for_each(|part| self.add_part(part));
        if let Some(worst) = later.worst {
            self.lift(worst);
        }
    }
}

/// Returns the segment with the most time in these time slots. If several segments have the same time,
/// returns the latest of these segments.
pub(super) fn longest_segment<'a>(cells: impl Iterator<Item = &'a BySegment>) -> Option<u32> {
    let mut lengths: Vec<(u32, f64)> = Vec::new();
    let own = |part: &&OfSegment| part.segment != SHARED && (part.length_s > 0.0 || !part.latency.is_empty());
    for part in cells.flat_map(|cell| &cell.parts).filter(own) {
        match lengths.iter_mut().find(|(segment, _)| *segment == part.segment) {
            Some((_, length_s)) => *length_s += part.length_s,
            None => lengths.push((part.segment, part.length_s)),
        }
    }
    lengths.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0))).map(|(segment, _)| segment)
}

/// Returns the percentiles of the segment with the most time in these time slots, and the maximum of all segments.
pub(super) fn levels(cells: &[&BySegment], blend: &mut Blend) -> Quantiles {
    let segment = longest_segment(cells.iter().copied());
    levels_of(segment, cells, cells, blend)
}

/// Returns the percentiles and the maximum of the requests in these time slots. The latencies are response times if the
/// segment with the most time is an open loop, and service times otherwise.
pub(super) fn levels_from_due(
    service: &[&BySegment],
    response: &[&BySegment],
    blend: &mut Blend,
) -> Quantiles {
    let all: Vec<_> = service.iter().chain(response).copied().collect();
    let segment = longest_segment(service.iter().copied()).or_else(|| longest_segment(all.iter().copied()));
    let is_open = response.iter().any(|cell| cell.segments().any(|open| Some(open) == segment));
    levels_of(segment, if is_open { response } else { service }, &all, blend)
}

/// Returns the percentiles of `segment` in these time slots, and the maximum of `all`.
fn levels_of(segment: Option<u32>, cells: &[&BySegment], all: &[&BySegment], blend: &mut Blend) -> Quantiles {
    if let Some(segment) = segment {
        cells.iter().for_each(|cell| cell.blend(segment, blend));
    }
    let mut quantiles = Quantiles::of(&blend.take());
    if let Some(worst) = all.iter().filter_map(|cell| cell.worst).map(|worst| worst.ns).max() {
        debug_assert!(quantiles.get(Level::Max).is_none_or(|max| max <= worst));
        quantiles.lift_max(worst);
    }
    quantiles
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::fixture::repeated;

    #[test]
    fn percentiles_are_of_the_longest_segment_and_the_maximum_of_all() {
        let mut parts = BySegment::default();
        parts.add(1, 0.1, 0.1, &repeated(1_000, 500));
        parts.add(2, 0.25, 0.15, &repeated(500_000, 50));
        parts.add(1, 0.25, 0.0, &repeated(90_000_000, 1));
        let levels = levels(&[&parts], &mut Blend::default());
        assert!(levels.get(Level::P50).is_some_and(|ns| ns.abs_diff(500_000) < 16_000));
        assert_eq!(levels.get(Level::Max), Some(90_000_000));
        assert_eq!(parts.worst, Some(Worst { t_s: 0.25, ns: 90_000_000 }));
    }

    #[test]
    fn latencies_are_response_times_if_the_longest_segment_is_an_open_loop() {
        let cell = |parts: &[(u32, f64, u64)]| {
            let mut cell = BySegment::default();
            parts.iter().for_each(|(n, length_s, ns)| cell.add(*n, 1.0, *length_s, &repeated(*ns, 100)));
            cell
        };
        let median = |closed_s, open_s| {
            let service = cell(&[(1, closed_s, 1_000), (2, open_s, 2_000)]);
            let response = cell(&[(2, open_s, 9_000)]);
            let levels = levels_from_due(&[&service], &[&response], &mut Blend::default());
            (levels.get(Level::P50), levels.get(Level::Max))
        };
        let about = |ns: Option<u64>, usual: u64| ns.is_some_and(|ns| ns.abs_diff(usual) <= usual / 30);
        let (closed, open) = (median(0.7, 0.3), median(0.3, 0.7));
        assert!(about(closed.0, 1_000) && about(open.0, 9_000), "{closed:?} {open:?}");
        assert_eq!((closed.1, open.1), (Some(9_000), Some(9_000)), "the maximum is that of all");
    }

    #[test]
    fn many_segments_in_one_cell_need_bounded_memory_and_lose_no_count() {
        let mut parts = BySegment::default();
        for segment in 1..=50 {
            let length_s = if segment == 7 { 3.0 } else { 0.1 };
            parts.add(segment, 1.0, length_s, &repeated(u64::from(segment) * 1_000, 20));
        }
        assert!(parts.parts.len() <= MOST_PARTS);
        assert_eq!(longest_segment([&parts].into_iter()), Some(7));
        let mut rows = [0; 2];
        parts.add_to_rows(|_| true, &[26_000, u64::MAX], &mut rows);
        assert_eq!(rows, [500, 500]);
        assert_eq!(parts.worst.map(|worst| worst.ns), Some(50_000));
    }
}
