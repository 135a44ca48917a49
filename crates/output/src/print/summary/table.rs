//! The summary's table of the segments under load: the changed settings and the results.
//!
//! ```text
//!   seg   change           ops/s     p50      p99    p99.9      max  errors
//!     1   50×1             121 k  292 µs   583 µs  1.20 ms  7.70 ms       0
//!     2*  clients 200      125 k  1.1 ms  2.01 ms  3.10 ms  9.20 ms       0
//!     3   rate 50 k/s     49.9 k  210 µs   402 µs  1.02 ms  6.10 ms       0
//!         response times          212 µs   410 µs  1.10 ms  6.20 ms
//!   * redyno itself was the limit
//! ```
//! The table fits into 80 columns, unless a parameter of the server has a long name.

use crate::{
    diagnose::of_segment,
    print::{ParameterChanges, change},
    server::value_words,
    session::{
        Timeline,
        figures::{self, Figure, Row},
        timeline::SegmentTotal,
    },
    units,
};

/// The text of a change is broken into lines of this width. Longer words exceed the width.
const TURNED_WIDTH: usize = 18;
const SERVICE: [Figure; 6] = [
    figures::OPS_PER_S,
    figures::SERVICE_P50,
    figures::SERVICE_P99,
    figures::SERVICE_P999,
    figures::SERVICE_MAX,
    figures::ERRORS,
];
/// The columns of the additional row with response times; `None` is a blank column.
const RESPONSE: [Option<Figure>; 6] = [
    None,
    Some(figures::RESPONSE_P50),
    Some(figures::RESPONSE_P99),
    Some(figures::RESPONSE_P999),
    Some(figures::RESPONSE_MAX),
    None,
];

/// A segment under load.
pub(super) struct SegmentRow<'a> {
    pub(super) segment: &'a SegmentTotal,
    /// The changes since the previous row of the table.
    turned: Vec<String>,
    /// Whether the segment has the same setting as the previous row.
    pub(super) is_as_before: bool,
}

/// Returns the rows of all segments under load, oldest first.
pub(super) fn rows(timeline: &Timeline) -> Vec<SegmentRow<'_>> {
    let mut rows: Vec<SegmentRow> = Vec::new();
    let mut set = ParameterChanges::default();
    let mut set_before = ParameterChanges::default();
    for segment in timeline.segments.iter() {
        set.take(&segment.start);
        if !segment.start.knobs.load || segment.start.prefill.is_some() {
            continue;
        }
        let before = rows.last().map(|row| &row.segment.start);
        let is_same = before.is_some_and(|before| before.knobs == segment.start.knobs);
        let turned = set.since(&set_before).into_iter();
        let mut turned: Vec<_> = turned.map(|(name, to)| format!("{name} {}", value_words(to))).collect();
        let is_as_before =
            is_same && turned.is_empty() && before.is_some_and(|before| before.aside().is_none());
        if !is_same || turned.is_empty() {
            turned.splice(0..0, change(before.map(|before| &before.knobs), &segment.start.knobs));
        }
        turned.splice(0..0, segment.start.aside().map(str::to_owned));
        rows.push(SegmentRow { segment, turned, is_as_before });
        set_before = set.clone();
    }
    rows
}

/// Returns the table as text. `forgotten` is the number of older segments without a row.
pub(super) fn table(rows: &[SegmentRow], forgotten: u64) -> String {
    let mut lines = vec![heading()];
    if forgotten > 0 {
        let note = format!("{forgotten} earlier segments are no longer listed");
        lines.push([String::new(), note].into());
    }
    let mut is_limited = false;
    for row in rows {
        let found = of_segment(&row.segment.start, &row.segment.total, None);
        let is_ours = found.iter().any(|finding| finding.is_ours);
        is_limited |= is_ours;
        lines.extend(lines_of(row, is_ours));
    }
    let aligned = units::aligned(&lines, |n| n != 1);
    let mut text: String = aligned.lines().map(|line| format!("  {line}\n")).collect();
    if is_limited {
        text += "  * redyno itself was the limit\n";
    }
    text
}

fn heading() -> Vec<String> {
    let figures = SERVICE.iter().map(|figure| figure.heading.to_owned());
    ["seg ".to_owned(), "change".to_owned()].into_iter().chain(figures).collect()
}

fn lines_of(row: &SegmentRow, is_limited: bool) -> Vec<Vec<String>> {
    let figures = Row::of_interval(&row.segment.total);
    let mark = if is_limited { '*' } else { ' ' };
    let mut turned = packed(&row.turned).into_iter();
    let head = [format!("{}{mark}", row.segment.start.segment), turned.next().unwrap_or_default()];
    let service = SERVICE.iter().map(|figure| figure.cell(&figures));
    let mut lines = vec![head.into_iter().chain(service).collect()];
    lines.extend(turned.map(|words| vec![String::new(), words]));
    if figures.response.is_some() {
        let cell = |figure: &Figure| figure.cell(&figures);
        let response = RESPONSE.iter().map(|figure| figure.as_ref().map_or_else(String::new, cell));
        lines.push([String::new(), "response times".to_owned()].into_iter().chain(response).collect());
    }
    lines
}

/// Returns the words as lines that fit the column.
fn packed(words: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 2 + word.chars().count() <= TURNED_WIDTH => {
                *line += &format!(", {word}");
            }
            last => {
                last.into_iter().for_each(|line| line.push(','));
                lines.push(word.clone());
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        server::ConfigChange,
        session::{Client, Interval, Record, Segment, WorkerCost},
        stats::fixture::repeated,
    };

    /// Adds ten seconds under load with these knobs, after `config` was set.
    fn segment(timeline: &mut Timeline, knobs: Knobs, config: Option<(&str, &str)>, cpu: f64) {
        let segment = timeline.segments.current().map_or(1, |current| current.start.segment + 1);
        let config = config.map(|(from, to)| ConfigChange {
            name: "hz".to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        });
        let response = knobs.rate.map(|_| repeated(800_000, 20_000));
        let t_s = timeline.now_s;
        timeline.push(&Record::Segment(Segment { config, ..Segment::new(t_s, segment, knobs) }));
        timeline.push(&Record::Interval(Box::new(Interval {
            t_s: t_s + 10.0,
            length_s: 10.0,
            segment,
            ops: 1_210_000,
            ops_per_s: 121_000.0,
            service: repeated(312_000, 20_000),
            response,
            client: Some(Client::of(vec![WorkerCost { cpu, ..WorkerCost::default() }])),
            ..Interval::default()
        })));
    }

    #[test]
    fn each_segment_has_its_changes_and_its_figures() {
        let mut timeline = Timeline::default();
        let knobs = Knobs { load: true, ..Knobs::default() };
        let more = Knobs { clients: 200, pipeline: 16, ..knobs.clone() };
        segment(&mut timeline, knobs, None, 0.5);
        segment(&mut timeline, more.clone(), None, 0.97);
        segment(&mut timeline, more.clone(), Some(("10", "100")), 0.5);
        segment(&mut timeline, Knobs { rate: Some(50_000), ..more }, Some(("100", "10")), 0.5);
        let expected = "\
\u{20} seg   change              ops/s     p50     p99   p99.9     max  errors
\u{20}   1   50×1                121 k  312 µs  312 µs  312 µs  312 µs       0
\u{20}   2*  clients 200,        121 k  312 µs  312 µs  312 µs  312 µs       0
\u{20}       pipeline 16
\u{20}   3   hz 100              121 k  312 µs  312 µs  312 µs  312 µs       0
\u{20}   4   rate 50 k/s, hz 10  121 k  312 µs  312 µs  312 µs  312 µs       0
\u{20}       response times             800 µs  800 µs  800 µs  800 µs
\u{20} * redyno itself was the limit
";
        assert_eq!(table(&rows(&timeline), 0), expected);
        assert!(expected.lines().all(|line| line.chars().count() <= 80));
    }
}
