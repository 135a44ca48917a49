//! The readable lines of a session without a screen: a line for each second, and a line for each segment.
//!
//! ```text
//! segment 2: 200 clients × 16, rate max, SET:GET 1:10, 32 B values, 10 k keys
//!     time    ops/s      p50      p90      p99    p99.9      max  errors │ ping p50   kernel  receive      max │  server ops  clients
//! ```
//! The latencies in the columns of a line are service times. In an open loop, further columns show response times. If
//! clients reconnect, further columns show the times to open connections. All lines are computed from records.

mod columns;

use self::columns::{LOAD, cell, columns, heading, more, ping_columns, server_columns};
use crate::{
    diagnose::Findings,
    events::EventKind,
    knobs::Knobs,
    print::summary,
    probe::{Ping, Timing},
    server::Status,
    session::{
        Event, Interval, PrefillProgress, Record, ServerIdentity, SessionStart, Sink, Span, Timeline,
        figures::Row,
    },
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
    server: Option<Status>,
    /// The knobs of the current segment.
    knobs: Knobs,
    since_heading: Option<usize>,
    /// The last reported state of kernel timestamps for PING.
    timing: Option<Timing>,
    findings: Findings,
    /// Lines about findings that began or ended, to be printed below the line of the present second.
    found: Vec<String>,
}

impl Sink for Lines {
    fn push(&mut self, record: &Record) -> Vec<String> {
        // The lines are about the first server only.
        if !record.is_of(0) {
            self.findings.push_other(record);
            return Vec::new();
        }
        self.timeline.push(record);
        self.lines_of(record).into_iter().map(|line| line + "\n").collect()
    }

    fn finish(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        self.complete(None, &mut lines);
        let lines = lines.into_iter().map(|line| line + "\n");
        lines
            .chain([format!("\n{}", summary(&self.timeline, &self.findings.episodes, &self.files))])
            .collect()
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
    let server = if target.server.is_empty() { "not reached yet" } else { &target.server };
    format!("{}  {server} {}", target.address, target.role).trim_end().to_owned()
}

/// Returns the line about a drain:
/// `   4.0 s  drain: 50 replies came after the end of segment 1, the last 0.90 s later`.
fn drain_line(drain: &Interval) -> Option<String> {
    let Interval { t_s, length_s, segment, ops, .. } = *drain;
    let errors: u64 = drain.errors.values().sum();
    let failed = if errors > 0 { format!(", {errors} requests failed") } else { String::new() };
    let came = format!("{ops} replies came{failed} after the end of segment {segment}");
    (ops + errors > 0).then(|| format!("{t_s:6.1} s  drain: {came}, the last {length_s:.2} s later"))
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
        let spent = matches!(record, Record::End(_)).then(|| self.findings.spent()).unwrap_or_default();
        let mut found = self.findings.push(record);
        match record {
            Record::Session(session) => lines.push(session_line(session)),
            Record::Segment(segment) => {
                self.complete(None, &mut lines);
                // These findings are about the previous segment, which is over.
                found.clear();
                let aside = match &segment.prefill {
                    Some(prefill) => format!("{prefill}, "),
                    None => segment.aside().map_or_else(String::new, |aside| format!("{aside}, ")),
                };
                lines.push(format!("segment {}: {aside}{}", segment.segment, segment.knobs));
                self.knobs = segment.knobs.clone();
                self.since_heading = None;
            }
            Record::Interval(interval) if interval.drain => {
                self.complete(None, &mut lines);
                lines.extend(drain_line(interval));
            }
            Record::Interval(interval) => {
                self.complete(None, &mut lines);
                self.held = Some(interval.clone());
            }
            Record::Ping(ping) => {
                self.report_timing(ping, &mut lines);
                self.complete(Some(ping), &mut lines);
            }
            Record::Server(moment) => self.server = Some(moment.body.clone()),
            // The start of a stall has no line. A finding reports long stalls, and the event at the end of
            // the stall has the length.
            Record::Event(Event { what: EventKind::Stalled { length_s: None, .. }, .. }) => {}
            Record::Event(event) => lines.push(event_line(event.t_s, &event.what)),
            Record::Mark(mark) => lines.push(format!("{:6.1} s  mark: {}", mark.t_s, mark.text)),
            Record::Wake(_) | Record::Intrinsic(_) | Record::Host(_) => {}
            Record::End(_) => {
                self.complete(None, &mut lines);
                found.clear();
                let t_s = record.t_s().unwrap_or_default();
                lines.extend(spent.iter().map(|spent| format!("{t_s:6.1} s  where the time goes: {spent}")));
            }
        }
        let t_s = record.t_s().unwrap_or_default();
        self.found.extend(found.into_iter().map(|found| format!("{t_s:6.1} s  {found}")));
        if self.held.is_none() {
            lines.append(&mut self.found);
        }
        lines
    }

    /// Adds a line with the reason if PING has no kernel timestamps any more.
    fn report_timing(&mut self, ping: &Span<Ping>, lines: &mut Vec<String>) {
        let timing = ping.body.timing.filter(|timing| self.timing != Some(*timing));
        if let Some(obstacle) = timing.and_then(Timing::obstacle) {
            lines.push(format!("{:6.1} s  ping: no kernel time: {obstacle}", ping.t_s));
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
        let Some(t_s) = held.as_ref().map(|i| i.t_s).or(ping.map(|p| p.t_s)) else {
            return;
        };
        if self.since_heading.is_none_or(|n| n == HEADING_EVERY) {
            lines.push(heading(&self.knobs));
            self.since_heading = Some(0);
        }
        self.since_heading = self.since_heading.map(|n| n + 1);
        let outage_s = held.as_ref().map_or(0.0, |interval| interval.outage_s);
        let row = held.as_deref().map(Row::of_interval);
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
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        session::{Client, Segment, WorkerCost},
        stats::{Latency, fixture::latency_of},
    };

    fn latency(n: u64) -> Latency {
        latency_of(300_000..300_000 + n)
    }

    fn interval(t_s: f64) -> Record {
        Record::Interval(Box::new(Interval {
            t_s,
            length_s: 1.0,
            ops_per_s: 121_300.0,
            service: latency(2000),
            ..Interval::default()
        }))
    }

    fn ping(t_s: f64) -> Record {
        Record::Ping(Box::new(Span::new(t_s, 1.0, Ping { rtt: latency(100), ..Ping::default() })))
    }

    #[test]
    fn records_of_other_nodes_have_no_lines() {
        let mut lines = Lines::default();
        let interval = Interval { t_s: 1.0, length_s: 1.0, segment: 1, ops: 77, ..Interval::default() };
        assert!(lines.push(&Record::Interval(Box::new(interval)).at_node(1)).is_empty());
        assert_eq!(lines.timeline.summary().ops, 0);
    }

    #[test]
    fn a_second_is_one_line_under_its_heading() {
        let mut lines = Lines::default();
        let knobs = Knobs { load: true, ..Knobs::default() };
        let segment = Record::Segment(Segment::new(0.0, 1, knobs));
        let all: Vec<_> =
            [segment, interval(1.0), ping(1.0)].iter().flat_map(|r| lines.lines_of(r)).collect();
        assert_eq!(all[0], "segment 1: 50 clients × 1, rate max, SET:GET 1:10, 32 B values, 10 k keys");
        assert_eq!(
            all[1],
            "   time      ops/s      p50      p90      p99    p99.9      max   errors | ping p50   kernel  receive      max | server ops/s  clients"
        );
        assert_eq!(
            all[2],
            "  1.0 s      121 k   301 µs   302 µs   302 µs        -   302 µs        0 |   300 µs        -        -   300 µs |"
        );
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn an_open_loop_has_columns_for_response_times_under_their_names() {
        let mut lines = Lines::default();
        let knobs = Knobs { load: true, rate: Some(1000), ..Knobs::default() };
        let segment = Record::Segment(Segment::new(0.0, 1, knobs));
        let Record::Interval(mut interval) = interval(1.0) else { panic!("an interval") };
        interval.response = Some(latency(2000));
        (interval.behind_us, interval.shed) = (1500, 3);
        let records = [segment, Record::Interval(interval), ping(1.0), ping(2.0)];
        let all: Vec<_> = records.iter().flat_map(|r| lines.lines_of(r)).collect();
        assert_eq!(all[1], heading(&Knobs { load: true, rate: Some(1000), ..Knobs::default() }));
        assert!(
            all[2].ends_with(
                "|   301 µs   302 µs   302 µs  1.50 ms        3 |   300 µs        -        -   300 µs |"
            ),
            "{}",
            all[2]
        );
        let bars = |line: &str| {
            line.char_indices()
                .filter(|(_, c)| *c == '|')
                .map(|(i, _)| line[..i].chars().count())
                .collect::<Vec<_>>()
        };
        assert_eq!(bars(&all[1]), bars(&all[2]));
        assert_eq!(bars(&all[1]), bars(&all[3]), "without load as well");
    }

    #[test]
    fn without_load_a_line_has_only_ping_figures() {
        let mut lines = Lines::default();
        let all = lines.lines_of(&ping(1.0));
        assert!(all[1].starts_with("  1.0 s      ") && all[1].contains("|   300 µs"), "{all:?}");
    }

    #[test]
    fn kernel_times_are_beside_the_ping_or_a_line_has_the_reason() {
        let mut lines = Lines::default();
        let of = |timing, kernel| {
            let body = Ping { rtt: latency(100), timing: Some(timing), kernel, ..Ping::default() };
            Record::Ping(Box::new(Span::new(1.0, 1.0, body)))
        };
        let printed: Vec<_> = (0..2).flat_map(|_| lines.lines_of(&of(Timing::UnixSocket, None))).collect();
        assert_eq!(printed[0], "   1.0 s  ping: no kernel time: unix socket");
        assert_eq!(printed.iter().filter(|line| line.contains("no kernel time")).count(), 1, "{printed:?}");
        let stamped = lines.lines_of(&of(Timing::Kernel, Some(latency(30))));
        assert!(stamped[0].contains("|   300 µs   300 µs        -   300 µs |"), "{stamped:?}");
    }

    #[test]
    fn an_outage_is_beside_the_figures_and_not_in_them() {
        let mut lines = Lines::default();
        let down = Interval { t_s: 1.0, length_s: 1.0, outage_s: 0.75, ..Interval::default() };
        let mut all = lines.lines_of(&Record::Interval(Box::new(down)));
        all.extend(lines.lines_of(&ping(1.0)));
        assert!(all[1].ends_with("  outage 0.75 s"), "{all:?}");
        assert_eq!(
            all[1].split('|').next().unwrap().matches(" -").count(),
            5,
            "no latency is made up: {all:?}"
        );
    }

    #[test]
    fn the_start_and_end_of_a_client_limit_are_printed() {
        let mut lines = Lines::default();
        let knobs = Knobs { load: true, ..Knobs::default() };
        let segment = Record::Segment(Segment::new(0.0, 1, knobs));
        let second = |t_s, cpu| {
            let client = Some(Client::of(vec![WorkerCost { cpu, ..WorkerCost::default() }]));
            Record::Interval(Box::new(Interval {
                t_s,
                length_s: 1.0,
                segment: 1,
                client,
                ..Interval::default()
            }))
        };
        let seconds = [second(1.0, 0.97), second(2.0, 0.97), second(3.0, 0.2), second(4.0, 0.2)];
        let seconds = seconds.into_iter().flat_map(|second| [second, ping(0.0)]);
        let all: Vec<_> =
            [segment].into_iter().chain(seconds).flat_map(|record| lines.lines_of(&record)).collect();
        let printed: Vec<_> = all.iter().filter(|line| line.contains("client limit")).collect();
        let printed: Vec<_> = printed.iter().map(|line| line.split_at(8)).collect();
        assert_eq!(printed[0].0, "   1.0 s", "{all:?}");
        assert!(
            printed[0]
                .1
                .starts_with("  client limit: load-0 uses 97 % of a core; run redyno on another host"),
            "{all:?}"
        );
        assert_eq!(printed[1..], [("   3.0 s", "  client limit: no longer")]);
    }

    #[test]
    fn a_wait_without_an_end_is_shown_while_it_grows() {
        let mut lines = Lines::default();
        let of = |rtt, waiting_us| {
            let body = Ping { rtt, waiting_us, ..Ping::default() };
            Record::Ping(Box::new(Span::new(1.0, 1.0, body)))
        };
        assert!(lines.lines_of(&of(Latency::default(), 1_980_000))[1].ends_with("  >1.98 s |"));
        assert!(
            lines.lines_of(&of(latency(100), 90))[0].ends_with("   300 µs |"),
            "shorter than those that ended"
        );
    }

    #[test]
    fn the_parts_of_ping_are_blank_if_most_replies_have_none() {
        let columns = |left_out: u64| {
            let body = Ping {
                rtt: latency(100),
                kernel: Some(latency(100 - left_out)),
                pickup: Some(latency(100 - left_out)),
                left_out: [("shared read".to_owned(), left_out)].into(),
                ..Ping::default()
            };
            let record = Record::Ping(Box::new(Span::new(1.0, 1.0, body)));
            Lines::default().lines_of(&record).pop().unwrap()
        };
        assert!(!columns(50).contains(" - "), "{}", columns(50));
        assert!(columns(51).contains("        -        - "), "{}", columns(51));
    }

    #[test]
    fn a_stall_is_one_line_with_its_length() {
        let mut lines = Lines::default();
        let stalled =
            |length_s| Record::Event(Event::new(3.0, EventKind::Stalled { longest_s: 0.3, length_s }));
        assert!(lines.lines_of(&stalled(None)).is_empty());
        assert_eq!(lines.lines_of(&stalled(Some(0.3))), ["   3.0 s  stall: no reply to PING for 300 ms"]);
    }

    #[test]
    fn a_failing_ping_is_printed() {
        let mut lines = Lines::default();
        let errors = [("refused".to_owned(), 100)].into();
        let body = Ping { errors, ..Ping::default() };
        let all = lines.lines_of(&Record::Ping(Box::new(Span::new(1.0, 1.0, body))));
        assert!(all[1].contains("100 failed"), "{all:?}");
    }
}
