//! The OpenMetrics figures of each node: the load on the nodes of a cluster, and the PINGs, gauges and
//! findings of all nodes of a session.

use std::{collections::BTreeMap, fmt};

use prometheus_client::{encoding::NoLabelSet, metrics::MetricType};

use super::{Metrics, Writer, named};
use crate::{
    gauge::{GAUGES, GaugeGroup, GaugeKind},
    session::OperationInterval,
};

impl Metrics {
    /// Writes the load on each node of a cluster.
    pub(super) fn write_nodes(&self, out: &mut Writer) -> fmt::Result {
        let address = |node: u16| {
            let address = self.session.as_ref().and_then(|session| session.address_of(node));
            address.map_or_else(|| (node + 1).to_string(), str::to_owned)
        };
        let nodes: Vec<_> = self.nodes.iter().map(|(node, part)| (address(*node), part)).collect();
        if nodes.is_empty() {
            return Ok(());
        }
        let of = |count: fn(&OperationInterval) -> u64| -> BTreeMap<_, _> {
            nodes.iter().map(|(address, part)| (address.clone(), count(part))).collect()
        };
        out.counters("node_ops", "Good replies, by node of the cluster", "node", &of(|part| part.ops))?;
        let errors = of(|part| part.errors.values().sum());
        out.counters("node_errors", "Requests that failed, by node of the cluster", "node", &errors)?;
        let service = "Service time: from the write of a request to the last byte of its reply, by node";
        let times = nodes.iter().map(|(address, part)| (("node", address.as_str()), &part.service));
        out.histograms("node_service", service, times)
    }

    /// Writes the PINGs, the gauges and the findings of each node, if the session has several nodes.
    pub(super) fn write_watched(&self, out: &mut Writer) -> fmt::Result {
        let known = || self.watched.nodes.iter().filter(|node| node.is_known());
        if known().count() < 2 {
            return Ok(());
        }
        let pings = known().map(|node| (("node", node.address.as_str()), &node.pings));
        out.histograms("node_ping", "Round trips of the ping probe, by node", pings)?;
        let lost = known().map(|node| (node.address.clone(), node.pings_lost())).collect();
        out.counters("node_ping_errors", "Pings that failed, by node", "node", &lost)?;
        for gauge in GAUGES {
            let (name, help, unit, scale) = named(gauge);
            let is_sum = gauge.about().kind == GaugeKind::Added;
            let kind = if is_sum { MetricType::Counter } else { MetricType::Gauge };
            let values: Vec<_> =
                known().filter_map(|node| Some((node, node.gauges.get(gauge)? * scale))).collect();
            if values.is_empty() || gauge.about().group == GaugeGroup::Host {
                continue;
            }
            let (name, help) = (format!("node_{name}"), format!("{help}, by node"));
            let mut metric = out.0.encode_descriptor(&name, &help, unit.as_ref(), kind)?;
            for (node, value) in values {
                let labels = [("node", node.address.as_str())];
                let mut metric = metric.encode_family(&labels)?;
                match is_sum {
                    true => metric.encode_counter::<NoLabelSet, f64, f64>(&value, None)?,
                    false => metric.encode_gauge(&value)?,
                }
            }
        }
        let help = "Whether the finding (diagnosis) of this rule is present now, by node";
        let mut findings = out.0.encode_descriptor("node_finding", help, None, MetricType::Gauge)?;
        for node in known() {
            let has_had = |rule| node.findings.episodes.iter().any(|episode| episode.finding.rule == rule);
            for (rule, stands) in node.findings.by_rule().filter(|(rule, _)| has_had(*rule)) {
                let labels = [("node", node.address.as_str()), ("rule", rule)];
                findings.encode_family(&labels)?.encode_gauge(&u32::from(stands))?;
            }
        }
        Ok(())
    }
}
