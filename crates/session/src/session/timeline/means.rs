//! The means of some server figures over a segment of the timeline, for comparisons of sessions without load.

use std::collections::BTreeMap;

use crate::{
    gauge::{Gauge, Gauges},
    host::HostSample,
    server::Status,
    session::Record,
};

/// The gauges with a mean. The gauges are about the work of the server and of its machine.
const KEPT: [Gauge; 13] = [
    Gauge::OpsPerS,
    Gauge::Clients,
    Gauge::NewConnections,
    Gauge::HitRate,
    Gauge::EvictedKeys,
    Gauge::ExpiredKeys,
    Gauge::UsedMemory,
    Gauge::LoopMean,
    Gauge::HostCpu,
    Gauge::HostDisk,
    Gauge::ServerCpu,
    Gauge::ServerRunDelay,
    Gauge::Recall,
];

/// The means of gauges, stored as sums and as the length of the period of these sums.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GaugeMeans {
    /// The gauges to use in place of [`KEPT`].
    others: Option<Vec<Gauge>>,
    sums: BTreeMap<Gauge, (f64, f64)>,
}

impl GaugeMeans {
    /// Returns means of these gauges, without values.
    pub fn of_gauges(gauges: &[Gauge]) -> Self {
        Self { others: Some(gauges.to_vec()), ..Self::default() }
    }

    /// Adds a record of the server or of its machine. Ignores all other records.
    pub fn push_record(&mut self, record: &Record) {
        match record {
            Record::Server(moment) => self.push_status(&moment.body),
            Record::Host(moment) => self.push_host(&moment.body),
            _ => {}
        }
    }

    /// Returns the mean of a gauge. For a gauge that counts events, the result is the mean rate per second. Returns
    /// `None` if the gauge was not reported, or has no mean.
    pub fn of(&self, gauge: Gauge) -> Option<f64> {
        let (sum, length_s) = self.sums.get(&gauge)?;
        (*length_s > 0.0).then(|| sum / length_s)
    }

    /// Adds the sums of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (gauge, (sum, over_s)) in &other.sums {
            let mine = self.sums.entry(*gauge).or_default();
            *mine = (mine.0 + sum, mine.1 + over_s);
        }
    }

    /// Adds a poll of the server.
    pub(super) fn push_status(&mut self, status: &Status) {
        let rates = status.rates();
        self.push(&rates, status.poll_s);
    }

    /// Adds a sample of the machine.
    pub(super) fn push_host(&mut self, sample: &HostSample) {
        self.push(&sample.gauges, sample.sample_s);
    }

    fn push(&mut self, gauges: &Gauges, length_s: Option<f64>) {
        let Some(length_s) = length_s.filter(|length_s| *length_s > 0.0) else { return };
        for gauge in self.others.as_deref().unwrap_or(&KEPT) {
            if let Some(value) = gauges.get(*gauge) {
                let (sum, over_s) = self.sums.entry(*gauge).or_default();
                *sum += value * length_s;
                *over_s += length_s;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_weighs_each_poll_by_its_length_and_counts_are_per_second() {
        let mut means = GaugeMeans::default();
        let poll = |clients, evicted, poll_s| Status {
            gauges: [(Gauge::Clients, clients), (Gauge::EvictedKeys, evicted)].into(),
            poll_s,
            ..Status::default()
        };
        [poll(10.0, 5.0, Some(1.0)), poll(40.0, 5.0, Some(2.0)), poll(99.0, 9.0, None)]
            .iter()
            .for_each(|status| means.push_status(status));
        assert_eq!((means.of(Gauge::Clients), means.of(Gauge::EvictedKeys)), (Some(30.0), Some(10.0 / 3.0)));
        assert_eq!((means.of(Gauge::HostCpu), means.of(Gauge::Uptime)), (None, None));
    }
}
