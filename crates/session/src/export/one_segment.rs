//! Selects one segment of a session, so that the segment can be exported like a session.

use crate::session::Record;

/// A filter for the records of one segment.
#[derive(Debug, Clone, Copy)]
pub struct OneSegment {
    number: u32,
    from_s: f64,
    to_s: f64,
}

impl OneSegment {
    /// Returns a filter for the segment with this number.
    pub fn numbered(number: u32) -> Self {
        Self { number, from_s: f64::INFINITY, to_s: f64::INFINITY }
    }

    /// Returns whether a record belongs to the segment. A segment contains its own records and all other
    /// records within its time, such as events. The `end` record belongs to no segment, because it sums up
    /// the whole session.
    pub fn has(&mut self, record: &Record) -> bool {
        match record {
            Record::Session(_) => true,
            other if !other.is_of(0) => false,
            Record::Segment(segment) if segment.segment == self.number => {
                self.from_s = segment.t_s;
                true
            }
            Record::Segment(segment) => {
                if segment.t_s >= self.from_s {
                    self.to_s = self.to_s.min(segment.t_s);
                }
                false
            }
            // The last replies to a segment's requests may arrive after its end.
            Record::Interval(interval) => interval.segment == self.number,
            Record::End(_) => false,
            other => other.t_s().is_some_and(|t_s| (self.from_s..=self.to_s).contains(&t_s)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        session::{Interval, Mark, Segment, SessionEnd},
    };

    #[test]
    fn a_segment_has_its_own_records_and_those_within_its_time() {
        let segment = |t_s, number| Record::Segment(Segment::new(t_s, number, Knobs::default()));
        let interval =
            |t_s, segment| Record::Interval(Box::new(Interval { t_s, segment, ..Interval::default() }));
        let mark = |t_s| Record::Mark(Mark { t_s, text: String::new() });
        let end = Record::End(Box::new(SessionEnd {
            t_s: 9.0,
            summary: crate::session::Summary::default(),
            ..SessionEnd::default()
        }));
        let (own, late) = (interval(3.0, 2), interval(4.1, 2));
        let all = [
            segment(0.0, 1),
            interval(1.0, 1),
            mark(1.0),
            segment(2.0, 2),
            mark(2.0),
            own.clone(),
            segment(4.0, 3),
            late.clone(),
            interval(5.0, 3),
            mark(5.0),
            segment(6.0, 4),
            mark(7.0),
            end,
        ];
        let mut of = OneSegment::numbered(2);
        let kept: Vec<_> = all.into_iter().filter(|record| of.has(record)).collect();
        assert_eq!(kept, [segment(2.0, 2), mark(2.0), own, late]);
    }
}
