//! Carries out `redyno doctor`: watches a server without load, and prints one page.

use std::{cmp::Reverse, collections::BTreeMap, io::Write as _, time::Duration};

use super::{Failure, Listener, Plan, SessionPlan, printed::Printed, running::RunningSession};
use crate::{
    diagnose::{FindingsByNode, Severity},
    export::{JSON, Rows},
    print::{NoticePrinter, words::StreamText},
    report::{Report, ReportForm, ReportSource},
    session::{Coalesce, Delivery, Order, Sink},
    units,
};

/// Returns the writer of the page: a report, or the JSON export.
fn sink(form: Option<ReportForm>) -> Box<dyn Sink> {
    match form {
        Some(form) => Box::new(Report::of(form, vec![ReportSource::default()])),
        None => JSON.sink(Rows::default(), None),
    }
}

/// A planned run of `redyno doctor`.
pub struct DoctorRun {
    /// The session, without load.
    pub plan: SessionPlan,
    /// The form of the page; `None` means one JSON object.
    pub page: Option<ReportForm>,
}

impl Plan for DoctorRun {
    fn run(self: Box<Self>) -> Result<(), Failure> {
        let Self { plan, page } = *self;
        let length = plan.commission.plan.length;
        let session = RunningSession::begin(plan)?;
        announce(length);
        let mut printed = Printed::page(sink(page), page == Some(ReportForm::Text));
        session.run(&mut [&mut printed, &mut NoticePrinter::default(), &mut DoctorVerdict::default()])
    }
}

/// Prints how long the run takes, for a user at a terminal.
fn announce(length: Option<Duration>) {
    let mut out = StreamText::stderr();
    if let Some(length) = length.filter(|_| out.is_terminal) {
        let s = length.as_secs_f64();
        // Without a terminal, the line has no reader.
        let _ = writeln!(out, "redyno: watching for {s} s; Ctrl-C ends it with the page so far");
    }
}

/// The findings of all nodes, for the exit code. The findings are computed from whole seconds, like the page.
#[derive(Default)]
struct DoctorVerdict {
    coalesce: Coalesce,
    nodes: FindingsByNode,
}

impl Listener for DoctorVerdict {
    fn take(&mut self, delivery: &Delivery) -> Vec<Order> {
        if let Delivery::Record(record) = delivery {
            let seconds = self.coalesce.push(record);
            seconds.iter().for_each(|record| drop(self.nodes.push(record)));
        }
        Vec::new()
    }

    fn verdict(&mut self) -> Result<(), Failure> {
        match trouble(&self.nodes) {
            Some(found) => Err(Failure::Crossed(format!("found {found}"))),
            None => Ok(()),
        }
    }
}

/// Returns the number of warnings and problems of all nodes as text, such as `1 problem, 2 warnings`; `None` without any.
fn trouble(nodes: &FindingsByNode) -> Option<String> {
    let mut counts = BTreeMap::new();
    let episodes = nodes.nodes.iter().flat_map(|node| node.findings.episodes.iter());
    let severities = episodes.map(|episode| episode.finding.severity);
    for severity in severities.filter(|severity| *severity >= Severity::Warning) {
        *counts.entry(Reverse(severity)).or_insert(0_u64) += 1;
    }
    let words = counts.into_iter().map(|(Reverse(severity), n)| units::count_with_noun(n, severity.name()));
    let words: Vec<_> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}
