//! Prints the readable lines of a session without a screen: a line for each second, and a line for each
//! segment.
//!
//! ```text
//! segment 2: 200 clients × 16, rate max, SET:GET 1:10, 32 B values, 10 k keys
//!     time    ops/s      p50      p90      p99    p99.9      max  errors │ ping p50   kernel  receive      max │  server ops  clients
//! ```
//! The latencies in these columns are service times. In an open loop, further columns show response times. If
//! clients reconnect, further columns show the times to open connections.
//!
//! The figures are those of the first node. A line about an event or finding of another node contains the
//! address of this node.

mod columns;

use self::columns::{LOAD, cell, columns, heading, more, ping_columns, server_columns};
use crate::{
    diagnose::FindingsByNode,
    events::EventKind,
    knobs::Knobs,
    print::summary,
    probe::{Ping, Timing},
    server::Status,
    session::{
        Event, Interval, PrefillProgress, Record, Segment, ServerIdentity, SessionStart, Sink, Span,
        Timeline, figures::Row,
    },
    units,
};

/// The number of lines between two headings.
const HEADING_EVERY: usize = 20;

/// A writer of a line for each second, and of a summary at the end. Each record must cover a second.
#[derive(Debug, Default)]
pub struct Lines {
    timeline: Timeline,
    /// The files of the recording.
    files: Vec<String>,
    /// The interval whose line waits for the PING record of the same second.
    held: Option<Box<Interval>>,
    /// The last PING record of an ended segment, which waits for the interval of the same time.
    earlier_ping: Option<Box<Span<Ping>>>,
    server: Option<Status>,
    /// The knobs of the segment whose lines are printed.
    knobs: Knobs,
    /// The segment that has begun, until its first line. The last interval of the previous segment may follow the
    /// record of this segment.
    begun: Option<Segment>,
    since_heading: Option<usize>,
    /// The last reported state of kernel timestamps for PING.
    timing: Option<Timing>,
    nodes: FindingsByNode,
    /// Lines about findings that began or ended, to be printed below the line of the present second.
    found: Vec<String>,
}

impl Sink for Lines {
    fn push(&mut self, record: &Record) -> Vec<String> {
        let lines = if record.is_of(0) {
            self.timeline.push(record);
            self.lines_of(record)
        } else {
            self.lines_of_other(record)
        };
        lines.into_iter().map(|line| line + "\n").collect()
    }

    fn finish(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        self.complete(None, &mut lines);
        let lines = lines.into_iter().map(|line| line + "\n");
        lines.chain([format!("\n{}", summary(&self.timeline, &self.nodes.nodes, &self.files))]).collect()
    }

    fn lost(&self, t_s: f64, pieces: u64) -> String {
        event_line(t_s, &EventKind::OutputLost { lines: pieces }) + "\n"
    }
}

/// Returns a line about the session: `redyno 0.1.0  127.0.0.1:6379  redis 7.0.15 master`.
pub fn session_line(session: &SessionStart) -> String {
    format!("{}  {}", session.tool, server_line(&session.target))
}

/// Returns a line about the server: `127.0.0.1:6379  redis 7.0.15 master`.
pub fn server_line(target: &ServerIdentity) -> String {
    let server = if target.server.is_empty() { "server unknown" } else { &target.server };
    format!("{}  {server} {}", target.named_address(), target.role).trim_end().to_owned()
}

/// Returns the line about replies that came after the end of their segment:
/// `   4.0 s  drain: 50 replies came after the end of segment 1, the last one after 900 ms`.
fn drain_line(drain: &Interval) -> Option<String> {
    let Interval { t_s, length_s, segment, ops, .. } = *drain;
    let errors: u64 = drain.errors.values().sum();
    let failed = units::count_with_noun(errors, "request");
    let failed = if errors > 0 { format!(" and {failed} failed") } else { String::new() };
    let replies = if ops == 1 { "reply" } else { "replies" };
    let came = format!("{} {replies} came{failed} after the end of segment {segment}", units::grouped(ops));
    let last = units::latency((length_s * 1e9) as u64);
    (ops + errors > 0).then(|| format!("{t_s:6.1} s  drain: {came}, the last one after {last}"))
}

/// Returns the line about an event: `   3.0 s  stall: no reply to PING for 300 ms`.
fn event_line(t_s: f64, what: &EventKind) -> String {
    format!("{t_s:6.1} s  {}: {what}", what.name())
}

impl Lines {
    /// Creates the writer for a session that is recorded to, or read from, these files.
    pub fn of(files: Vec<String>) -> Self {
        Self { files, ..Self::default() }
    }

    /// Returns the lines that this record completes.
    fn lines_of(&mut self, record: &Record) -> Vec<String> {
        let mut lines = Vec::new();
        // The `end` record clears these figures, so they are read first.
        let spent =
            matches!(record, Record::End(_)).then(|| self.nodes.first().findings.spent()).unwrap_or_default();
        let mut found = self.nodes.push(record);
        match record {
            Record::Session(session) => lines.push(session_line(session)),
            Record::Segment(segment) => {
                // These findings are about the previous segment, which is over.
                found.clear();
                self.end_segment(segment, &mut lines);
            }
            Record::Interval(interval) if interval.drain => {
                self.complete(None, &mut lines);
                self.begin_segment(&mut lines);
                lines.extend(drain_line(interval));
            }
            Record::Interval(interval) => {
                if self.held.is_some() {
                    self.complete(None, &mut lines);
                }
                self.held = Some(interval.clone());
            }
            Record::Ping(ping) => {
                self.report_timing(ping, &mut lines);
                let segment = self.timeline.segments.current();
                let is_of_earlier = segment.is_some_and(|segment| ping.t_s <= segment.start.t_s);
                if is_of_earlier && self.held.is_none() && self.earlier_ping.is_none() {
                    self.earlier_ping = Some(ping.clone());
                } else {
                    self.complete(Some(ping), &mut lines);
                }
            }
            Record::Server(moment) => self.server = Some(moment.body.clone()),
            // The start of a stall has no line. A finding reports long stalls, and the event at the end of
            // the stall has the length.
            Record::Event(Event { what: EventKind::Stalled { length_s: None, .. }, .. }) => {}
            Record::Event(event) => {
                self.begin_segment(&mut lines);
                lines.push(self.timeline.words().worded(event_line(event.t_s, &event.what)));
            }
            Record::Mark(mark) => {
                self.begin_segment(&mut lines);
                lines.push(format!("{:6.1} s  mark: {}", mark.t_s, mark.text));
            }
            Record::Wake(_) | Record::Intrinsic(_) | Record::Host(_) => {}
            Record::End(_) => {
                self.complete(None, &mut lines);
                self.begin_segment(&mut lines);
                found.clear();
                let t_s = record.t_s().unwrap_or_default();
                lines.extend(spent.iter().map(|spent| format!("{t_s:6.1} s  {}: {spent}", spent.title())));
            }
        }
        let t_s = record.t_s().unwrap_or_default();
        self.found.extend(found.into_iter().map(|found| format!("{t_s:6.1} s  {found}")));
        if self.held.is_none() && !self.found.is_empty() {
            self.begin_segment(&mut lines);
            lines.append(&mut self.found);
        }
        lines
    }

    /// Ends the previous segment, because the segment `next` begins. Late figures of the previous segment come before the
    /// line of the next segment. The first segment has no previous segment, so its line is added at once.
    fn end_segment(&mut self, next: &Segment, lines: &mut Vec<String>) {
        self.complete(None, lines);
        self.begin_segment(lines);
        self.begun = Some(next.clone());
        if self.timeline.segments.iter().nth(1).is_none() {
            self.begin_segment(lines);
        }
    }

    /// Adds the line of the segment that has begun, if it is not printed yet.
    fn begin_segment(&mut self, lines: &mut Vec<String>) {
        let Some(segment) = self.begun.take() else { return };
        let aside = match &segment.prefill {
            Some(prefill) => format!("{prefill}, "),
            None => segment.aside().map_or_else(String::new, |aside| format!("{aside}, ")),
        };
        lines.push(format!("segment {}: {aside}{}", segment.segment, segment.knobs));
        self.knobs = segment.knobs;
        self.since_heading = None;
    }

    /// Returns the lines about the events and findings of a node that is not the first node. Each line has the node's
    /// address. The figures of these nodes are in the summary.
    fn lines_of_other(&mut self, record: &Record) -> Vec<String> {
        let found = self.nodes.push(record);
        let t_s = record.t_s().unwrap_or_default();
        let event = match record {
            Record::Segment(_) | Record::End(_) => return Vec::new(),
            Record::Event(Event { what: EventKind::Stalled { length_s: None, .. }, .. }) => None,
            Record::Event(Event { node, what, .. }) => {
                let text = self.timeline.words().worded(what.to_string());
                Some(format!("{}  {}: {text}", self.timeline.address_of(*node), what.name()))
            }
            _ => None,
        };
        event.into_iter().chain(found).map(|line| format!("{t_s:6.1} s  {line}")).collect()
    }

    /// Adds a line if PING has lost its kernel timestamps. The line has the reason.
    fn report_timing(&mut self, ping: &Span<Ping>, lines: &mut Vec<String>) {
        let timing = ping.body.timing.filter(|timing| self.timing != Some(*timing));
        if let Some(obstacle) = timing.and_then(Timing::obstacle) {
            lines.push(format!("{:6.1} s  ping: no kernel time stamps: {obstacle}", ping.t_s));
        }
        self.timing = ping.body.timing.or(self.timing);
    }

    /// Returns the progress of the prefill; `None` without a prefill.
    fn progress(&self) -> Option<PrefillProgress> {
        let current = self.timeline.segments.current()?;
        PrefillProgress::of(&current.start, &current.total)
    }

    fn complete(&mut self, ping: Option<&Span<Ping>>, lines: &mut Vec<String>) {
        let held = self.held.take();
        let mut earlier = self.earlier_ping.take();
        if held.is_none() || ping.is_some() {
            earlier.take().into_iter().for_each(|earlier| self.line(None, Some(&earlier), lines));
        }
        self.line(held.as_deref(), ping.or(earlier.as_deref()), lines);
    }

    fn line(&mut self, held: Option<&Interval>, ping: Option<&Span<Ping>>, lines: &mut Vec<String>) {
        let Some(t_s) = held.map(|i| i.t_s).or(ping.map(|p| p.t_s)) else {
            return;
        };
        let length_s = held.map(|i| i.length_s).or(ping.map(|p| p.length_s)).unwrap_or_default();
        if self.begun.as_ref().is_some_and(|begun| begun.t_s <= t_s - length_s / 2.0) {
            self.begin_segment(lines);
        }
        if self.since_heading.is_none_or(|n| n == HEADING_EVERY) {
            lines.push(heading(&self.knobs));
            self.since_heading = Some(0);
        }
        self.since_heading = self.since_heading.map(|n| n + 1);
        let outage_s = held.map_or(0.0, |interval| interval.outage_s);
        let row = held.map(Row::of_interval);
        let mut load = columns(&LOAD, |figure| cell(figure, row.as_ref()));
        for figures in more(&self.knobs) {
            load += &format!(" | {}", columns(figures, |figure| cell(figure, row.as_ref())));
        }
        let ping = ping.map_or_else(|| " ".repeat(35), |ping| ping_columns(&ping.body));
        let server = self.server.as_ref().map_or_else(String::new, server_columns);
        let progress = self.progress().map_or_else(String::new, |progress| format!("  prefill {progress}"));
        let outage = if outage_s > 0.0 { format!("  outage {outage_s:.2} s") } else { String::new() };
        lines.push(format!("{t_s:5.1} s {load} | {ping} | {server}{outage}{progress}").trim_end().to_owned());
        lines.append(&mut self.found);
    }
}

#[cfg(test)]
mod tests;
