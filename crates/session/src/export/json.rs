//! Exports a session as JSON: each row as a line, or the whole session as one object.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    Format, FormatContents,
    sample_rows::{ProbeSums, SampleRow},
    sheet::{Rows, Sheet, SheetRow},
};
use crate::{
    diagnose::{Episode, FindingsByNode, NodeState},
    session::{Event, Record, SessionStart, Sink, WallClock, timeline::CommandTime},
};

/// The rows as JSON lines (NDJSON).
pub const NDJSON: Format =
    Format::new("ndjson", "ndjson", "the same rows as JSON lines", FormatContents::Rows, |rows, _| {
        Box::new(Ndjson::of(rows))
    });

/// The writer of the JSON lines.
pub(super) struct Ndjson(Sheet);

impl Ndjson {
    pub(super) fn of(rows: Rows) -> Self {
        Self(Sheet::of(rows))
    }
}

impl Sink for Ndjson {
    fn push(&mut self, record: &Record) -> Vec<String> {
        let mut lines = Vec::new();
        self.0.push(record, |line| lines.extend(written(line)));
        lines.extend(SampleRow::of(self.0.rows, record).iter().filter_map(written));
        lines
    }

    fn finish(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        self.0.finish(|line| lines.extend(written(line)));
        lines
    }
}

/// One JSON object with the session, its summary, its operations, its segments and more.
pub const JSON: Format = Format::new(
    "json",
    "json",
    "one JSON object: sums, segments, findings and more",
    FormatContents::Asides,
    |_, _| Box::new(JsonExport::default()),
);

/// The writer of the JSON object.
#[derive(Debug, Default)]
pub(super) struct JsonExport {
    sheet: Sheet,
    besides: ProbeSums,
    nodes: FindingsByNode,
    /// The probes and gauges of the other nodes of the session.
    others: BTreeMap<u16, ProbeSums>,
}

#[derive(Serialize)]
struct SessionJson<'a> {
    session: Option<&'a SessionStart>,
    summary: SheetRow<'a>,
    errors: &'a BTreeMap<String, u64>,
    first_errors: &'a BTreeMap<String, String>,
    operations: Vec<SheetRow<'a>>,
    /// The nodes of a cluster under load; the field is absent without a cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<SheetRow<'a>>,
    /// The agents of a fleet; the field is absent without a fleet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<SheetRow<'a>>,
    segments: Vec<SheetRow<'a>>,
    /// The figures of each probe over the whole session.
    probes: Vec<SampleRow>,
    /// The failovers of all nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failovers: Vec<&'a Event>,
    /// The findings, earliest first. A finding that ends and soon begins again has one entry.
    findings: Vec<FindingRow<'a>>,
    /// The commands of all clients. The command on which the server spent the most time comes first.
    commands: Vec<CommandTimeRow>,
    /// The parts of the server's state that could not be read, each with the reason.
    unread: BTreeMap<String, String>,
    /// The last gauges of the server.
    server: Option<&'a SampleRow>,
    /// All nodes of the session; the field is absent for a single node.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    by_node: Vec<NodeRow<'a>>,
}

/// The measurements at one node of the session, except the load.
#[derive(Serialize)]
struct NodeRow<'a> {
    /// The address.
    node: &'a str,
    probes: Vec<SampleRow>,
    findings: Vec<FindingRow<'a>>,
    server: Option<&'a SampleRow>,
}

/// A finding with its start and end.
#[derive(Serialize)]
pub struct FindingRow<'a> {
    rule: &'a str,
    severity: &'a str,
    /// Whether redyno itself, or its machine, is the cause.
    ours: bool,
    since_s: f64,
    /// The start of the finding as RFC 3339, by the wall clock of the recording host.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// The end of the finding; `None` while the finding is present.
    until_s: Option<f64>,
    times: u32,
    cause: &'a str,
    evidence: &'a [String],
    next: &'a str,
}

impl<'a> FindingRow<'a> {
    /// Returns the row of an episode. `clock` is the wall clock of the recording host, if it is known.
    pub fn of(episode: &'a Episode, clock: Option<WallClock>) -> Self {
        let Episode { finding, since_s, until_s, stands, times } = episode;
        Self {
            rule: finding.rule,
            severity: finding.severity.name(),
            ours: finding.is_ours,
            since_s: *since_s,
            since: clock.and_then(|clock| clock.rfc3339(*since_s)),
            until_s: (!stands).then_some(*until_s),
            times: *times,
            cause: &finding.long,
            evidence: &finding.evidence,
            next: &finding.next,
        }
    }
}

/// The calls of a command by all clients.
#[derive(Serialize)]
struct CommandTimeRow {
    command: String,
    /// The share of the measured time in which the server executed the command, from 0 to 1.
    share: Option<f64>,
    calls_per_s: f64,
    calls: u64,
    us: Option<u64>,
}

impl CommandTimeRow {
    fn of(time: CommandTime) -> Self {
        let CommandTime { name, stat, share, per_s } = time;
        Self { command: name, share, calls_per_s: per_s, calls: stat.calls, us: share.map(|_| stat.usec) }
    }
}

impl Sink for JsonExport {
    fn push(&mut self, record: &Record) -> Vec<String> {
        self.sheet.push(record, |_| ());
        self.besides.push(record);
        self.nodes.push(record);
        Vec::new()
    }

    fn push_other(&mut self, record: &Record) {
        self.nodes.push(record);
        let node = record.node().filter(|node| usize::from(*node) < self.nodes.nodes.len());
        node.into_iter().for_each(|node| self.others.entry(node).or_default().push(record));
    }

    fn finish(&mut self) -> Vec<String> {
        let timeline = &self.sheet.timeline;
        let summary = timeline.summary();
        let (operations, nodes, agents) = (timeline.operations(), timeline.nodes(), timeline.agents());
        let whole = SessionJson {
            session: timeline.session(),
            summary: SheetRow::of_summary(&summary),
            errors: &summary.errors,
            first_errors: &summary.first_errors,
            operations: SheetRow::of_operations(&summary, &operations).collect(),
            nodes: self.sheet.of_nodes(&summary, &nodes),
            agents: self.sheet.of_agents(&summary, &agents),
            segments: self.sheet.segments(),
            probes: self.besides.probes(),
            failovers: timeline.failovers().collect(),
            findings: self.findings(self.nodes.first()),
            commands: timeline
                .server_whole()
                .commands
                .by_time()
                .into_iter()
                .map(CommandTimeRow::of)
                .collect(),
            unread: timeline.unread(),
            server: self.besides.server.as_ref(),
            by_node: self.by_node(),
        };
        written(&whole).into_iter().collect()
    }
}

impl JsonExport {
    fn findings<'a>(&self, node: &'a NodeState) -> Vec<FindingRow<'a>> {
        let clock = self.sheet.timeline.wall_clock();
        node.findings.episodes.iter().map(|episode| FindingRow::of(episode, clock)).collect()
    }

    /// Returns a row for each node where anything was measured. Returns no rows if there is only one such node.
    fn by_node(&self) -> Vec<NodeRow<'_>> {
        let known = (0..).zip(&self.nodes.nodes).filter(|(_, node)| node.is_known());
        let rows = known.filter_map(|(number, node)| {
            let sums = if number == 0 { &self.besides } else { self.others.get(&number)? };
            let (probes, server) = (sums.probes(), sums.server.as_ref());
            Some(NodeRow { node: &node.address, probes, findings: self.findings(node), server })
        });
        let rows: Vec<_> = rows.collect();
        if rows.len() > 1 { rows } else { Vec::new() }
    }
}

/// Returns a value as a line of JSON.
fn written(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok().map(|line| line + "\n")
}
