//! The summary, which remains in the terminal's scrollback after the screen is closed.

mod failures;
pub(super) mod nodes;
mod received;
mod table;

use crate::{
    diagnose::{Cause, Delay, Episodes, of_session},
    report::monitored,
    session::{
        Summary, Timeline, WorkerCost,
        figures::{self, Figure, Row},
        timeline::{Level, Measure},
    },
    units,
};

/// Returns the results of the session in a few lines that end with a newline. `files` are those of its recording. Sums
/// are printed only for a single setting, since they have no meaning for several. Without a load, the lines are those
/// of a monitor: the findings of `episodes`, PING and the commands of all clients.
pub fn summary(timeline: &Timeline, episodes: &Episodes, files: &[String]) -> String {
    let sum = timeline.summary();
    let rows = table::rows(timeline);
    let is_one_setting = timeline.segments.forgotten == 0 && rows.iter().skip(1).all(|row| row.is_as_before);
    let mut text = head(timeline);
    prefills(&mut text, timeline);
    if monitored::has_load(timeline) {
        load(&mut text, &sum, &rows, is_one_setting);
        if sum.outage_s > 0.0 {
            let outage =
                format!("{:.2} s of these without a connection; no latency includes them", sum.outage_s);
            line(&mut text, "outage", &outage);
        }
        if is_one_setting {
            totals(&mut text, &sum);
        }
        hits(&mut text, &sum, is_one_setting);
        records(&mut text, &sum, &rows, is_one_setting);
        let trace = rows.iter().find_map(|row| row.segment.start.knobs.workload.trace.as_ref());
        trace.into_iter().for_each(|trace| line(&mut text, "trace", &trace.to_string()));
        if rows.iter().any(|row| row.segment.start.knobs.renewal().is_some()) {
            opened(&mut text, &sum, is_one_setting);
        }
        workers(&mut text, &sum);
        if sum.response.is_some() {
            line(&mut text, "send lag", &send_lag(&sum));
        }
        worst(&mut text, timeline);
    } else if timeline.segments.iter().any(|segment| segment.pings.count() + segment.pings_lost > 0) {
        let lines = monitored::lines(timeline, episodes);
        lines.iter().for_each(|(name, what)| line(&mut text, name, what));
    }
    findings(&mut text, timeline, rows.len() > 1);
    let segments = (rows.len() > 1).then(|| table::table(&rows, timeline.segments.forgotten));
    let tables: Vec<_> = segments.into_iter().chain(nodes::tables(timeline)).collect();
    if !tables.is_empty() {
        text += &format!("\n{}\n", tables.join("\n"));
    }
    failures::add(&mut text, timeline, &sum);
    for file in files {
        line(&mut text, "file", file);
    }
    text
}

/// Returns the server, and the length of the measurement.
fn head(timeline: &Timeline) -> String {
    let mut text = String::new();
    if let Some(session) = timeline.session() {
        let server = &session.target;
        let name = [server.address.as_str(), server.server.as_str()];
        text += &name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
        text += "  ";
    }
    text += &format!("{} measured", units::elapsed(((timeline.now_s - timeline.begins_s()) * 1e9) as u64));
    if let Some(clock) = timeline.wall_clock() {
        text += &format!(", {} to {}", clock.date(timeline.begins_s()), clock.time(timeline.now_s));
    }
    text + "\n"
}

/// Adds the number of keys that were written before the measurement, and whether all were.
fn prefills(text: &mut String, timeline: &Timeline) {
    let mut segments = timeline.segments.iter().peekable();
    while let Some(segment) = segments.next() {
        let Some(prefill) = segment.start.prefill else { continue };
        let mut answered = segment.total.ops;
        let mut length_s = segment.total.length_s;
        // Each change of a knob began another segment of the prefill.
        while let Some(next) =
            segments.next_if(|next| next.start.prefill.is_some_and(|p| p.requests == prefill.requests))
        {
            answered += next.total.ops;
            length_s += next.total.length_s;
        }
        let done = format!("{answered} of {} requests answered in {length_s:.1} s", prefill.requests);
        let stopped = if answered < prefill.requests { ": not all keys were written" } else { "" };
        line(text, "prefill", &format!("{done}{stopped}"));
    }
}

/// Adds the time of the longest request, if its cause is known.
fn worst(text: &mut String, timeline: &Timeline) {
    let Some(worst) = timeline.worst(Measure::Service) else { return };
    if let Some(cause) = Cause::of(Delay::of(worst, &timeline.segments), timeline.events()) {
        line(
            text,
            "worst",
            &format!("{} at {}{cause}", units::latency(worst.ns), timeline.time_text(worst.t_s)),
        );
    }
}

/// Adds the amount of load, and its knobs.
fn load(text: &mut String, sum: &Summary, rows: &[table::SegmentRow], is_one_setting: bool) {
    let done = format!("{} ops in {:.1} s under load", sum.ops, sum.length_s);
    let pace = if is_one_setting { format!(", {}", units::rate(sum.ops_per_s)) } else { String::new() };
    let drained = match sum.drained {
        0 => String::new(),
        n if is_one_setting => format!("; {n} of them after the end of the load"),
        n => format!("; {n} of them after the ends of their segments"),
    };
    line(text, "load", &(done + &pace + &drained));
    if let Some(first) = rows.first() {
        let then = if is_one_setting { "" } else { "; later settings: see the table" };
        line(text, "knobs", &format!("{}{then}", first.segment.start.knobs));
    }
}

/// Adds the figures of all segments together, for a single setting.
fn totals(text: &mut String, sum: &Summary) {
    let row = Row::of_summary(sum);
    line(text, "service", &levels(&row, &figures::SERVICE));
    if sum.response.is_some() {
        line(text, "response", &levels(&row, &figures::RESPONSE));
    }
    received::add(text, sum);
}

/// The most workers that are listed.
const MOST_WORKERS: usize = 8;

/// Adds what each worker thread used of a core, and the core on which it ran last.
fn workers(text: &mut String, sum: &Summary) {
    let Some(client) = &sum.client else { return };
    let used = |(n, worker): (usize, &WorkerCost)| {
        let core = worker.core.map_or_else(String::new, |core| format!(" (core {core})"));
        let at_work = units::percent(worker.work());
        let polls = worker.spun.map_or_else(String::new, |_| format!(", at work {at_work}"));
        format!("{} {} of a core{core}{polls}", client.name_of(n), units::percent(worker.cpu))
    };
    let mut all: Vec<_> = client.workers.iter().enumerate().take(MOST_WORKERS).map(used).collect();
    let more = client.workers.len() - all.len();
    all.extend((more > 0).then(|| format!("and {more} more")));
    if !all.is_empty() {
        line(text, "workers", &all.join("; "));
    }
}

/// Adds the share of reads that found their key, for a single setting.
fn hits(text: &mut String, sum: &Summary, is_one_setting: bool) {
    let reads = sum.hits + sum.misses;
    if reads > 0 && is_one_setting {
        let share = sum.hits as f64 / reads as f64;
        line(text, "hits", &format!("{} of {reads} lookups", units::percent(share)));
    }
    if sum.conflicts > 0 && is_one_setting {
        let conflicts = format!("{} times another client had stored the key in between", sum.conflicts);
        line(text, "conflicts", &conflicts);
    }
}

/// Adds the number of records sent and their rate, in the way of benchmarks of search engines, if every request sends
/// one.
fn records(text: &mut String, sum: &Summary, rows: &[table::SegmentRow], is_one_setting: bool) {
    let mut workloads = rows.iter().map(|row| &row.segment.start.knobs.workload);
    if !is_one_setting || !workloads.next().is_some_and(|workload| workload.is_of_records()) {
        return;
    }
    let writes = |row: &table::SegmentRow| row.segment.start.knobs.workload.only_writes();
    let done = if rows.iter().all(writes) { "records written" } else { "records sent" };
    let (pace, mean_ms) = (sum.ops_per_s, sum.service.mean_ns() / 1e6);
    let text_of_records =
        format!("{} {done} in {:.2} s, {pace:.0} records/s, mean {mean_ms:.3} ms", sum.ops, sum.length_s);
    line(text, "dataset", &text_of_records);
}

/// Adds the number of opened connections and, for a single setting, the time of each stage.
fn opened(text: &mut String, sum: &Summary, is_one_setting: bool) {
    let row = Row::of_summary(sum);
    let pace = figures::OPENED_PER_S.value(&row).filter(|_| is_one_setting);
    let pace = pace.map_or_else(String::new, |pace| format!(", {}", units::rate(pace)));
    line(text, "opened", &format!("{} connections{pace}", sum.opening.greeting.count()));
    let stages = sum.opening.stages().into_iter().filter(|(_, took)| is_one_setting && !took.is_empty());
    for (name, took) in stages {
        line(text, name, &Level::line(|level| level.of(took)));
    }
}

/// Returns the largest send lag of the load, and the numbers of requests that it shed and that it left unsent.
fn send_lag(sum: &Summary) -> String {
    let mut text = format!("at most {}", units::latency(sum.behind_us * 1000));
    if sum.shed > 0 {
        text += &format!(", {} of {} requests that were due were given up (shed)", sum.shed, sum.due);
    }
    if sum.unsent > 0 {
        text +=
            &format!(", {} of {} were due and not sent when the load ended (unsent)", sum.unsent, sum.due);
    }
    text
}

/// Adds the findings, with their segments if several are listed.
fn findings(text: &mut String, timeline: &Timeline, are_several: bool) {
    for (finding, segments) in of_session(timeline) {
        let place = if are_several { format!("seg {segments}: ") } else { String::new() };
        line(text, "finding", &format!("{place}{}", finding.line()));
    }
}

fn line(text: &mut String, name: &str, what: &str) {
    *text += &format!("  {name:<9} {what}\n");
}

/// Returns `p50 312 µs  p90 …  max 7.70 ms`, without the percentiles that have too few samples.
fn levels(row: &Row, of: &[Figure]) -> String {
    let name = |figure: &Figure| figure.heading.trim_start_matches("resp ");
    let figures = of.iter().filter_map(|figure| Some(format!("{} {}", name(figure), figure.written(row)?)));
    figures.collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        session::{Client, Interval, Opening, Record, Segment, WorkerCost},
        stats::fixture::repeated,
        workload::Workload,
    };

    fn begin(timeline: &mut Timeline, segment: u32, knobs: Knobs) {
        timeline.push(&Record::Segment(Segment::new(0.0, segment, knobs)));
    }

    #[test]
    fn the_summary_says_what_was_done_and_every_error() {
        let mut timeline = Timeline::default();
        begin(&mut timeline, 1, Knobs { load: true, ..Knobs::default() });
        timeline.push(&Record::Interval(Box::new(Interval {
            t_s: 2.0,
            length_s: 2.0,
            segment: 1,
            ops: 200,
            hits: 150,
            misses: 50,
            conflicts: 7,
            errors: [("OOM".to_owned(), 3)].into(),
            service: repeated(250_000, 200),
            ..Interval::default()
        })));
        let expected = "\
00:00:02 measured
  load      200 ops in 2.0 s under load, 100/s
  knobs     50 clients × 1, rate max, SET:GET 1:10, 32 B values, 10 k keys
  service   p50 250 µs  p90 250 µs  max 250 µs
  hits      75 % of 200 lookups
  conflicts 7 times another client had stored the key in between
  errors    OOM 3
";
        assert_eq!(summary(&timeline, &Episodes::default(), &[]), expected);
    }

    #[test]
    fn requests_connections_and_attempts_to_connect_are_counted_apart() {
        let mut timeline = Timeline::default();
        begin(&mut timeline, 1, Knobs { load: true, rate: Some(100), ..Knobs::default() });
        let of = |kind: &str, n| [(kind.to_owned(), n)].into();
        timeline.push(&Record::Interval(Box::new(Interval {
            length_s: 2.0,
            segment: 1,
            due: 200,
            ops: 150,
            shed: 7,
            unsent: 3,
            errors: of("reset", 40),
            connections_lost: of("reset", 5),
            connects_failed: of("refused", 12),
            response: Some(repeated(250_000, 150)),
            ..Interval::default()
        })));
        let text = summary(&timeline, &Episodes::default(), &[]);
        for line in [
            "send lag  at most 0 ns, 7 of 200 requests that were due were given up (shed), 3 of 200 were due and not sent when the load ended (unsent)",
            "errors    reset 40\n",
            "lost      5 connections: reset\n",
            "connects  12 attempts to connect failed: refused\n",
        ] {
            assert!(text.contains(line), "{line}:\n{text}");
        }
    }

    #[test]
    fn connections_that_are_not_kept_are_reported_by_stage_and_are_no_operations() {
        let mut timeline = Timeline::default();
        let of = |reconnect| Knobs { load: true, reconnect, ..Knobs::default() };
        let opening = Opening {
            connect: repeated(45_000, 2000),
            greeting: repeated(90_000, 2000),
            ..Opening::default()
        };
        let interval = |segment| Interval {
            length_s: 10.0,
            segment,
            ops: 2000,
            opening: opening.clone(),
            ..Interval::default()
        };
        begin(&mut timeline, 1, of(Some(1)));
        timeline.push(&Record::Interval(Box::new(interval(1))));
        let text = summary(&timeline, &Episodes::default(), &[]);
        for line in [
            "10 k keys, reconnect 1\n",
            "opened    2000 connections, 200/s\n  connect   p50 45.0 µs  p90 45.0 µs  p99 45.0 µs  max 45.0 µs\n",
            "  greeting  p50 90.0 µs",
        ] {
            assert!(text.contains(line), "{line}:\n{text}");
        }
        let mut kept = Timeline::default();
        begin(&mut kept, 1, of(None));
        kept.push(&Record::Interval(Box::new(interval(1))));
        assert!(!summary(&kept, &Episodes::default(), &[]).contains("opened"));
    }

    /// Adds ten seconds of a segment with these knobs.
    fn ten_seconds(timeline: &mut Timeline, segment: u32, knobs: Knobs, ops: u64) {
        let response = knobs.rate.map(|_| repeated(800_000, 2000));
        begin(timeline, segment, knobs);
        timeline.push(&Record::Interval(Box::new(Interval {
            t_s: f64::from(segment) * 10.0,
            length_s: 10.0,
            segment,
            ops,
            ops_per_s: ops as f64 / 10.0,
            service: repeated(312_000, 2000),
            response,
            ..Interval::default()
        })));
    }

    #[test]
    fn sums_stand_where_one_setting_ran_and_a_table_where_there_were_several_segments() {
        let mut timeline = Timeline::default();
        let knobs = Knobs { load: true, ..Knobs::default() };
        ten_seconds(&mut timeline, 1, knobs.clone(), 1000);
        ten_seconds(&mut timeline, 2, Knobs { load: false, ..knobs.clone() }, 0);
        ten_seconds(&mut timeline, 3, knobs.clone(), 1000);
        let text = summary(&timeline, &Episodes::default(), &[]);
        assert!(
            text.contains("2000 ops in 20.0 s under load, 100/s") && text.contains("  service "),
            "{text}"
        );
        assert!(text.contains("    3   as before"), "{text}");
        ten_seconds(&mut timeline, 4, Knobs { clients: 200, ..knobs }, 4000);
        let text = summary(&timeline, &Episodes::default(), &[]);
        assert!(!text.contains("  service ") && !text.contains("under load,"), "{text}");
        assert!(text.contains("10 k keys; later settings: see the table"), "{text}");
    }

    #[test]
    fn the_file_is_named_that_holds_the_session() {
        let text = summary(&Timeline::default(), &Episodes::default(), &["run.jsonl".to_owned()]);
        assert_eq!(text, "00:00:00 measured\n  file      run.jsonl\n");
    }

    #[test]
    fn a_client_that_was_the_limit_is_reported_with_its_segments() {
        let mut timeline = Timeline::default();
        for (segment, cpu) in [(1, 0.5), (2, 0.96), (3, 0.93)] {
            let knobs = Knobs { load: true, ..Knobs::default() };
            begin(&mut timeline, segment, knobs);
            let client = Some(Client::of(vec![WorkerCost { cpu, ..WorkerCost::default() }]));
            let interval = Interval { length_s: 1.0, segment, ops: 1, client, ..Interval::default() };
            timeline.push(&Record::Interval(Box::new(interval)));
        }
        let expected =
            "  finding   seg 2, 3: client limit: load-0 uses 96 % of a core; run redyno on another host";
        let text = summary(&timeline, &Episodes::default(), &[]);
        assert!(text.contains(expected), "{text}");
    }

    #[test]
    fn records_are_reported_as_a_search_bencher_reports_them() {
        let dataset_line = |commands: &[&str]| {
            let words: Vec<_> = commands.iter().map(|word| (*word).to_owned()).collect();
            let workload = Workload::of_commands(&words).unwrap().into();
            let mut timeline = Timeline::default();
            let knobs = Knobs { load: true, workload, ..Knobs::default() };
            ten_seconds(&mut timeline, 1, knobs, 5000);
            let text = summary(&timeline, &Episodes::default(), &[]);
            text.lines().find_map(|line| line.strip_prefix("  dataset   ").map(str::to_owned))
        };
        assert_eq!(
            dataset_line(&["SET", "doc:__field:id__", "x"]).as_deref(),
            Some("5000 records written in 10.00 s, 500 records/s, mean 0.312 ms")
        );
        let sent = dataset_line(&["GET", "doc:__field:id__"]);
        assert!(sent.is_some_and(|records| records.starts_with("5000 records sent in ")));
        assert_eq!(dataset_line(&["GET", "doc:__field:id__", ";", "PING"]), None, "not each is of a record");
    }

    #[test]
    fn a_session_without_load_is_one_line() {
        assert_eq!(summary(&Timeline::default(), &Episodes::default(), &[]), "00:00:00 measured\n");
    }
}
