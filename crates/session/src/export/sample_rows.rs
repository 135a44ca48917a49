//! Export rows for everything that redyno measures besides the load: the probes, and the gauges of the server
//! and of this machine.
//!
//! ```text
//! probe: kind t_s length_s samples lost min_us mean_us p50_us … max_us
//! server: kind t_s cpu used_memory … and all other gauges by name
//! ```

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::sheet::{Rows, number};
use crate::{
    gauge::{GAUGES, Gauges},
    probe::Ping,
    session::Record,
    stats::{Latency, PERCENTILES},
};

/// The names of the percentiles, in order.
const PERCENTILE_NAMES: [&str; PERCENTILES.len()] =
    ["p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "p9999_us"];

impl Rows {
    /// Returns whether a record contributes rows of this kind.
    pub fn has_row_of(self, record: &Record) -> bool {
        match (self, record) {
            (Self::Operations, Record::Interval(interval)) => !interval.commands.is_empty(),
            (Self::Nodes, Record::Interval(interval)) => !interval.nodes.is_empty(),
            (Self::Agents, Record::Interval(interval)) => !interval.agents.is_empty(),
            (Self::Intervals, Record::Interval(_)) | (Self::Segments, Record::Segment(_)) => true,
            _ => !SampleRow::of(self, record).is_empty(),
        }
    }
}

/// A row for a probe, or for a sample of gauges.
#[derive(Debug)]
pub(super) struct SampleRow {
    /// `server`, `host`, or the name of the probe. The PING probe has the rows `ping`, `ping_send`,
    /// `ping_kernel` and `ping_pickup`. The other probes are `wake` and `intrinsic`.
    kind: &'static str,
    figures: Vec<Option<f64>>,
}

/// Returns the names of the columns; empty for rows of the load.
pub(super) fn names(rows: Rows) -> Vec<&'static str> {
    match rows {
        Rows::Intervals | Rows::Operations | Rows::Nodes | Rows::Agents | Rows::Segments => Vec::new(),
        Rows::Probes => ["kind", "t_s", "length_s", "samples", "lost", "min_us", "mean_us"]
            .into_iter()
            .chain(PERCENTILE_NAMES)
            .chain(["max_us"])
            .collect(),
        Rows::Server => {
            ["kind", "t_s"].into_iter().chain(GAUGES.iter().map(|gauge| gauge.about().name)).collect()
        }
    }
}

impl SampleRow {
    /// Returns the rows of this kind that a record contributes.
    pub(super) fn of(rows: Rows, record: &Record) -> Vec<Self> {
        let gauges = |kind, t_s, gauges: &Gauges| {
            let gauges = GAUGES.iter().map(|gauge| gauges.get(*gauge));
            vec![Self { kind, figures: [Some(t_s)].into_iter().chain(gauges).collect() }]
        };
        match (rows, record) {
            (Rows::Probes, _) => ProbeTimes::of(record).iter().map(ProbeTimes::row).collect(),
            (Rows::Server, Record::Server(moment)) => gauges("server", moment.t_s, &moment.body.gauges),
            (Rows::Server, Record::Host(moment)) => gauges("host", moment.t_s, &moment.body.gauges),
            _ => Vec::new(),
        }
    }

    /// Returns the cells: the kind, then the figures. The cell of an unknown figure is empty.
    pub(super) fn cells(&self) -> impl Iterator<Item = String> {
        let figures = self.figures.iter().map(|figure| figure.map_or_else(String::new, |n| n.to_string()));
        [self.kind.to_owned()].into_iter().chain(figures)
    }

    fn rows(&self) -> Rows {
        if ["server", "host"].contains(&self.kind) { Rows::Server } else { Rows::Probes }
    }
}

/// The row as a JSON object: the kind, then the figures. Figures with too few samples are `null`.
impl Serialize for SampleRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = names(self.rows());
        let figures = names[1..].iter().zip(self.figures.iter().map(|figure| number(*figure)));
        serializer.collect_map([(&names[0], self.kind.into())].into_iter().chain(figures))
    }
}

/// The latencies that a probe measured, in one record or in the whole session.
#[derive(Debug, Default)]
struct ProbeTimes {
    kind: &'static str,
    /// The end of the last measurement, in seconds since the session began.
    t_s: f64,
    length_s: f64,
    times: Latency,
    lost: u64,
}

impl ProbeTimes {
    /// Returns the latencies in the record of a probe.
    fn of(record: &Record) -> Vec<Self> {
        let times = |kind, t_s, length_s, times: &Latency, lost| Self {
            kind,
            t_s,
            length_s,
            times: times.clone(),
            lost,
        };
        match record {
            Record::Ping(span) => {
                let Ping { rtt, send, kernel, pickup, errors, .. } = &span.body;
                let parts = [("ping_send", send), ("ping_kernel", kernel), ("ping_pickup", pickup)];
                let parts = parts.into_iter().filter_map(|(kind, part)| Some((kind, part.as_ref()?, 0)));
                let all = [("ping", rtt, errors.values().sum())].into_iter().chain(parts);
                all.map(|(kind, part, lost)| times(kind, span.t_s, span.length_s, part, lost)).collect()
            }
            Record::Wake(span) => vec![times("wake", span.t_s, span.length_s, &span.body.late, 0)],
            Record::Intrinsic(span) => vec![times("intrinsic", span.t_s, span.length_s, &span.body.gaps, 0)],
            _ => Vec::new(),
        }
    }

    fn row(&self) -> SampleRow {
        let Self { kind, t_s, length_s, times, lost } = self;
        let us = |ns: f64| ns / 1e3;
        let some = |ns: f64| (!times.is_empty()).then(|| us(ns));
        let percentiles =
            PERCENTILES.iter().map(|one| times.percentile(one.quantile).map(|ns| us(ns as f64)));
        let counts = [Some(*t_s), Some(*length_s), Some(times.count() as f64), Some(*lost as f64)];
        let figures = counts.into_iter().chain([some(times.min_ns() as f64), some(times.mean_ns())]);
        let figures = figures.chain(percentiles).chain([some(times.max_ns() as f64)]);
        SampleRow { kind, figures: figures.collect() }
    }
}

/// The sums of all probes so far, and the server's last gauges.
#[derive(Debug, Default)]
pub(super) struct ProbeSums {
    probes: BTreeMap<&'static str, ProbeTimes>,
    /// The row of the server's last gauges.
    pub(super) server: Option<SampleRow>,
}

impl ProbeSums {
    pub(super) fn push(&mut self, record: &Record) {
        for ProbeTimes { kind, t_s, length_s, times, lost } in ProbeTimes::of(record) {
            let sum = self.probes.entry(kind).or_default();
            (sum.kind, sum.t_s) = (kind, t_s);
            sum.length_s += length_s;
            sum.times.merge(&times);
            sum.lost += lost;
        }
        if matches!(record, Record::Server(_)) {
            self.server = SampleRow::of(Rows::Server, record).pop();
        }
    }

    /// Returns a row for each probe over the whole session.
    pub(super) fn probes(&self) -> Vec<SampleRow> {
        self.probes.values().map(ProbeTimes::row).collect()
    }
}
