//! The part of a report that compares several sessions, or the segments of one session. The first session or
//! segment is the baseline.

use super::{
    chart::Chart,
    hdr_curves, monitored,
    node_report::NodeReport,
    table::{ReportTable, TableRow},
};
use crate::compare::{Difference, Run, RunComparison};

/// The result of the comparison.
#[derive(Debug, Default)]
pub(super) struct ReportComparison {
    /// A table for each session except the first.
    pub(super) tables: Vec<ReportTable>,
    /// The reasons why sessions cannot be compared, each with the session's name.
    pub(super) left_out: Vec<String>,
    /// The latency distributions of the sessions, in one chart.
    pub(super) curves: Option<Chart>,
}

impl ReportComparison {
    /// Returns the comparison of several sessions or segments. Returns `None` for a single session or segment, or if no
    /// session has a load.
    pub(super) fn of(accounts: &[NodeReport]) -> Option<Self> {
        let named = |account: &NodeReport| match &account.source.segments[..] {
            [] => vec![None],
            segments => segments.iter().copied().map(Some).collect(),
        };
        let has_load = |account: &&NodeReport| monitored::has_load(&account.timeline);
        // Nodes that are only watched have no results to compare.
        let compared = accounts.iter().filter(|account| account.node == 0 || has_load(account));
        let all = compared.flat_map(|account| named(account).into_iter().map(move |n| (account, n)));
        let all: Vec<_> = all.collect();
        if all.len() < 2 || !accounts.iter().any(|account| has_load(&account)) {
            return None;
        }
        let run = |(account, segment): &(&NodeReport, Option<u32>)| {
            Run::of(&account.name(), &account.timeline, *segment)
        };
        let (runs, refused): (Vec<_>, Vec<_>) = all.iter().map(run).partition(Result::is_ok);
        let runs: Vec<Run> = runs.into_iter().flatten().collect();
        let left_out = refused.into_iter().filter_map(Result::err).collect();
        let tables = match &runs[..] {
            [base, others @ ..] => others.iter().map(|new| table(base, new)).collect(),
            [] => Vec::new(),
        };
        let curves = hdr_curves::of_runs(runs.iter().map(|run| {
            let total = &run.segment.total;
            (run.name.as_str(), hdr_curves::due(total.response.as_ref(), &total.service))
        }));
        Some(Self { tables, left_out, curves: curves.filter(|_| runs.len() > 1) })
    }
}

fn table(base: &Run, new: &Run) -> ReportTable {
    let compared = RunComparison::of(std::slice::from_ref(base), std::slice::from_ref(new));
    let row = |row: &Difference| {
        let [name, base, new, difference, words] = row.cells();
        TableRow::of(vec![name, difference, words, base, new])
    };
    let title = format!("{} against {}", new.name, base.name);
    let headings = ["", "difference", "verdict", &base.name, &new.name];
    let table = ReportTable::of(&title, &headings, 3, compared.table.rows.iter().map(row).collect());
    ReportTable { note: compared.notes().join(". "), ..table }
}
