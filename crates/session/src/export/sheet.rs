//! The rows of an export: text columns, then figures.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::session::{
    OperationInterval, Record, Segment, Sink, Summary, Timeline,
    figures::{FIGURES, Figure, Row},
};

redyno_engine::named_values! {
    /// The kind of the rows.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum Rows {
        /// A row for each second of a segment.
        #[default]
        Intervals "intervals",
        /// A row for each operation in each second of a segment.
        Operations "operations",
        /// A row for each node of a cluster in each second of a segment.
        Nodes "nodes",
        /// A row for each agent of a fleet in each second of a segment.
        Agents "agents",
        /// A row for each segment.
        Segments "segments",
        /// A row for each probe in each second.
        Probes "probes",
        /// A row for each poll, with the server's gauges.
        Server "server",
    }
}

impl Rows {
    /// Returns a short description.
    pub fn about(self) -> &'static str {
        match self {
            Self::Intervals => "a row for each second of a segment",
            Self::Operations => "a row for each operation in each second",
            Self::Nodes => "a row for each node of a cluster in each second",
            Self::Agents => "a row for each agent of a fleet in each second",
            Self::Segments => "a row for each segment",
            Self::Probes => "a row for each probe in each second",
            Self::Server => "a row for each poll of the server",
        }
    }
}

/// The names of the text columns, which come before the figures.
pub(super) const WORDS: [&str; 5] = ["kind", "phase", "workload", "operation", "node"];

/// A row: the text columns and the figures.
pub(super) struct SheetRow<'a> {
    /// `interval`, `operation`, `node`, `agent`, `segment` or `summary`.
    kind: &'static str,
    /// The kind of the row's segment: `load`, `idle`, `warm-up` or `prefill`; empty for a summary.
    phase: &'static str,
    workload: String,
    /// The name of the operation; empty for all operations together.
    operation: &'a str,
    /// The address of the node, or the number of the agent; empty for the whole load.
    node: String,
    pub(super) row: Row<'a>,
}

impl<'a> SheetRow<'a> {
    fn of(kind: &'static str, segment: Option<&'a Segment>, row: Row<'a>) -> Self {
        let phase = segment.map_or("", phase);
        let workload = segment.filter(|segment| segment.knobs.load);
        let workload = workload.map_or_else(String::new, |segment| segment.knobs.workload.in_own_order());
        let row = segment.map_or(row, |segment| row.under(&segment.knobs));
        Self { kind, phase, workload, operation: "", node: String::new(), row }
    }

    /// Returns the row of the whole session.
    pub(super) fn of_summary(summary: &'a Summary) -> Self {
        Self::of("summary", None, Row::of_summary(summary))
    }

    /// Returns the row of an operation.
    pub(super) fn of_operation(self, name: &'a str, operation: &'a OperationInterval) -> Self {
        Self { kind: "operation", operation: name, row: self.row.of_operation(operation), ..self }
    }

    /// Returns the row of a node or of an agent.
    fn of_part(self, kind: &'static str, node: String, part: &'a OperationInterval) -> Self {
        let is_node = kind == "node";
        Self {
            kind,
            node,
            row: if is_node { self.row.of_node(part) } else { self.row.of_operation(part) },
            ..self
        }
    }

    /// Returns the rows of all operations over the whole session.
    pub(super) fn of_operations(
        summary: &'a Summary,
        operations: &'a BTreeMap<String, OperationInterval>,
    ) -> impl Iterator<Item = Self> {
        operations.iter().map(|(name, part)| Self::of_summary(summary).of_operation(name, part))
    }

    /// Returns all cells; the cell of an unknown value is empty.
    pub(super) fn cells(&self) -> impl Iterator<Item = String> {
        let figure = |figure: &Figure| figure.exported(&self.row).map_or_else(String::new, |n| n.to_string());
        self.words().map(str::to_owned).into_iter().chain(FIGURES.iter().map(figure))
    }

    /// Returns the text columns, in the order of [`WORDS`].
    pub(super) fn words(&self) -> [&str; WORDS.len()] {
        [self.kind, self.phase, &self.workload, self.operation, &self.node]
    }
}

/// The row as a JSON object: the text columns, then the figures. Figures with too few samples are `null`.
impl Serialize for SheetRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let words = WORDS.into_iter().zip(self.words().map(Value::from));
        let figures = FIGURES.iter().map(|figure| (figure.name, number(figure.exported(&self.row))));
        serializer.collect_map(words.chain(figures))
    }
}

/// Returns a JSON number, without decimals if the value is whole. Returns `null` if there is no value.
pub(super) fn number(value: Option<f64>) -> Value {
    let is_whole = |value: f64| value.fract() == 0.0 && value.abs() < 9e15;
    value.map_or(Value::Null, |value| if is_whole(value) { (value as i64).into() } else { value.into() })
}

/// Returns the phase of a segment: `load`, `idle`, `warm-up` or `prefill`.
fn phase(segment: &Segment) -> &'static str {
    segment.aside().unwrap_or(if segment.knobs.load { "load" } else { "idle" })
}

/// Turns the records of a session into rows of one kind.
#[derive(Debug)]
pub(super) struct Sheet {
    pub(super) rows: Rows,
    pub(super) timeline: Timeline,
}

impl Default for Sheet {
    fn default() -> Self {
        Self::of(Rows::default())
    }
}

impl Sheet {
    /// Returns a sheet for this kind of rows.
    pub(super) fn of(rows: Rows) -> Self {
        Self { rows, timeline: Timeline::with_all_segments() }
    }

    /// Takes a record, and calls `take` with each row that the record completes.
    pub(super) fn push(&mut self, record: &Record, mut take: impl FnMut(&SheetRow)) {
        self.timeline.push(record);
        let Record::Interval(interval) = record else { return };
        let segment = self.timeline.segments.numbered(interval.segment).map(|segment| &segment.start);
        let line = || SheetRow::of("interval", segment, Row::of_interval(interval));
        match self.rows {
            Rows::Intervals => take(&line()),
            Rows::Operations => {
                interval.commands.iter().for_each(|(name, part)| take(&line().of_operation(name, part)));
            }
            Rows::Nodes => interval.nodes.iter().for_each(|(node, part)| {
                take(&line().of_part("node", self.timeline.address_of(*node), part));
            }),
            Rows::Agents => interval.agents.iter().for_each(|(agent, part)| {
                take(&line().of_part("agent", agent.to_string(), part));
            }),
            Rows::Segments | Rows::Probes | Rows::Server => {}
        }
    }

    /// Calls `take` with each row that is complete only at the end of the session.
    pub(super) fn finish(&self, take: impl FnMut(&SheetRow)) {
        if self.rows == Rows::Segments {
            self.segments().iter().for_each(take);
        }
    }

    /// Returns the rows of all segments, in order.
    pub(super) fn segments(&self) -> Vec<SheetRow<'_>> {
        let now_s = self.timeline.now_s;
        let of = |segment| Row::of_segment(segment, now_s);
        let segments = self.timeline.segments.iter();
        segments.map(|segment| SheetRow::of("segment", Some(&segment.start), of(segment))).collect()
    }

    /// Returns the rows of all nodes of a cluster over the whole session.
    pub(super) fn of_nodes<'a>(&self, summary: &'a Summary, nodes: &'a ResultsByNumber) -> Vec<SheetRow<'a>> {
        of_parts("node", summary, nodes, |node| self.timeline.address_of(node))
    }

    /// Returns the rows of all agents of a fleet over the whole session.
    pub(super) fn of_agents<'a>(
        &self,
        summary: &'a Summary,
        agents: &'a ResultsByNumber,
    ) -> Vec<SheetRow<'a>> {
        of_parts("agent", summary, agents, |agent| self.timeline.agent_name(agent))
    }
}

/// A sink that writes its whole output at the end of the session.
pub(super) struct SummarySink {
    sheet: Sheet,
    tag: Option<String>,
    write: fn(&Sheet, Option<&str>) -> Vec<String>,
}

impl SummarySink {
    /// Returns a sink. At the end of the session, the sink calls `write` with the rows of the session and the
    /// tag, and returns the text.
    pub(super) fn of(tag: Option<&str>, write: fn(&Sheet, Option<&str>) -> Vec<String>) -> Box<Self> {
        Box::new(Self { sheet: Sheet::default(), tag: tag.map(str::to_owned), write })
    }
}

impl Sink for SummarySink {
    fn push(&mut self, record: &Record) -> Vec<String> {
        self.sheet.push(record, |_| ());
        Vec::new()
    }

    fn finish(&mut self) -> Vec<String> {
        (self.write)(&self.sheet, self.tag.as_deref())
    }
}

/// The results by the number of the node or of the agent.
type ResultsByNumber = BTreeMap<u16, OperationInterval>;

fn of_parts<'a>(
    kind: &'static str,
    summary: &'a Summary,
    parts: &'a ResultsByNumber,
    name: impl Fn(u16) -> String,
) -> Vec<SheetRow<'a>> {
    let row = |(number, part): (&u16, &'a OperationInterval)| {
        SheetRow::of_summary(summary).of_part(kind, name(*number), part)
    };
    parts.iter().map(row).collect()
}
