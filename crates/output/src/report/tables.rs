//! A report's tables about a session: segments, operations, errors, events.

use std::collections::BTreeMap;

use super::{
    environment, monitored,
    node_report::NodeReport,
    table::{ReportTable, TableRow},
};
use crate::{
    diagnose::{Finding, of_session},
    events::EventKind,
    session::{
        OperationInterval,
        figures::{self, Figure, Row as Figures},
        timeline::{FoldedEvents, folded},
    },
    units, untrusted,
};

/// The figures of a row. Figures of receivers come after these figures. A column without any value is left out.
const COLUMNS: [Figure; 13] = [
    figures::LENGTH,
    figures::OPS_PER_S,
    figures::SERVICE_P50,
    figures::SERVICE_P99,
    figures::SERVICE_P999,
    figures::SERVICE_MAX,
    figures::RESPONSE_P50,
    figures::RESPONSE_P99,
    figures::RESPONSE_P999,
    figures::RESPONSE_MAX,
    figures::SHED,
    figures::ERRORS,
    figures::SERVER_CPU,
];
/// The maximum number of events and marks in a table.
const MOST_EVENTS: usize = 500;

/// Returns all tables of a session that have rows.
pub(super) fn all(account: &NodeReport) -> Vec<ReportTable> {
    let timeline = &account.timeline;
    let over_time = monitored::findings(timeline, &account.findings.episodes);
    // Without a load, a table of segments has no figures.
    let of_load = [
        segments(account),
        findings(account),
        operations(account),
        nodes(account),
        agents(account),
        errors(account),
    ];
    let of_load = of_load.into_iter().filter(|_| monitored::has_load(timeline));
    let of_server = [monitored::pings, monitored::worst, monitored::commands].map(|table| table(timeline));
    let rest = of_server.into_iter().chain([events(account), monitored::unread(timeline)]);
    let all = std::iter::once(over_time).chain(of_load).chain(rest).chain(environment::tables(account));
    all.filter(|table| !table.rows.is_empty()).collect()
}

/// Returns a table with one column of text, and then columns of figures.
fn of_figures(title: &str, first: &str, rows: &[(String, Option<u32>, Figures)]) -> ReportTable {
    let is_known = |figure: &&Figure| {
        let values = || rows.iter().filter_map(|(.., row)| figure.value(row));
        if figure.unit == figures::FigureUnit::Trouble && **figure != figures::ERRORS {
            values().any(|n| n > 0.0)
        } else {
            values().next().is_some()
        }
    };
    let columns = COLUMNS.iter().chain([&figures::RECEIVED]).chain(&figures::OF_RECEIVERS);
    let columns: Vec<_> = columns.filter(is_known).collect();
    let headings: Vec<_> =
        std::iter::once(first).chain(columns.iter().map(|figure| figure.heading)).collect();
    let row = |(name, segment, row): &(String, Option<u32>, Figures)| {
        let cells = columns.iter().map(|figure| figure.cell(row));
        TableRow { cells: std::iter::once(name.clone()).chain(cells).collect(), segment: *segment }
    };
    ReportTable::of(title, &headings, 1, rows.iter().map(row).collect())
}

/// Returns a row for each segment, and a row for the sum of all segments without warm-up and prefill.
fn segments(account: &NodeReport) -> ReportTable {
    let timeline = &account.timeline;
    let summary = timeline.summary();
    let mut rows: Vec<_> = timeline
        .segments
        .iter()
        .map(|segment| {
            let start = &segment.start;
            let phase = start.aside().map_or_else(String::new, |aside| format!("{aside}, "));
            let config =
                start.config.as_ref().map(|set| format!("{} {}, ", set.name, set.to)).unwrap_or_default();
            let name = format!("{}: {phase}{config}{}", start.segment, start.knobs);
            (name, Some(start.segment), Figures::of_segment(segment, timeline.now_s))
        })
        .collect();
    rows.push(("all, without warm-up and prefill".to_owned(), None, Figures::of_summary(&summary)));
    of_figures("Segments", "settings", &rows)
}

/// Returns the findings, with the numbers of their segments.
fn findings(account: &NodeReport) -> ReportTable {
    let row = |(finding, segments): (Finding, String)| {
        let words = finding.line();
        TableRow::of(vec![finding.short, segments, words])
    };
    let pings: Vec<_> = account.pings_by_node.iter().collect();
    let rows = of_session(&account.timeline, &pings).into_iter().map(row).collect();
    ReportTable::of("Findings", &["finding", "segments", "description"], 3, rows)
}

/// Returns a row for each operation, if there are several operations.
fn operations(account: &NodeReport) -> ReportTable {
    let summary = account.timeline.summary();
    let sums = account.timeline.operations();
    let row = |(name, part): (&String, _)| (name.clone(), Figures::of_summary(&summary).of_operation(part));
    parts("Operations", "operation", sums.iter().filter(|_| sums.len() > 1).map(row).collect())
}

/// Returns a row for each node of a cluster with load.
fn nodes(account: &NodeReport) -> ReportTable {
    numbered("Nodes", "node", account, &account.timeline.nodes(), |node| account.timeline.address_of(node))
}

/// Returns a row for each agent of a fleet.
fn agents(account: &NodeReport) -> ReportTable {
    numbered("Agents", "agent", account, &account.timeline.agents(), |agent| {
        account.timeline.agent_name(agent)
    })
}

fn numbered(
    title: &str,
    first: &str,
    account: &NodeReport,
    sums: &BTreeMap<u16, OperationInterval>,
    name: impl Fn(u16) -> String,
) -> ReportTable {
    let summary = account.timeline.summary();
    let row = |(number, part): (&u16, _)| (name(*number), Figures::of_summary(&summary).of_operation(part));
    parts(title, first, sums.iter().map(row).collect())
}

/// Returns a row for each part of the load.
fn parts(title: &str, first: &str, rows: Vec<(String, Figures)>) -> ReportTable {
    let rows: Vec<_> = rows.into_iter().map(|(name, row)| (name, None, row)).collect();
    let mut table = of_figures(title, first, &rows);
    table.note = "All segments except warm-up and prefill.".to_owned();
    table
}

/// Returns the errors of requests and connections, by kind.
fn errors(account: &NodeReport) -> ReportTable {
    let summary = account.timeline.summary();
    let parts = [
        ("request", &summary.errors),
        ("redirect", &summary.redirects),
        ("connection lost", &summary.connections_lost),
        ("attempt to connect", &summary.connects_failed),
    ];
    let row = |what: &str, kind: &str, n: u64| {
        let first = summary.first_errors.get(kind).cloned().unwrap_or_default();
        TableRow::of(vec![what.to_owned(), kind.to_owned(), first, units::grouped(n)])
    };
    let rows = parts.iter().flat_map(|(what, counts)| counts.iter().map(|(kind, n)| row(what, kind, *n)));
    ReportTable::of("Errors", &["what", "kind", "first message", "count"], 3, rows.collect())
}

/// Returns the text of an event. If the recording has all arguments of a command in the slow log, these arguments
/// follow.
fn in_full(line: FoldedEvents) -> String {
    match &line.last.event.what {
        EventKind::SlowCommand { arguments, .. } | EventKind::LargeCommand { arguments, .. }
            if !arguments.is_empty() =>
        {
            format!("{}; arguments: {}", line.text, untrusted::text(&arguments.join(" ")))
        }
        _ => line.text,
    }
}

/// Returns the events and marks.
fn events(account: &NodeReport) -> ReportTable {
    let timeline = &account.timeline;
    let words = timeline.words();
    let events = folded(timeline.events())
        .into_iter()
        .map(|line| (line.last.from_s, line.last.event.what.name().to_owned(), words.worded(in_full(line))));
    let marks = timeline.marks().map(|mark| (mark.t_s, "mark".to_owned(), mark.text.clone()));
    let mut all: Vec<_> = events.chain(marks).collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let more = all.len().saturating_sub(MOST_EVENTS) as u64 + timeline.forgotten;
    let row =
        |(t_s, name, words): (f64, String, String)| TableRow::of(vec![timeline.time_text(t_s), name, words]);
    let rows = all.into_iter().take(MOST_EVENTS).map(row).collect();
    let mut table = ReportTable::of("Events and marks", &["time", "what", "description"], 3, rows);
    if more > 0 {
        table.note = format!("{} more are in the recording.", units::grouped(more));
    }
    table
}
