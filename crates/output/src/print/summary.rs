//! Prints the summary of a session. The summary remains in the terminal after the screen is closed.

mod failures;
pub(super) mod nodes;
mod table;

use crate::{
    diagnose::{Cause, Episodes, NodeState, of_session},
    events::EventKind,
    report::monitored,
    session::{
        Summary, Timeline, WorkerCost,
        figures::{self, Figure, Row},
        timeline::{Level, Measure},
    },
    units,
};

/// The maximum number of receivers that the summary names.
const MOST_RECEIVERS: usize = 5;

/// Returns the results of the session in a few lines. `nodes` are all nodes of the session, and `files` are
/// the files of its recording. Sums are printed only if the load settings (knobs) never changed, because sums
/// over several settings have no meaning. Without a load, the lines are about the first server: its findings,
/// PING and the commands of all clients. For several nodes, a table of the nodes and their findings follow.
pub fn summary(timeline: &Timeline, nodes: &[NodeState], files: &[String]) -> String {
    let sum = timeline.summary();
    let rows = table::rows(timeline);
    // Totals exclude the warm-up.
    let mut measured = rows.iter().filter(|row| row.segment.start.aside().is_none());
    let first = measured.next().or(rows.first());
    let is_one_setting = timeline.segments.forgotten == 0 && measured.all(|row| row.is_as_before);
    let mut text = head(timeline);
    results(&mut text, timeline);
    prefills(&mut text, timeline);
    if monitored::has_load(timeline) {
        load(&mut text, &sum, first, is_one_setting);
        if sum.outage_s > 0.0 {
            let outage = format!(
                "{:.2} s of this time had no connection; latencies exclude these seconds",
                sum.outage_s
            );
            line(&mut text, "outage", &outage);
        }
        if is_one_setting {
            totals(&mut text, &sum);
        }
        received(&mut text, &sum, is_one_setting);
        hits(&mut text, &sum, is_one_setting);
        records(&mut text, &sum, &rows, is_one_setting);
        let starts = || rows.iter().map(|row| &row.segment.start);
        let of_files = [
            ("trace", starts().find_map(|start| start.trace.as_ref())),
            ("times", starts().find_map(|start| start.times.as_ref())),
        ];
        for (name, what) in of_files {
            what.into_iter().for_each(|what| line(&mut text, name, what));
        }
        if rows.iter().any(|row| row.segment.start.knobs.renewal().is_some()) {
            opened(&mut text, &sum, is_one_setting);
        }
        workers(&mut text, &sum);
        let io = timeline.session().and_then(|session| session.host.io.as_ref());
        io.into_iter().for_each(|io| line(&mut text, "io", io));
        if sum.response.is_some() {
            line(&mut text, "send lag", &send_lag(&sum));
        }
        worst(&mut text, timeline);
    } else if timeline.segments.iter().any(|segment| segment.pings.count() + segment.pings_lost > 0) {
        let none = Episodes::default();
        let episodes = nodes.first().map_or(&none, |first| &first.findings.episodes);
        let lines = monitored::lines(timeline, episodes);
        lines.iter().for_each(|(name, what)| line(&mut text, name, what));
    }
    let listed = findings(&mut text, timeline, nodes, rows.len() > 1);
    nodes::findings(timeline, nodes, &listed).iter().for_each(|(name, what)| line(&mut text, name, what));
    let segments = (rows.len() > 1).then(|| table::table(&rows, timeline.segments.forgotten));
    let tables: Vec<_> =
        segments.into_iter().chain(nodes::tables(timeline)).chain(nodes::watched(nodes)).collect();
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
        let name = [server.named_address(), server.server.clone()];
        text += &name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
        text += "  ";
    }
    text += &format!("{} measured", units::elapsed((timeline.measured_s() * 1e9) as u64));
    if let Some(clock) = timeline.wall_clock() {
        text += &format!(", {} to {}", clock.date(timeline.begins_s()), clock.time(timeline.now_s));
    }
    text + "\n"
}

/// Adds a line about the result of each experiment.
fn results(text: &mut String, timeline: &Timeline) {
    for event in timeline.events() {
        match &event.what {
            EventKind::Found { .. }
            | EventKind::NothingFound { .. }
            | EventKind::BestStep { .. }
            | EventKind::Compared { .. }
            | EventKind::ExperimentStopped { .. } => line(text, "result", &event.what.to_string()),
            _ => {}
        }
    }
}

/// Adds a line about each prefill: the number of answered requests, and whether all keys were written.
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
        let done = format!(
            "{} of {} answered in {length_s:.1} s",
            units::grouped(answered),
            units::count_with_noun(prefill.requests, "request")
        );
        let stopped = if answered < prefill.requests { ": not all keys were written" } else { "" };
        line(text, "prefill", &format!("{done}{stopped}"));
    }
}

/// Adds the longest request with its time and its cause, if the cause is known.
fn worst(text: &mut String, timeline: &Timeline) {
    let Some(worst) = timeline.worst(Measure::Service) else { return };
    if let Some(cause) = Cause::of_load(worst, timeline) {
        line(
            text,
            "worst",
            &format!("{} at {}{cause}", units::latency(worst.ns), timeline.time_text(worst.t_s)),
        );
    }
}

/// Adds the number of operations, and the knobs of the first measured segment.
fn load(text: &mut String, sum: &Summary, first: Option<&table::SegmentRow>, is_one_setting: bool) {
    let done = format!("{} ops in {:.1} s under load", units::grouped(sum.ops), sum.length_s);
    let pace = if is_one_setting { format!(", {}", units::rate(sum.ops_per_s)) } else { String::new() };
    let drained = match sum.drained {
        0 => String::new(),
        n => {
            let were = if n == 1 { "was" } else { "were" };
            let of = if is_one_setting { "the load" } else { "their segment" };
            format!("; {} of them {were} answered after the end of {of}", units::grouped(n))
        }
    };
    line(text, "load", &(done + &pace + &drained));
    if let Some(first) = first {
        let then = if is_one_setting { "" } else { "; later settings: see the table" };
        line(text, "knobs", &format!("{}{then}", first.segment.start.knobs));
    }
}

/// Adds the figures of all segments together, if the session had a single setting.
fn totals(text: &mut String, sum: &Summary) {
    let row = Row::of_summary(sum);
    line(text, "service", &levels(&row, &figures::SERVICE));
    if sum.response.is_some() {
        line(text, "response", &levels(&row, &figures::RESPONSE));
    }
}

/// The maximum number of listed workers.
const MOST_WORKERS: usize = 8;

/// Adds the CPU usage of each worker thread, and the core on which it ran last.
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
    if !client.receive_lag.is_empty() {
        let lag = Level::line(|level| level.of(&client.receive_lag.coarse()));
        line(text, "receive lag", &format!("at most: {lag}"));
    }
}

/// Adds the counts of the receivers and, if the session had a single setting, their latencies. Receivers get pub/sub
/// messages, messages of a queue or stream, or invalidations.
fn received(text: &mut String, sum: &Summary, is_one_setting: bool) {
    for (name, received) in sum.arrivals.iter() {
        let times = is_one_setting.then(|| Level::line(|level| level.of(&received.times)));
        let lines = times.into_iter().chain(received.lines(MOST_RECEIVERS));
        for (n, what) in lines.enumerate() {
            line(text, if n == 0 { name } else { "" }, &what);
        }
    }
}

/// Adds the share of reads that found their key, if the session had a single setting.
fn hits(text: &mut String, sum: &Summary, is_one_setting: bool) {
    let reads = sum.hits + sum.misses;
    if reads > 0 && is_one_setting {
        let share = sum.hits as f64 / reads as f64;
        let lookups = units::count_with_noun(reads, "lookup");
        line(text, "hits", &format!("{} of {lookups}", units::percent(share)));
    }
    if sum.conflicts > 0 && is_one_setting {
        let times = units::count_with_noun(sum.conflicts, "time");
        let conflicts = format!("{times} another client had stored the key between the read and the cas");
        line(text, "conflicts", &conflicts);
    }
}

/// Adds the number and the rate of records of a dataset, as benchmarks of search engines do. The line is added only if
/// every request sends a record.
fn records(text: &mut String, sum: &Summary, rows: &[table::SegmentRow], is_one_setting: bool) {
    let mut workloads = rows.iter().map(|row| &row.segment.start.knobs.workload);
    if !is_one_setting || !workloads.next().is_some_and(|workload| workload.is_of_records()) {
        return;
    }
    let writes = |row: &table::SegmentRow| row.segment.start.knobs.workload.only_writes();
    let done = if rows.iter().all(writes) { "records written" } else { "records sent" };
    let most = rows.first().map_or(1, |row| row.segment.start.knobs.workload.records_per_request());
    // The last request of a dataset may have fewer records.
    let (done, noun) = match most {
        1 => (done.to_owned(), "records"),
        most => (format!("requests, each with at most {most} {done}"), "requests"),
    };
    let (pace, mean_ms) = (sum.ops_per_s, sum.service.mean_ns() / 1e6);
    let (ops, pace) = (units::grouped(sum.ops), units::grouped(pace.round() as u64));
    let text_of_records =
        format!("{ops} {done} in {:.2} s, {pace} {noun}/s, mean {mean_ms:.3} ms", sum.length_s);
    line(text, "dataset", &text_of_records);
}

/// Adds the number of opened connections. If the session had a single setting, also adds the time of each stage of
/// opening, such as the TLS handshake.
fn opened(text: &mut String, sum: &Summary, is_one_setting: bool) {
    let row = Row::of_summary(sum);
    let pace = figures::OPENED_PER_S.value(&row).filter(|_| is_one_setting);
    let pace = pace.map_or_else(String::new, |pace| format!(", {}", units::rate(pace)));
    let connections = units::count_with_noun(sum.opening.greeting.count(), "connection");
    line(text, "opened", &format!("{connections}{pace}"));
    let stages = sum.opening.stages().into_iter().filter(|(_, took)| is_one_setting && !took.is_empty());
    for (name, took) in stages {
        line(text, name, &Level::line(|level| level.of(took)));
    }
}

/// Returns the largest send lag, and the numbers of requests that redyno gave up (shed) or did not send (unsent).
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

/// Adds the findings about whole segments. If the session has several segments, each finding has its segments. Returns
/// the rules of these findings.
fn findings(
    text: &mut String,
    timeline: &Timeline,
    nodes: &[NodeState],
    are_several: bool,
) -> Vec<&'static str> {
    let pings: Vec<_> = nodes.iter().map(|node| &node.pings).collect();
    let all = of_session(timeline, &pings);
    for (finding, segments) in &all {
        let place = if are_several { format!("seg {segments}: ") } else { String::new() };
        line(text, "finding", &format!("{place}{}", finding.line()));
    }
    all.iter().map(|(finding, _)| finding.rule).collect()
}

/// Adds a line, unless its text is empty.
fn line(text: &mut String, name: &str, what: &str) {
    if !what.is_empty() {
        *text += &format!("  {name:<9} {what}\n");
    }
}

/// Returns percentiles as text: `p50 312 µs  p90 …  max 7.70 ms`. Percentiles with too few samples are left out.
fn levels(row: &Row, of: &[Figure]) -> String {
    let name = |figure: &Figure| figure.heading.trim_start_matches("resp ");
    let figures = of.iter().filter_map(|figure| Some(format!("{} {}", name(figure), figure.written(row)?)));
    figures.collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests;
