//! The data of a report about one node of one session, collected from the records.

use std::collections::BTreeMap;

use super::{ReportSource, point_series::PointSeries};
use crate::{
    diagnose::Findings,
    export::{JSON, Rows},
    gauge::{Gauge, Gauges},
    probe::Ping,
    server::Status,
    session::{Interval, Moment, Opening, Record, Segment, Sink, Timeline, timeline::SegmentTotal},
    stats::Latency,
};

/// The mean CPU usage over time, as a share of one core.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Busy {
    core_s: f64,
    length_s: f64,
}

impl Busy {
    /// Returns the mean share; `None` if no time has passed.
    pub(super) fn share(&self) -> Option<f64> {
        (self.length_s > 0.0).then(|| self.core_s / self.length_s)
    }

    fn merge(&mut self, later: &Self) {
        self.core_s += later.core_s;
        self.length_s += later.length_s;
    }
}

/// The data of one node of one session.
pub(super) struct NodeReport {
    pub(super) source: ReportSource,
    pub(super) node: u16,
    pub(super) timeline: Timeline,
    /// The load over time. No point contains measurements of two segments.
    pub(super) load: PointSeries<Interval>,
    pub(super) pings: PointSeries<Latency>,
    pub(super) ping_errors: u64,
    /// The PINGs of each node. Only the first node has this list, because its findings compare all nodes.
    pub(super) pings_by_node: Vec<Latency>,
    pub(super) server_cpu: PointSeries<Busy>,
    /// The highest values over time: first for the gauges of the server, then for the gauges of redyno's machine.
    pub(super) gauges: [PointSeries<Gauges>; 2],
    /// The server's parameters, twice: with their first reported values, and with their last reported values.
    pub(super) config: [BTreeMap<String, String>; 2],
    pub(super) findings: Findings,
    /// The segments of the first node. This node may get a part of the load of these segments.
    starts: Vec<Segment>,
    figures: Box<dyn Sink + Send>,
}

impl NodeReport {
    pub(super) fn new(source: ReportSource, node: u16) -> Self {
        Self {
            source,
            node,
            timeline: Timeline::with_all_segments(),
            load: PointSeries::merged_by(Interval::merge),
            pings: PointSeries::merged_by(Latency::merge),
            ping_errors: 0,
            pings_by_node: Vec::new(),
            server_cpu: PointSeries::merged_by(Busy::merge),
            // The highest value of each gauge.
            gauges: [(); 2].map(|()| PointSeries::merged_by(Gauges::raise)),
            config: Default::default(),
            findings: Findings::default(),
            starts: Vec::new(),
            figures: JSON.sink_of(node, Rows::default(), None),
        }
    }

    /// Adds a record if it belongs to this node.
    pub(super) fn push(&mut self, record: &Record) {
        self.figures.push(record);
        if let Record::Ping(span) = record
            && self.node == 0
        {
            let nodes = self.pings_by_node.len().max(1 + usize::from(span.node));
            self.pings_by_node.resize_with(nodes, Latency::default);
            self.pings_by_node[usize::from(span.node)].merge(&span.body.rtt);
        }
        if !record.is_of(self.node) {
            // The first node's findings compare all nodes. The others need the settings of the load.
            if self.node == 0 || matches!(record, Record::Segment(_)) {
                self.findings.push_other(record);
            }
            self.follow(record);
            return;
        }
        match record {
            Record::Session(session) => self.take(&Record::Session(session.of_node(self.node))),
            record => self.take(record),
        }
    }

    /// Begins the first node's segments at this node as well, if this node gets a part of the first node's load. The
    /// PINGs of this node are then divided by these segments.
    fn follow(&mut self, record: &Record) {
        match record {
            Record::Segment(segment) if segment.node == 0 => {
                self.timeline.follow_segment(segment);
                self.starts.push(segment.clone());
            }
            Record::Interval(interval) if interval.node == 0 => {
                let ended = self.starts.partition_point(|start| start.segment < interval.segment);
                self.timeline.begin_part(self.node, interval, &self.starts[ended..]);
            }
            _ => {}
        }
    }

    fn take(&mut self, record: &Record) {
        let before = self.timeline.status().map(|status| status.t_s);
        self.timeline.push(record);
        self.findings.push(record);
        let segment = self.timeline.segments.current().map_or(0, |segment| segment.start.segment);
        match record {
            Record::Interval(interval) if self.is_load(interval) => {
                let Interval { segment, t_s, .. } = **interval;
                let own = Interval {
                    commands: BTreeMap::new(),
                    requests: BTreeMap::new(),
                    opening: Opening::default(),
                    ..(**interval).clone()
                };
                self.load.push(segment, t_s, interval.timed_s(), own);
            }
            Record::Ping(span) => {
                let Ping { rtt, errors, .. } = &span.body;
                self.ping_errors += errors.values().sum::<u64>();
                let segment = self.timeline.probed_segment_at(span.t_s);
                self.pings.push(segment, span.t_s, span.length_s, rtt.clone());
            }
            Record::Server(moment) => self.take_status(moment, before, segment),
            Record::Host(moment) => {
                let length_s = moment.body.sample_s.unwrap_or_default();
                self.gauges[1].push(segment, moment.t_s, length_s, moment.body.gauges.clone());
            }
            _ => {}
        }
    }

    /// Returns whether the interval is under load. An interval without load has no throughput, not a throughput of
    /// zero.
    fn is_load(&self, interval: &Interval) -> bool {
        let segment = self.timeline.segments.numbered(interval.segment);
        interval.ops > 0 || segment.is_none_or(|segment| segment.start.knobs.load)
    }

    fn take_status(&mut self, moment: &Moment<Status>, before: Option<f64>, segment: u32) {
        let [first, last] = &mut self.config;
        for (name, value) in moment.body.config.iter() {
            first.entry(name.clone()).or_insert_with(|| value.clone());
            last.insert(name.clone(), value.clone());
        }
        let length_s = moment.body.poll_s.or_else(|| Some(moment.t_s - before?)).unwrap_or_default();
        self.gauges[0].push(segment, moment.t_s, length_s, moment.body.rates());
        if let Some(cpu) = moment.body.gauges.get(Gauge::Cpu).filter(|_| length_s > 0.0) {
            let busy = Busy { core_s: cpu * length_s, length_s };
            self.server_cpu.push(segment, moment.t_s, length_s, busy);
        }
    }

    /// Returns the measured segments: all segments under load, except warm-ups and prefills.
    pub(super) fn measured(&self) -> impl Iterator<Item = &SegmentTotal> {
        self.timeline.segments.iter().filter(|segment| segment.is_measured())
    }

    /// Returns whether some segments have response times, because their loop was open.
    pub(super) fn has_response(&self) -> bool {
        self.measured().any(|segment| segment.total.response.is_some())
    }

    /// Returns whether all measured segments have response times.
    pub(super) fn is_open(&self) -> bool {
        self.has_response() && self.measured().all(|segment| segment.total.response.is_some())
    }

    /// Returns the name of the session: the name of its file, or else the address of the server.
    pub(super) fn name(&self) -> String {
        let address = self.timeline.session().map_or("", |session| session.target.address.as_str());
        let has_several = self.timeline.session().is_some_and(|session| !session.nodes.is_empty());
        match self.source.name.as_str() {
            "" => address.to_owned(),
            name if has_several => format!("{name}, {address}"),
            name => name.to_owned(),
        }
    }

    /// Returns the whole session in the format of the JSON export.
    pub(super) fn figures(&mut self) -> String {
        self.figures.finish().concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        report::{monitored, tables},
        session::{OperationInterval, Span},
        stats::fixture::repeated,
    };

    #[test]
    fn the_finding_about_a_slow_node_has_the_pings_of_the_nodes() {
        let mut report = NodeReport::new(ReportSource::default(), 0);
        let segment = Segment::new(0.0, 1, Knobs { load: true, ..Knobs::default() });
        report.push(&Record::Segment(segment));
        for (node, us) in [(2, 5100), (0, 90), (1, 95)] {
            let ping = Ping { rtt: repeated(us * 1000, 100), ..Ping::default() };
            report.push(&Record::Ping(Box::new(Span::new(1.0, 1.0, ping))).at_node(node));
        }
        let part =
            |us: u64| OperationInterval { ops: 100, service: repeated(us * 1000, 100), ..Default::default() };
        let nodes = (0..).zip([120, 130, 5000].map(part)).collect();
        let sum = Interval { t_s: 1.0, length_s: 1.0, segment: 1, ops: 300, nodes, ..Interval::default() };
        report.push(&Record::Interval(Box::new(sum)));
        let tables = tables::all(&report);
        let found = tables.iter().flat_map(|table| &table.rows).find(|row| row.cells[0] == "slow node");
        let text = &found.unwrap().cells[2];
        assert!(text.contains("PING p50 5.10 ms (other nodes: 95.0 µs)"), "{text}");
    }

    #[test]
    fn the_pings_of_a_watched_node_with_a_part_of_the_load_are_divided_by_the_settings_of_the_load() {
        let start = |t_s, number, clients| {
            Record::Segment(Segment::new(
                t_s,
                number,
                Knobs { load: clients > 0, clients, ..Knobs::default() },
            ))
        };
        // The first part may be reported after its setting has ended.
        for first in [1, 4] {
            let mut report = NodeReport::new(ReportSource::default(), 1);
            let mut push = |record: Record, node| report.push(&record.at_node(node));
            push(start(0.0, 1, 10), 0);
            push(start(0.0, 1, 0), 1);
            for n in 1..=6_u32 {
                let t_s = f64::from(n);
                if n == 4 {
                    push(start(3.0, 2, 20), 0);
                }
                let nodes = (n >= first).then(OperationInterval::default).map(|part| (1, part));
                let (nodes, segment) = (nodes.into_iter().collect(), 1 + u32::from(n > 3 && n > first));
                let part = Interval { t_s, length_s: 1.0, segment, nodes, ..Interval::default() };
                push(Record::Interval(Box::new(part)), 0);
                let ping = Ping { rtt: repeated(100_000, 10), ..Ping::default() };
                push(Record::Ping(Box::new(Span::new(t_s, 1.0, ping))), 1);
            }
            assert!(!monitored::has_load(&report.timeline));
            let rows = monitored::pings(&report.timeline).rows;
            let rows: Vec<_> = rows.iter().map(|row| (&row.cells[0][..13], row.cells[1].as_str())).collect();
            assert_eq!(rows, [("1: 10 clients", "30"), ("2: 20 clients", "30")]);
        }
    }
}
