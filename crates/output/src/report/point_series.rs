//! The points of a report's chart over time. The number of points is limited. Each point is the exact sum of the
//! measurements in its period.
//!
//! ```text
//!  records  │1s│1s│1s│1s│1s│1s┊1s│1s│        ┊ a new segment
//!  points   │  1 s: as recorded  ┊  │   ...  too many: │  2 s  │  2 s  │  ┊  2 s  │
//! ```
//! No point contains measurements of two segments. A session with very many segments has at least one point for each
//! segment.

/// The maximum number of points, unless there are more segments.
pub(super) const MOST: usize = 2000;
/// The maximum length of a point in seconds: a day.
const LONGEST_S: f64 = 86_400.0;

/// A point shorter than this share of a step is joined with a neighbour. Such short points occur when a segment begins
/// or ends within a second.
const SLIVER: f64 = 0.2;
/// The maximum length of a joined point, in steps.
const LONGEST: f64 = 1.5;

/// The measurements of a period within one segment.
#[derive(Debug, Clone)]
pub(super) struct SeriesPoint<T> {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    segment: u32,
    pub(super) part: T,
}

impl<T> SeriesPoint<T> {
    /// Returns whether both points belong to the same segment.
    pub(super) fn is_of_segment_of(&self, other: &Self) -> bool {
        self.segment == other.segment
    }

    /// Returns the middle of the point in seconds, rounded to milliseconds.
    pub(super) fn middle_s(&self) -> f64 {
        ((self.from_s + self.to_s) * 500.0).round() / 1000.0
    }
}

/// The measurements of a quantity over time.
pub(super) struct PointSeries<T> {
    /// The approximate maximum length of a point, in seconds.
    pub(super) step_s: f64,
    pub(super) points: Vec<SeriesPoint<T>>,
    /// The number of records that were merged into the points.
    pub(super) records: u64,
    /// Adds a later measurement to a measurement.
    merge: fn(&mut T, &T),
}

impl<T> PointSeries<T> {
    /// Creates a series of measurements that `merge` merges without loss.
    pub(super) fn merged_by(merge: fn(&mut T, &T)) -> Self {
        Self { step_s: 1.0, points: Vec::new(), records: 0, merge }
    }

    /// Adds the measurements of `segment` in the `length_s` seconds before `t_s`. A length of 0 means measurements that
    /// arrived after the segment's end.
    pub(super) fn push(&mut self, segment: u32, t_s: f64, length_s: f64, part: T) {
        self.records += 1;
        let point = SeriesPoint { from_s: t_s - length_s.max(0.0), to_s: t_s, segment, part };
        let of_segment = |one: &&mut SeriesPoint<T>| one.segment == segment;
        match self.points.iter_mut().rev().find(of_segment) {
            Some(last) if length_s <= 0.0 => (self.merge)(&mut last.part, &point.part),
            _ => self.add(point),
        }
        while self.points.len() > MOST && self.step_s < LONGEST_S {
            self.step_s *= 2.0;
            let points = std::mem::take(&mut self.points);
            points.into_iter().for_each(|point| self.add(point));
        }
    }

    /// Adds a point. The point is joined with the last point of the same segment if both points are within one step.
    /// The points are also joined if one of them is very short.
    fn add(&mut self, point: SeriesPoint<T>) {
        let step_s = self.step_s;
        let is_one = |last: &SeriesPoint<T>| {
            let step = |point: &SeriesPoint<T>| ((point.from_s + point.to_s) / 2.0 / step_s).floor();
            let is_sliver = |point: &SeriesPoint<T>| point.to_s - point.from_s < SLIVER * step_s;
            let is_short = point.to_s - last.from_s <= LONGEST * step_s;
            step(last) == step(&point) || is_short && (is_sliver(last) || is_sliver(&point))
        };
        match self.points.last_mut() {
            Some(last) if last.segment == point.segment && is_one(last) => {
                last.to_s = last.to_s.max(point.to_s);
                (self.merge)(&mut last.part, &point.part);
            }
            // The last measurements of a segment may arrive after the next segment has begun.
            _ => {
                let place = self.points.partition_point(|before| before.from_s <= point.from_s);
                self.points.insert(place, point);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(seconds: u32, segment_of: fn(u32) -> u32) -> PointSeries<u64> {
        let mut course = PointSeries::merged_by(|sum, later| *sum += later);
        (0..seconds).for_each(|n| course.push(segment_of(n), f64::from(n) + 1.0, 1.0, 1));
        course
    }

    #[test]
    fn a_long_session_has_a_bounded_number_of_points_and_loses_nothing() {
        let course = course(10_000, |n| n / 777);
        assert!(course.points.len() <= MOST && course.points.len() > MOST / 3);
        assert_eq!(course.points.iter().map(|point| point.part).sum::<u64>(), 10_000);
        assert_eq!((course.step_s, course.records), (8.0, 10_000));
        assert!(course.points.windows(2).all(|pair| pair[0].to_s <= pair[1].from_s));
    }

    #[test]
    fn each_second_is_a_point_while_there_is_room() {
        assert_eq!(course(600, |_| 1).points.len(), 600);
        let mut ticks = PointSeries::merged_by(|sum, later| *sum += later);
        (1..=40).for_each(|n| ticks.push(1, f64::from(n) / 4.0, 0.25, 1));
        assert_eq!(ticks.points.iter().map(|point| point.part).collect::<Vec<_>>(), [4; 10]);
    }

    #[test]
    fn a_very_short_point_is_joined_with_its_neighbour() {
        let mut course = PointSeries::merged_by(|sum, later| *sum += later);
        for (segment, t_s, length_s) in
            [(1, 1.0, 1.0), (1, 1.996, 0.996), (2, 2.0, 0.004), (2, 3.0, 1.0), (2, 3.01, 0.01)]
        {
            course.push(segment, t_s, length_s, 1);
        }
        assert_eq!(course.points.iter().map(|point| point.part).collect::<Vec<_>>(), [1, 1, 3]);
        assert_eq!((course.points[2].from_s, course.points[2].to_s), (1.996, 3.01));
    }

    #[test]
    fn points_are_in_the_order_of_time() {
        let mut course = PointSeries::merged_by(|sum, later| *sum += later);
        for (segment, t_s, length_s) in [(1, 1.0, 1.0), (2, 2.5, 0.9), (1, 1.6, 0.6), (2, 3.5, 1.0)] {
            course.push(segment, t_s, length_s, 1);
        }
        assert!(course.points.is_sorted_by_key(SeriesPoint::middle_s), "{:?}", course.points);
        assert_eq!(course.points.iter().map(|point| point.part).collect::<Vec<_>>(), [1, 1, 1, 1]);
    }

    #[test]
    fn no_point_has_two_segments_and_late_replies_belong_to_their_segment() {
        let mut many = course(3 * MOST as u32, |n| n);
        assert_eq!(many.points.len(), 3 * MOST, "a point a setting");
        many.push(17, 9e9, 0.0, 100);
        assert_eq!(many.points[17].part, 101);
    }
}
