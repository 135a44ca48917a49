//! The summary that a session leaves in the scrollback: a row a segment, the sum, the errors. A fold over records.
//!
//! ```text
//! segment                                                       ops      ops/s      p50      p99    p99.9      max   errors
//!       2  200 clients × 16, rate max, GET:SET 10:1, …       6.03 M    603 k/s  4.12 ms  9.10 ms  12.1 ms  14.0 ms        0
//! ```

use std::fmt::Write;

use super::lines::describe;
use crate::{
    session::{End, Record, Segment, Summary, Tally},
    stats::Latency,
    units,
};

/// Collects what the summary says.
#[derive(Debug, Default)]
pub struct SessionSummary {
    segments: Vec<(Segment, Tally)>,
    end: Option<End>,
}

impl SessionSummary {
    /// Takes a record into account.
    pub fn push(&mut self, record: &Record) {
        match record {
            Record::Segment(segment) => {
                let mut tally = Tally::new();
                tally.push(record);
                self.segments.push((segment.clone(), tally));
            }
            Record::Interval(interval) => {
                // Late replies come for a segment that is not the last.
                let of_segment = self.segments.iter_mut().rev().find(|(s, _)| s.segment == interval.segment);
                if let Some((_, tally)) = of_segment {
                    tally.push(record);
                }
            }
            Record::End(end) => self.end = Some((**end).clone()),
            _ => {}
        }
    }

    /// The summary as text, with a line's end; what a session without load has to say is one line.
    pub fn text(&self) -> String {
        let Some(end) = &self.end else {
            return String::new();
        };
        let total = &end.summary;
        let length = units::elapsed((end.t_s * 1e9) as u64);
        if total.ops == 0 && total.errors.is_empty() {
            return format!("no load in {length}\n");
        }
        let loaded: Vec<_> = self.segments.iter().filter(|(segment, _)| segment.knobs.load).collect();
        let mut text = format!("{}\n", row("segment", "", &HEADINGS));
        for (segment, tally) in &loaded {
            line(
                &mut text,
                &row(&segment.segment.to_string(), &describe(&segment.knobs), &columns(&tally.summary())),
            );
        }
        if loaded.len() > 1 {
            line(
                &mut text,
                &row("all", &format!("{length}, load on for {:.1} s", total.length_s), &columns(total)),
            );
        }
        for (kind, n) in &total.errors {
            let first = total
                .first_errors
                .get(kind)
                .map_or_else(String::new, |first| format!(", the first: {first}"));
            line(&mut text, &format!("{n} errors {kind}{first}"));
        }
        text
    }
}

const HEADINGS: [&str; 7] = ["ops", "ops/s", "p50", "p99", "p99.9", "max", "errors"];

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a String takes all text");
}

fn row(number: &str, what: &str, columns: &[impl AsRef<str>; 7]) -> String {
    let columns: String = columns.iter().map(|c| format!(" {:>9}", c.as_ref())).collect();
    format!("{number:>7}  {what:<64}{columns}")
}

fn columns(summary: &Summary) -> [String; 7] {
    let service = &summary.service;
    let percentile = |quantile| service.percentile(quantile).map_or_else(|| "-".to_owned(), units::latency);
    let errors: u64 = summary.errors.values().sum();
    [
        units::count(summary.ops as f64),
        units::rate(summary.ops_per_s),
        percentile(0.50),
        percentile(0.99),
        percentile(0.999),
        longest(service),
        errors.to_string(),
    ]
}

fn longest(latency: &Latency) -> String {
    if latency.is_empty() { "-".to_owned() } else { units::latency(latency.max_ns()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load::Knobs, session::Interval};

    fn segment(number: u32, clients: u32) -> Record {
        let knobs = Knobs { load: true, clients, ..Knobs::default() };
        Record::Segment(Segment { t_s: 0.0, segment: number, knobs, warmup: false })
    }

    fn interval(segment: u32, ops: u64) -> Record {
        Record::Interval(Box::new(Interval { length_s: 1.0, segment, ops, ..Interval::default() }))
    }

    #[test]
    fn each_segment_has_its_row_and_late_replies_go_to_theirs() {
        let mut summary = SessionSummary::default();
        let mut tally = Tally::new();
        for record in [segment(1, 50), interval(1, 1000), segment(2, 200), interval(2, 4000), interval(1, 5)]
        {
            tally.push(&record);
            summary.push(&record);
        }
        tally.first_error("OOM".into(), "OOM command not allowed".into());
        let mut total = tally.summary();
        total.errors.insert("OOM".into(), 3);
        summary.push(&Record::End(Box::new(End { t_s: 3.0, summary: total })));
        let text = summary.text();
        let rows: Vec<_> = text.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(rows[0], "segment ops ops/s p50 p99 p99.9 max errors");
        assert!(rows[1].starts_with("1 50 clients × 1") && rows[1].contains("1.00 k"), "{text}");
        assert!(rows[2].starts_with("2 200 clients × 1") && rows[2].contains("4.00 k"), "{text}");
        assert!(rows[3].starts_with("all 00:00:03"), "{text}");
        assert_eq!(rows[4], "3 errors OOM, the first: OOM command not allowed");
    }

    #[test]
    fn a_session_without_load_says_so() {
        let mut summary = SessionSummary::default();
        summary.push(&Record::End(Box::new(End { t_s: 61.0, summary: Summary::default() })));
        assert_eq!(summary.text(), "no load in 00:01:01\n");
    }
}
