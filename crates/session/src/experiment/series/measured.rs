//! The results of one session in a series.

use std::collections::{BTreeMap, BTreeSet};

use super::{CellFigures, Figures, SeriesCell, TableLayout};
use crate::{
    diagnose::our_limit,
    gauge::Gauge,
    session::{Interval, Record, Summary, timeline::GaugeMeans},
    stats::Latency,
};

/// The sums over the session that measures a cell (a run with one combination of values).
#[derive(Debug, Default)]
pub struct CellSums {
    /// The numbers of the segments that do not count: warm-ups and prefills.
    aside: BTreeSet<u32>,
    all: Interval,
    summary: Option<Summary>,
    /// Whether the present segment is a warm-up or a prefill.
    is_aside: bool,
    means: GaugeMeans,
}

/// The results of a cell (a run with one combination of values). The prefill does not count.
#[derive(Debug, Clone, Default)]
pub struct MeasuredCell {
    /// The totals of the whole load.
    pub summary: Summary,
    all: Interval,
    means: GaugeMeans,
}

impl CellSums {
    /// Returns empty sums for a table with this layout.
    pub fn new(layout: &TableLayout) -> Self {
        Self { means: GaugeMeans::of_gauges(&layout.gauges), ..Self::default() }
    }

    /// Adds the next record to the sums. The first node's records contain the results of the whole load. Records of
    /// other nodes are ignored, so the gauges are those of the first node.
    pub fn push(&mut self, record: &Record) {
        if !record.is_of(0) {
            return;
        }
        if !self.is_aside {
            self.means.push_record(record);
        }
        match record {
            Record::Segment(segment) => {
                self.is_aside = segment.aside().is_some();
                self.aside.extend(self.is_aside.then_some(segment.segment));
            }
            Record::Interval(interval) if !self.aside.contains(&interval.segment) => self.all.add(interval),
            Record::End(end) => self.summary = Some(end.summary.clone()),
            _ => {}
        }
    }

    /// Returns the result after the end of the session. Returns `None` if no request was sent.
    pub fn measured(self) -> Option<MeasuredCell> {
        let summary = self.summary.filter(|summary| summary.ops > 0 || !summary.errors.is_empty())?;
        Some(MeasuredCell { summary, all: self.all, means: self.means })
    }
}

impl MeasuredCell {
    /// Returns the number of failed requests.
    pub fn errors(&self) -> u64 {
        self.summary.errors.values().sum()
    }

    /// Returns the reason why redyno itself was the limit; `None` if redyno was not the limit.
    pub fn our_limit(&self) -> Option<String> {
        our_limit(&self.all)
    }

    /// Returns the figures of the cell. In an open loop, the latencies of all operations together are response times.
    pub fn figures(&self, cell: &SeriesCell, layout: &TableLayout) -> CellFigures {
        let gauge = |gauge: &Gauge| Some((gauge.about().name.to_owned(), self.means.of(*gauge)?));
        let figures = |in_rate: u64, latency: &Latency| Figures {
            gauges: BTreeMap::new(),
            ops_per_s: (self.summary.length_s > 0.0)
                .then(|| (in_rate * cell.each) as f64 / self.summary.length_s),
            mean_us: (!latency.is_empty()).then(|| latency.mean_ns() / 1e3),
            p99_us: latency.percentile(0.99).map(|ns| ns as f64 / 1e3),
            within: layout.within_ms.iter().filter_map(|ms| percent_within(latency, *ms)).collect(),
        };
        let of_operation = |operation: &crate::workload::Operation| {
            let part = self.all.commands.get(&operation.name).cloned().unwrap_or_default();
            (operation.name.clone(), figures(part.in_rate(), &part.service))
        };
        let latency = self.summary.response.as_ref().unwrap_or(&self.summary.service);
        CellFigures {
            all: Figures {
                gauges: layout.gauges.iter().filter_map(gauge).collect(),
                ..figures(self.all.in_rate(), latency)
            },
            operations: cell.workload.active_operations().map(of_operation).collect(),
        }
    }
}

/// Returns the percentage of latencies that are at most `ms` milliseconds.
fn percent_within(latency: &Latency, ms: f64) -> Option<f64> {
    let longer = latency.count_from((ms * 1e6) as u64 + 1);
    (!latency.is_empty()).then(|| 100.0 * (1.0 - longer as f64 / latency.count() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        knobs::Knobs,
        server::Status,
        session::{Moment, Segment},
    };

    #[test]
    fn gauges_are_of_the_first_node_and_exclude_the_prefill() {
        let means = GaugeMeans::of_gauges(&[Gauge::Clients]);
        let mut sums = CellSums { means, ..CellSums::default() };
        let segment = |number| Segment::new(0.0, number, Knobs::default());
        let prefill = Record::Segment(Segment { warmup: true, ..segment(1) });
        let clients = |clients| {
            let gauges = [(Gauge::Clients, clients)].into();
            Record::Server(Box::new(Moment::new(
                1.0,
                Status { gauges, poll_s: Some(1.0), ..Status::default() },
            )))
        };
        // A watched node has a segment too, which is no warm-up.
        let watched = Record::Segment(segment(1)).at_node(1);
        for record in [prefill, watched, clients(90.0), clients(80.0).at_node(1)] {
            sums.push(&record);
        }
        for record in [Record::Segment(segment(2)), clients(30.0), clients(70.0).at_node(1)] {
            sums.push(&record);
        }
        assert_eq!(sums.means.of(Gauge::Clients), Some(30.0));
    }
}
