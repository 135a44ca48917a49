//! The rows for measurements other than those of the load: the rows of each probe, and of the server's own figures.
//!
//! ```text
//! probe: kind t_s length_s samples lost min_us mean_us p50_us … max_us
//! server: kind t_s cpu used_memory … and all other gauges by name
//! ```

use std::collections::BTreeMap;

use serde::{
    Serialize, Serializer,
    ser::{Error as _, SerializeMap},
};

use super::sheet::{Rows, number};
use crate::{
    gauge::GAUGES,
    probe::Ping,
    session::Record,
    stats::{Latency, PERCENTILES},
};

/// The names of the percentiles, in order.
const PERCENTILE_NAMES: [&str; PERCENTILES.len()] =
    ["p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "p9999_us"];

/// A row of a probe, or of the server's figures.
#[derive(Debug)]
pub(super) struct Besides {
    /// `server`, `host`, or the probe: `ping` and its parts `ping_send`, `ping_kernel` and `ping_pickup`; `wake`; `intrinsic`.
    kind: &'static str,
    figures: Vec<Option<f64>>,
}

/// Returns the column names of these rows; `None` for rows of the load.
pub(super) fn names(rows: Rows) -> Vec<&'static str> {
    match rows {
        Rows::Intervals | Rows::Operations | Rows::Nodes | Rows::Segments => Vec::new(),
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

impl Besides {
    /// Returns the rows of the kind `rows` in a record.
    pub(super) fn of(rows: Rows, record: &Record) -> Vec<Self> {
        match (rows, record) {
            (Rows::Probes, _) => {
                let (t_s, length_s) = span(record);
                seen(record)
                    .into_iter()
                    .map(|(kind, times, lost)| Self::probe(kind, (t_s, length_s), &times, lost))
                    .collect()
            }
            (Rows::Server, Record::Server(moment)) => {
                let gauges = GAUGES.iter().map(|gauge| moment.body.gauges[*gauge]);
                vec![Self { kind: "server", figures: [Some(moment.t_s)].into_iter().chain(gauges).collect() }]
            }
            (Rows::Server, Record::Host(moment)) => {
                let gauges = GAUGES.iter().map(|gauge| moment.body.gauges[*gauge]);
                vec![Self { kind: "host", figures: [Some(moment.t_s)].into_iter().chain(gauges).collect() }]
            }
            _ => Vec::new(),
        }
    }

    fn probe(kind: &'static str, (t_s, length_s): (f64, f64), times: &Latency, lost: u64) -> Self {
        let us = |ns: f64| ns / 1e3;
        let some = |ns: f64| (!times.is_empty()).then(|| us(ns));
        let percentiles =
            PERCENTILES.iter().map(|one| times.percentile(one.quantile).map(|ns| us(ns as f64)));
        let counts = [Some(t_s), Some(length_s), Some(times.count() as f64), Some(lost as f64)];
        let figures = counts.into_iter().chain([some(times.min_ns() as f64), some(times.mean_ns())]);
        Self { kind, figures: figures.chain(percentiles).chain([some(times.max_ns() as f64)]).collect() }
    }

    /// Returns the kind and the figures as columns; unknown figures are empty.
    pub(super) fn cells(&self) -> impl Iterator<Item = String> {
        let figures = self.figures.iter().map(|figure| figure.map_or_else(String::new, |n| n.to_string()));
        [self.kind.to_owned()].into_iter().chain(figures)
    }

    fn rows(&self) -> Rows {
        if ["server", "host"].contains(&self.kind) { Rows::Server } else { Rows::Probes }
    }
}

/// A JSON object: the kind, then the figures; `null` for figures without enough samples.
impl Serialize for Besides {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names = names(self.rows());
        let mut map = serializer.serialize_map(Some(names.len()))?;
        map.serialize_entry(names[0], self.kind)?;
        for (name, figure) in names[1..].iter().zip(&self.figures) {
            map.serialize_entry(name, &figure.map(number).transpose().map_err(S::Error::custom)?)?;
        }
        map.end()
    }
}

/// Returns the end and the length of a probe's measurement, in seconds.
fn span(record: &Record) -> (f64, f64) {
    match record {
        Record::Ping(span) => (span.t_s, span.length_s),
        Record::Wake(span) => (span.t_s, span.length_s),
        Record::Intrinsic(span) => (span.t_s, span.length_s),
        other => (other.t_s().unwrap_or_default(), 0.0),
    }
}

/// Returns the distributions of a probe, each with the number of lost measurements.
fn seen(record: &Record) -> Vec<(&'static str, Latency, u64)> {
    match record {
        Record::Ping(span) => {
            let Ping { rtt, send, kernel, pickup, errors, .. } = &span.body;
            let parts = [("ping_send", send), ("ping_kernel", kernel), ("ping_pickup", pickup)];
            let parts = parts.into_iter().filter_map(|(kind, times)| Some((kind, times.clone()?, 0)));
            [("ping", rtt.clone(), errors.values().sum())].into_iter().chain(parts).collect()
        }
        Record::Wake(span) => vec![("wake", span.body.late.clone(), 0)],
        Record::Intrinsic(span) => vec![("intrinsic", span.body.gaps.clone(), 0)],
        _ => Vec::new(),
    }
}

/// The sums of all measurements so far, except those of the load.
#[derive(Debug, Default)]
pub(super) struct Sums {
    probes: BTreeMap<&'static str, Sum>,
    server: Option<Besides>,
}

/// The sum of a probe.
#[derive(Debug, Default)]
struct Sum {
    t_s: f64,
    length_s: f64,
    times: Latency,
    lost: u64,
}

impl Sums {
    pub(super) fn push(&mut self, record: &Record) {
        let (t_s, length_s) = span(record);
        for (kind, times, lost) in seen(record) {
            let sum = self.probes.entry(kind).or_default();
            sum.t_s = t_s;
            sum.length_s += length_s;
            sum.times.merge(&times);
            sum.lost += lost;
        }
        self.server = Besides::of(Rows::Server, record).pop().or(self.server.take());
    }

    /// Returns a row for each probe over the whole session.
    pub(super) fn probes(&self) -> Vec<Besides> {
        let row = |(kind, Sum { t_s, length_s, times, lost }): (&&'static str, &Sum)| {
            Besides::probe(kind, (*t_s, *length_s), times, *lost)
        };
        self.probes.iter().map(row).collect()
    }

    /// Returns the last figures of the server.
    pub(super) fn server(&self) -> Option<&Besides> {
        self.server.as_ref()
    }
}
