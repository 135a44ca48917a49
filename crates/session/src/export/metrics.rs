//! Exports a session as OpenMetrics: counters, gauges and histograms since the session began, with the names
//! and base units that OpenMetrics requires.
//!
//! Warm-up and prefill are left out, as in the summary.

mod nodes;

use std::{collections::BTreeMap, fmt};

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text::encode},
    metrics::MetricType,
    registry::{Registry, Unit},
};

use super::{Format, FormatContents};
use crate::{
    diagnose::FindingsByNode,
    gauge::{self, Gauge, GaugeGroup, GaugeKind},
    session::{Interval, OperationInterval, Record, Segment, SessionStart, Sink, Tally},
    stats::Latency,
};

/// The format `openmetrics`: the counters, gauges and histograms at the end of a session.
pub(super) const OPEN_METRICS: Format = Format::new(
    "openmetrics",
    "prom",
    "counters, gauges and histograms at the end of the session",
    FormatContents::Summary,
    |_, _| Box::new(Metrics::default()),
);

/// The metrics of a target: sums since the session began, and the present state of the session.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    session: Option<SessionStart>,
    segment: Option<Segment>,
    load: Tally,
    operations: BTreeMap<String, OperationInterval>,
    /// The results by node, in a cluster.
    nodes: BTreeMap<u16, OperationInterval>,
    clients: u32,
    receivers: u32,
    /// The findings, PINGs and gauges of each node.
    watched: FindingsByNode,
    events: BTreeMap<String, u64>,
}

impl Sink for Metrics {
    fn push(&mut self, record: &Record) -> Vec<String> {
        self.add(record);
        self.watch(record);
        Vec::new()
    }

    fn push_other(&mut self, record: &Record) {
        self.watch(record);
    }

    fn finish(&mut self) -> Vec<String> {
        vec![self.text()]
    }
}

impl Metrics {
    /// Adds a record of the first node to the sums and events.
    pub fn add(&mut self, record: &Record) {
        self.load.push(record);
        match record {
            Record::Session(session) => self.session = Some(session.clone()),
            Record::Segment(segment) => self.segment = Some(segment.clone()),
            Record::Interval(interval) => self.count(interval),
            Record::Event(event) => {
                *self.events.entry(event.what.name().to_owned()).or_default() += 1;
                self.session.as_mut().map(|session| session.follow(record));
            }
            _ => {}
        }
    }

    /// Adds a record of any node to the node's findings, PINGs and gauges. The rules of findings need whole
    /// seconds, so the records of a live session are [merged](crate::session::Coalesce) first.
    pub fn watch(&mut self, record: &Record) {
        self.watched.push(record);
    }

    /// Returns all metrics as OpenMetrics text, with the end marker.
    pub fn text(&self) -> String {
        let mut registry = Registry::with_prefix("redyno");
        registry.register_collector(Box::new(self.clone()));
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }

    fn count(&mut self, interval: &Interval) {
        self.clients = interval.clients;
        self.receivers = interval.arrivals.iter().map(|(_, got)| got.receivers).sum();
        if !self.load.counts(interval.segment) {
            return;
        }
        for (name, part) in &interval.commands {
            self.operations.entry(name.clone()).or_default().merge(part);
        }
        for (node, part) in &interval.nodes {
            self.nodes.entry(*node).or_default().merge(part);
        }
    }
}

impl Collector for Metrics {
    fn encode(&self, encoder: DescriptorEncoder) -> fmt::Result {
        let mut out = Writer(encoder);
        self.write_session(&mut out)?;
        self.write_load(&mut out)?;
        self.write_server(&mut out)
    }
}

impl Metrics {
    fn write_session(&self, out: &mut Writer) -> fmt::Result {
        if let Some(session) = &self.session {
            let target = &session.target;
            let labels = [
                ("tool", session.tool.as_str()),
                ("address", &target.address),
                ("server", &target.server),
                ("role", &target.role),
            ];
            out.info("session", "The measured server, and the version of redyno", &labels)?;
        }
        if let Some(segment) = &self.segment {
            let knobs = &segment.knobs;
            out.gauge(
                "segment",
                "The number of the current segment; a change of the load settings begins a new one",
                None,
                segment.segment.into(),
            )?;
            out.gauge("load", "Whether requests are sent", None, u8::from(knobs.load).into())?;
            out.gauge("clients", "Connections that carry load", None, self.clients.into())?;
            out.gauge(
                "pipeline",
                "Requests that a client sends before it waits for replies",
                None,
                knobs.pipeline.into(),
            )?;
            if let Some(rate) = knobs.rate {
                out.gauge("target_rate", "Requests that are due per second", None, rate.into())?;
            }
        }
        out.counters("events", "Events, by name", "name", &self.events)?;
        let help = "Whether the finding (diagnosis) of this rule is present now";
        let mut findings = out.0.encode_descriptor("finding", help, None, MetricType::Gauge)?;
        for (rule, stands) in self.watched.first().findings.by_rule() {
            findings.encode_family(&[("rule", rule)])?.encode_gauge(&u32::from(stands))?;
        }
        Ok(())
    }

    fn write_load(&self, out: &mut Writer) -> fmt::Result {
        let load = self.load.summary();
        let of = |count: fn(&OperationInterval) -> u64, is_counted: fn(&OperationInterval) -> bool| {
            let counted = self.operations.iter().filter(|(_, part)| is_counted(part));
            counted.map(|(name, part)| (name.clone(), count(part))).collect::<BTreeMap<_, _>>()
        };
        let reads = |part: &OperationInterval| part.hits + part.misses > 0;
        out.counters("ops", "Good replies, by operation", "operation", &of(|part| part.ops, |_| true))?;
        out.counters("hits", "Reads that found their key", "operation", &of(|part| part.hits, reads))?;
        let missed = "Reads that did not find their key";
        out.counters("misses", missed, "operation", &of(|part| part.misses, reads))?;
        out.counters("errors", "Requests that failed, by kind", "kind", &load.errors)?;
        if !load.redirects.is_empty() {
            let help = "Requests that were sent again, or to another node of a cluster, by kind";
            out.counters("redirects", help, "kind", &load.redirects)?;
        }
        let (lost, failed) = (&load.connections_lost, &load.connects_failed);
        out.counters("connections_lost", "Connections that were lost, by kind", "kind", lost)?;
        out.counters("connects_failed", "Attempts to connect that failed, by kind", "kind", failed)?;
        for (name, help, count) in [
            ("due", "Requests that were due", load.due),
            ("shed", "Due requests that redyno dropped instead of sending them late", load.shed),
            ("unsent", "Due requests that were not yet sent when the load ended", load.unsent),
        ] {
            out.counter(name, help, None, count as f64)?;
        }
        out.counter("received", "Bytes read from the server", Some(&Unit::Bytes), load.bytes_in as f64)?;
        out.counter("sent", "Bytes written to the server", Some(&Unit::Bytes), load.bytes_out as f64)?;
        out.counter("loaded", "Time under load", Some(&Unit::Seconds), load.length_s)?;
        out.counter("outage", "Time without any connection", Some(&Unit::Seconds), load.outage_s)?;
        let service = "Service time: from the write of a request to the last byte of its reply, by operation";
        let times = self.operations.iter().map(|(name, part)| (("operation", name.as_str()), &part.service));
        out.histograms("service", service, times)?;
        self.write_nodes(out)?;
        if let Some(response) = &load.response {
            let help = "Response time: from the due time to the last byte of the reply";
            out.histogram("response", help, response)?;
        }
        for (name, got) in load.arrivals.iter() {
            out.histogram(name, "The time from sending a message to its receipt", &got.times)?;
        }
        if !load.arrivals.is_empty() {
            let lost =
                load.arrivals.iter().filter_map(|(name, got)| Some((name.to_owned(), got.lost?))).collect();
            out.counters("messages_lost", "Messages that did not reach a receiver, by kind", "kind", &lost)?;
            out.gauge("receivers", "Connected receivers", None, self.receivers.into())?;
        }
        let stages = load.opening.stages().into_iter().filter(|(_, latency)| !latency.is_empty());
        let stages = stages.map(|(name, latency)| (("stage", name), latency));
        out.histograms("opening", "The time to open a connection, by stage", stages)?;
        if let Some(client) = &load.client {
            let help = "The share of a core that redyno's busiest worker thread used";
            out.gauge("client_cpu", help, Some(&ratio()), client.cpu)?;
        }
        Ok(())
    }

    fn write_server(&self, out: &mut Writer) -> fmt::Result {
        let first = self.watched.first();
        if !first.pings.is_empty() {
            out.histogram("ping", "Round trips of the ping probe", &first.pings)?;
        }
        out.counters("ping_errors", "Pings that failed, by kind", "kind", &first.ping_errors)?;
        for (gauge, value) in first.gauges.iter() {
            let (name, help, unit, scale) = named(gauge);
            match gauge.about().kind {
                GaugeKind::Added => out.counter(&name, &help, unit.as_ref(), value * scale)?,
                GaugeKind::Level | GaugeKind::Share => {
                    out.gauge(&name, &help, unit.as_ref(), value * scale)?;
                }
            }
        }
        self.write_watched(out)
    }
}

/// Returns the metric of a gauge: its name, its help, its unit, and the factor that converts to this unit.
fn named(gauge: Gauge) -> (String, String, Option<Unit>, f64) {
    let about = gauge.about();
    let (unit, scale) = unit(about.unit);
    let ending = |name: &'static str| ["_bytes", "_us", "_s"].iter().find_map(|end| name.strip_suffix(end));
    let name = ending(about.name).filter(|_| unit.is_some()).unwrap_or(about.name);
    let name = match about.group {
        GaugeGroup::Host => name.to_owned(),
        GaugeGroup::Process => format!("process_{}", name.trim_start_matches("server_")),
        _ => format!("server_{}", name.replace("_per_s", "_per_second")),
    };
    let help = about.help.trim_end_matches('.').replace(" since the previous poll", "");
    (name, help, unit, scale)
}

fn ratio() -> Unit {
    Unit::Other("ratio".to_owned())
}

/// Returns the base unit of a gauge, and the factor that converts to this unit.
fn unit(unit: gauge::GaugeUnit) -> (Option<Unit>, f64) {
    match unit {
        gauge::GaugeUnit::Bytes | gauge::GaugeUnit::Limit => (Some(Unit::Bytes), 1.0),
        gauge::GaugeUnit::Ratio => (Some(ratio()), 1.0),
        gauge::GaugeUnit::Seconds | gauge::GaugeUnit::Ago => (Some(Unit::Seconds), 1.0),
        gauge::GaugeUnit::Micros => (Some(Unit::Seconds), 1e-6),
        gauge::GaugeUnit::Count
        | gauge::GaugeUnit::Rate
        | gauge::GaugeUnit::Times
        | gauge::GaugeUnit::Flag(..) => (None, 1.0),
    }
}

/// The upper bounds of the histogram buckets in nanoseconds, from 10 µs to 60 s.
const BORDERS_NS: [u64; 22] = [
    10_000,
    25_000,
    50_000,
    100_000,
    200_000,
    350_000,
    500_000,
    750_000,
    1_000_000,
    1_500_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    10_000_000_000,
    60_000_000_000,
];

/// Writes metrics: for each metric its descriptor, then its value.
struct Writer<'a>(DescriptorEncoder<'a>);

impl Writer<'_> {
    fn info(&mut self, name: &str, help: &str, labels: &[(&'static str, &str); 4]) -> fmt::Result {
        self.0.encode_descriptor(name, help, None, MetricType::Info)?.encode_info(labels)
    }

    fn gauge(&mut self, name: &str, help: &str, unit: Option<&Unit>, value: f64) -> fmt::Result {
        self.0.encode_descriptor(name, help, unit, MetricType::Gauge)?.encode_gauge(&value)
    }

    fn counter(&mut self, name: &str, help: &str, unit: Option<&Unit>, value: f64) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, unit, MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, f64, f64>(&value, None)
    }

    fn counters(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        counts: &BTreeMap<String, u64>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, None, MetricType::Counter)?;
        for (value, count) in counts {
            let labels = [(label, value.as_str())];
            metric.encode_family(&labels)?.encode_counter::<NoLabelSet, u64, f64>(count, None)?;
        }
        Ok(())
    }

    fn histogram(&mut self, name: &str, help: &str, latency: &Latency) -> fmt::Result {
        let seconds = Some(&Unit::Seconds);
        write_times(self.0.encode_descriptor(name, help, seconds, MetricType::Histogram)?, latency)
    }

    fn histograms<'l>(
        &mut self,
        name: &str,
        help: &str,
        times: impl IntoIterator<Item = ((&'l str, &'l str), &'l Latency)>,
    ) -> fmt::Result {
        let mut metric = self.0.encode_descriptor(name, help, Some(&Unit::Seconds), MetricType::Histogram)?;
        for (label, latency) in times {
            write_times(metric.encode_family(&[label])?, latency)?;
        }
        Ok(())
    }
}

fn write_times(mut metric: MetricEncoder, latency: &Latency) -> fmt::Result {
    let sum_s = latency.sum_ns() as f64 / 1e9;
    metric.encode_histogram::<NoLabelSet>(sum_s, latency.count(), &buckets(latency, &BORDERS_NS), None)
}

/// Returns the upper bound and the count of each bucket. The bounds are in seconds, and the last bound is infinite.
pub fn buckets(latency: &Latency, borders_ns: &[u64]) -> Vec<(f64, u64)> {
    let mut counts: Vec<_> = borders_ns.iter().map(|border| (*border as f64 / 1e9, 0)).collect();
    counts.push((f64::INFINITY, latency.over_range()));
    for (value_ns, n) in latency.cells() {
        counts[borders_ns.partition_point(|border| *border < value_ns)].1 += n;
    }
    counts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The test checks the rules of `promtool check metrics` and of OpenMetrics parsers.
    #[test]
    fn every_name_is_unique_and_has_no_short_unit() {
        let mut metrics = Metrics::default();
        gauge::GAUGES.iter().for_each(|gauge| metrics.watched.nodes[0].gauges.set(*gauge, Some(1.0)));
        metrics.load.push(&Record::Interval(Box::default()));
        let text = metrics.text();
        let names = || text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
        assert!(names().count() > gauge::GAUGES.len());
        assert_eq!(names().collect::<BTreeSet<_>>().len(), names().count(), "{text}");
        for name in names() {
            let short = ["s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "m", "h", "d"];
            assert!(!name.split('_').any(|part| short.contains(&part)), "{name}");
        }
    }
}
