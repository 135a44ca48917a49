use super::*;
use crate::load::LoadOutput;

#[test]
fn intervals_of_a_segment_wait_for_its_record() {
    let load = LoadOutput { rings: Vec::new(), joined: channel().1, events: channel().1 };
    let mut records = TargetRecords::of_load(Clock::start(), load, None);
    let loaded = |segment| Segment::new(0.0, segment, Knobs { load: true, ..Knobs::default() });
    let interval = |segment, ops| Interval { segment, ops, t_s: 0.25, length_s: 0.25, ..Interval::default() };
    records.begin_segment(loaded(1));
    records.make_intervals(vec![interval(1, 3), interval(2, 5)]);
    records.make_intervals(vec![interval(2, 7)]);
    records.begin_segment(loaded(2));
    let seen: Vec<_> = records
        .take()
        .iter()
        .filter_map(|record| match record {
            Record::Segment(segment) => Some((segment.segment, None)),
            Record::Interval(interval) => Some((interval.segment, Some(interval.ops))),
            _ => None,
        })
        .collect();
    assert_eq!(seen, [(1, None), (1, Some(3)), (2, None), (2, Some(5)), (2, Some(7))]);
}
